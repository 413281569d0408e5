// Floats in half the space: the upper 16 bits of a float, a sign, 8 bits of exponent and 7 of
// fraction. The range is that of a float; the value is right to one part in 2^8 of itself.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "linear/simd.hpp"

namespace labeltree {

using bfloat16 = std::uint16_t;

// The nearest one; of two equally near, the one whose last bit is zero.
inline bfloat16 to_bfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (value != value) return 0x7fc0;  // the carry could make a number of what is none
  return static_cast<bfloat16>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

LABELTREE_INLINE float to_float(bfloat16 value) {
  return std::bit_cast<float>(std::uint32_t{value} << 16);
}

namespace simd {

using u16x8 = std::uint16_t __attribute__((vector_size(16)));
using u32x8 = std::uint32_t __attribute__((vector_size(32)));

LABELTREE_INLINE f32x8 load(const bfloat16* p) {
  u16x8 half;
  std::memcpy(&half, p, sizeof half);
  const u32x8 whole = __builtin_convertvector(half, u32x8) << 16;
  f32x8 v;
  std::memcpy(&v, &whole, sizeof v);
  return v;
}

}  // namespace simd
}  // namespace labeltree
