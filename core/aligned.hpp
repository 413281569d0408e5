// A zeroed array of numbers on cache-line boundaries, for weights.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace labeltree {

// Fresh pages come zeroed from the operating system, so memory is used only once it is written;
// large arrays ask for huge pages, which halve the cost of a random access.
template <class T>
class AlignedArray {
 public:
  AlignedArray() = default;
  explicit AlignedArray(std::size_t size) : size_(size) {
    if (size == 0) return;
    const std::size_t alignment = size * sizeof(T) >= huge_page ? huge_page : cache_line;
    raw_ = std::calloc(1, size * sizeof(T) + alignment);
    if (raw_ == nullptr) throw std::bad_alloc();
    const auto address = reinterpret_cast<std::uintptr_t>(raw_);
    data_ = reinterpret_cast<T*>((address + alignment - 1) / alignment * alignment);
#ifdef __linux__
    if (alignment == huge_page) madvise(data_, size * sizeof(T), MADV_HUGEPAGE);
#endif
  }
  AlignedArray(AlignedArray&& other) noexcept { swap(other); }
  AlignedArray& operator=(AlignedArray&& other) noexcept {
    swap(other);
    return *this;
  }
  AlignedArray(const AlignedArray&) = delete;
  AlignedArray& operator=(const AlignedArray&) = delete;
  ~AlignedArray() { std::free(raw_); }

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return size_; }

  // Keeps what is there and zeroes what is new.
  void grow(std::size_t size) {
    if (size <= size_) return;
    AlignedArray larger(size);
    if (size_ > 0) std::memcpy(larger.data_, data_, size_ * sizeof(T));
    swap(larger);
  }

 private:
  static constexpr std::size_t cache_line = 64;
  static constexpr std::size_t huge_page = std::size_t{2} << 20;

  void swap(AlignedArray& other) noexcept {
    std::swap(raw_, other.raw_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }

  void* raw_ = nullptr;
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

using AlignedFloats = AlignedArray<float>;

}  // namespace labeltree
