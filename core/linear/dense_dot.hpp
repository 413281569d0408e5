// Dot products of dense rows with weights of any kind that simd::load takes; to be inlined into
// functions that are compiled for several processors.
#pragma once

#include <cstddef>

#include "linear/simd.hpp"

namespace labeltree::kernel {

template <class Weight>
LABELTREE_INLINE float dense_dot(const Weight* w, const float* x, std::size_t n) {
  using simd::load;
  simd::f32x8 even{}, odd{};
  std::size_t i = 0;
  for (; i + 16 <= n; i += 16) {
    even += load(w + i) * load(x + i);
    odd += load(w + i + 8) * load(x + i + 8);
  }
  if (i < n) even += load(w + i) * load(x + i);
  return simd::sum(even + odd);
}

// Four rows, `stride` apart, in one sweep over x: x is loaded once for all of them.
template <class Weight>
LABELTREE_INLINE void dense_dot4(const Weight* w, std::size_t stride, const float* x,
                                 std::size_t n, float* p) {
  using simd::load;
  simd::f32x8 a{}, b{}, c{}, d{};
  for (std::size_t i = 0; i < n; i += 8) {
    const simd::f32x8 v = load(x + i);
    a += load(w + i) * v;
    b += load(w + i + stride) * v;
    c += load(w + i + 2 * stride) * v;
    d += load(w + i + 3 * stride) * v;
  }
  p[0] = simd::sum(a);
  p[1] = simd::sum(b);
  p[2] = simd::sum(c);
  p[3] = simd::sum(d);
}

}  // namespace labeltree::kernel
