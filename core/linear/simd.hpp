// Eight floats at a time, on any instruction set: the compiler lowers the vector type to what the
// function is compiled for. Functions marked LABELTREE_CLONES are compiled for AVX2 too, and the
// loader picks the version that fits the processor, so the build needs no -march.
#pragma once

#include <cstdint>
#include <cstring>

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__linux__)
#define LABELTREE_CLONES __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define LABELTREE_CLONES
#endif
#define LABELTREE_INLINE inline __attribute__((always_inline))

namespace labeltree::simd {

constexpr std::size_t width = 8;

using f32x8 = float __attribute__((vector_size(32)));
using i32x8 = std::int32_t __attribute__((vector_size(32)));

LABELTREE_INLINE f32x8 load(const float* p) {
  f32x8 v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

LABELTREE_INLINE void store(float* p, f32x8 v) { std::memcpy(p, &v, sizeof v); }

LABELTREE_INLINE float sum(f32x8 v) {
  return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
}

// Added to a gradient sum, which may be zero, before its root is inverted.
constexpr float smallest_gradient_sum = 1e-30f;

// 1 / sqrt(g) to full float precision: a first guess from the exponent, then Newton's method.
// Several times as fast as a square root and a division.
template <class Float, class Int>
LABELTREE_INLINE Float inverse_sqrt(Float g) {
  g += smallest_gradient_sum;
  Int bits;
  std::memcpy(&bits, &g, sizeof bits);
  bits = 0x5f3759df - (bits >> 1);
  Float r;
  std::memcpy(&r, &bits, sizeof r);
  const Float half = 0.5f * g;
  r = r * (1.5f - half * r * r);
  r = r * (1.5f - half * r * r);
  r = r * (1.5f - half * r * r);
  return r;
}

LABELTREE_INLINE f32x8 inverse_sqrt(f32x8 g) { return inverse_sqrt<f32x8, i32x8>(g); }
inline float inverse_sqrt(float g) { return inverse_sqrt<float, std::int32_t>(g); }

}  // namespace labeltree::simd
