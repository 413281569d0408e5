// Weights in one byte or two, for prediction.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "linear/bfloat16.hpp"
#include "linear/simd.hpp"

namespace labeltree {

// In two bytes a weight is a bfloat16. In one it is a whole number q from -127 to 127 that stands for
// scale . q^3: weights of a table differ by three orders of magnitude, most are small, and cubes lie
// the closer the smaller they are. The error is about 0.9 / |q| of a weight: a hundredth of a large one.
using Cube = std::int8_t;
constexpr float largest_cube = 127.0f;

// The scale of cubes that makes `largest` the largest weight; any if that is zero.
inline float cube_scale(float largest) {
  return std::max(largest / (largest_cube * largest_cube * largest_cube), 1e-37f);
}

inline Cube to_cube(float weight, float scale) {
  const float q = std::round(std::cbrt(weight / scale));
  return static_cast<Cube>(std::clamp(q, -largest_cube, largest_cube));
}

template <class Code>
Code encoded(float weight, float scale);
template <>
inline Cube encoded<Cube>(float weight, float scale) {
  return to_cube(weight, scale);
}
template <>
inline bfloat16 encoded<bfloat16>(float weight, float /*scale*/) {
  return to_bfloat16(weight);
}

// A mapped file may be damaged: what comes of it is a number all the same.
inline float finite(float p) { return std::isfinite(p) ? p : 0.0f; }
LABELTREE_INLINE simd::f32x8 finite(simd::f32x8 p) { return p - p == 0.0f ? p : simd::f32x8{}; }

}  // namespace labeltree
