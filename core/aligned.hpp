// A zeroed array of numbers on cache-line boundaries, for weights.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

#include "pages.hpp"

namespace labeltree {

// Fresh pages come zeroed from the operating system, so memory is used only once it is written: an
// array may be much larger than the memory there is. Large arrays ask for huge pages, which halve
// the cost of a random access, unless they are made with `Pages::small`, for arrays of which little
// is ever written.
template <class T>
class AlignedArray {
 public:
  AlignedArray() = default;
  explicit AlignedArray(std::size_t size, Pages pages = Pages::huge) : size_(size), pages_(pages) {
    if (size == 0) return;
    if (size > std::numeric_limits<std::size_t>::max() / 2 / sizeof(T)) throw std::bad_alloc();
    if (is_mapped()) {
      data_ = static_cast<T*>(map_pages(bytes(), pages_));
    } else {
      raw_ = std::calloc(1, bytes() + cache_line);
      if (raw_ == nullptr) throw std::bad_alloc();
      const auto address = reinterpret_cast<std::uintptr_t>(raw_);
      data_ = reinterpret_cast<T*>((address + cache_line - 1) / cache_line * cache_line);
    }
  }
  AlignedArray(AlignedArray&& other) noexcept { swap(other); }
  AlignedArray& operator=(AlignedArray&& other) noexcept {
    swap(other);
    return *this;
  }
  AlignedArray(const AlignedArray&) = delete;
  AlignedArray& operator=(const AlignedArray&) = delete;
  ~AlignedArray() {
    if (is_mapped()) {
      unmap_pages(data_, bytes());
    } else {
      std::free(raw_);
    }
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return size_; }

  // Keeps what is there and zeroes what is new. Large arrays are moved without a copy.
  void grow(std::size_t size) {
    if (size <= size_) return;
    if (is_mapped() && size <= std::numeric_limits<std::size_t>::max() / 2 / sizeof(T)) {
      data_ = static_cast<T*>(remap_pages(data_, bytes(), size * sizeof(T), pages_));
      size_ = size;
      return;
    }
    AlignedArray larger(size, pages_);
    if (size_ > 0) std::memcpy(larger.data_, data_, bytes());
    swap(larger);
  }

  // From now on memory is taken in small pages, where it was not taken yet.
  void use_small_pages() {
    pages_ = Pages::small;
    if (is_mapped()) refuse_huge_pages(data_, bytes());
  }

  // Calls visit(row) for the rows of `row_size` numbers, in their order, that may hold anything but
  // zeros. What was never written costs no time.
  template <class Visit>
  void visit_rows(std::size_t row_size, Visit visit) const {
    const std::size_t rows = size_ / row_size, row_bytes = row_size * sizeof(T);
    if (!is_mapped()) {
      for (std::size_t row = 0; row < rows; ++row) visit(row);
      return;
    }
    std::size_t next = 0;
    visit_written(data_, bytes(), [&](std::size_t begin, std::size_t end) {
      next = std::max(next, begin / row_bytes);
      const std::size_t last = std::min(rows, (end + row_bytes - 1) / row_bytes);
      for (; next < last; ++next) visit(next);
    });
  }

 private:
  static constexpr std::size_t cache_line = 64;

  std::size_t bytes() const { return size_ * sizeof(T); }
  bool is_mapped() const { return worth_mapping(bytes()); }

  void swap(AlignedArray& other) noexcept {
    std::swap(raw_, other.raw_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(pages_, other.pages_);
  }

  void* raw_ = nullptr;  // of arrays that are not mapped
  T* data_ = nullptr;
  std::size_t size_ = 0;
  Pages pages_ = Pages::huge;
};

using AlignedFloats = AlignedArray<float>;

}  // namespace labeltree
