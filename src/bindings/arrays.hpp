// numpy arrays in and out of the core.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <memory>
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
