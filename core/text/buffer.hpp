// A growable array of plain values whose memory can be handed to somebody else.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <type_traits>
#include <utility>

namespace labeltree::text {

// Unlike std::vector it never fills memory it is about to overwrite, grows by realloc (which moves
// pages, not bytes, once an array is large), and can give its memory away without a copy.
template <class T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Buffer() = default;
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Buffer() { std::free(data_); }

  void push(T value) {
    if (size_ == capacity_) grow();
    data_[size_++] = value;
  }
  void append(const T* values, std::size_t count) {
    if (size_ + count > capacity_) reallocate(std::max(size_ + count, 2 * capacity_));
    std::copy_n(values, count, data_ + size_);
    size_ += count;
  }
  void truncate(std::size_t size) { size_ = size; }
  void reserve(std::size_t capacity) {
    if (capacity > capacity_) reallocate(capacity);
  }

  std::size_t size() const { return size_; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }

  // The caller must std::free() what it gets, which is null if there never was a value.
  T* release() {
    if (size_ > 0 && size_ < capacity_) reallocate(size_);
    size_ = capacity_ = 0;
    return std::exchange(data_, nullptr);
  }

 private:
  void grow() { reallocate(std::max<std::size_t>(64, 2 * capacity_)); }
  void reallocate(std::size_t capacity) {
    void* moved = std::realloc(data_, capacity * sizeof(T));
    if (moved == nullptr) throw std::bad_alloc();
    data_ = static_cast<T*>(moved);
    capacity_ = capacity;
  }
  void swap(Buffer& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }

  T* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace labeltree::text
