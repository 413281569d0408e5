// numpy arrays in and out of the core.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <tuple>
#include <vector>

namespace nb = nanobind;

template <class T>
using In = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using In2d = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using InOut = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// A new numpy array with room for `shape`, not initialised.
template <class T>
struct NewArray {
  explicit NewArray(std::vector<std::size_t> shape_) : shape(std::move(shape_)) {
    std::size_t size = 1;
    for (const std::size_t n : shape) size *= n;
    owner.reset(new T[std::max<std::size_t>(size, 1)]);
  }
  T* data() { return owner.get(); }
  nb::ndarray<nb::numpy, T> release() {
    T* data = owner.release();
    nb::capsule deleter(data, [](void* p) noexcept { delete[] static_cast<T*>(p); });
    return {data, shape.size(), shape.data(), deleter};
  }

  std::vector<std::size_t> shape;
  std::unique_ptr<T[]> owner;
};

template <class T>
nb::ndarray<nb::numpy, T> copy_to_numpy(const T* begin, std::size_t size) {
  NewArray<T> out({size});
  std::copy_n(begin, size, out.data());
  return out.release();
}

// The memory of a vector as an array.
template <class T>
nb::ndarray<nb::numpy, T> vector_to_numpy(std::vector<T>&& values) {
  auto* owner = new std::vector<T>(std::move(values));
  nb::capsule holder(owner, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  const std::size_t size = owner->size();
  return {owner->data(), 1, &size, holder};
}

// Sets of ids as CSR: where each set begins, and the ids.
template <class T>
std::tuple<nb::ndarray<nb::numpy, std::int64_t>, nb::ndarray<nb::numpy, T>> sets_to_csr(
    const std::vector<std::vector<T>>& sets) {
  NewArray<std::int64_t> offset({sets.size() + 1});
  offset.data()[0] = 0;
  for (std::size_t row = 0; row < sets.size(); ++row) {
    offset.data()[row + 1] = offset.data()[row] + static_cast<std::int64_t>(sets[row].size());
  }
  NewArray<T> ids({static_cast<std::size_t>(offset.data()[sets.size()])});
  for (std::size_t row = 0; row < sets.size(); ++row) {
    std::copy(sets[row].begin(), sets[row].end(), ids.data() + offset.data()[row]);
  }
  return {offset.release(), ids.release()};
}
