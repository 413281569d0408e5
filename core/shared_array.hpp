// A read-only array, borrowed from whoever holds it: a learner's own memory, or a mapped file.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "aligned.hpp"

namespace labeltree {

// Copies share the memory; `owner` is let go with the last of them.
template <class T>
class SharedArray {
 public:
  SharedArray() = default;
  SharedArray(const T* data, std::size_t size, std::shared_ptr<const void> owner)
      : data_(data), size_(size), owner_(std::move(owner)) {}
  explicit SharedArray(AlignedArray<T>&& array) { own(std::move(array)); }
  explicit SharedArray(std::vector<T>&& array) { own(std::move(array)); }

  const T* data() const { return data_; }
  std::size_t size() const { return size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  const std::shared_ptr<const void>& owner() const { return owner_; }

 private:
  template <class Array>
  void own(Array&& array) {
    auto owned = std::make_shared<Array>(std::move(array));
    data_ = owned->data();
    size_ = owned->size();
    owner_ = std::move(owned);
  }

  const T* data_ = nullptr;
  std::size_t size_ = 0;
  std::shared_ptr<const void> owner_;
};

}  // namespace labeltree
