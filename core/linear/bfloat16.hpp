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

using f32x4 = float __attribute__((vector_size(16)));
using u32x4 = std::uint32_t __attribute__((vector_size(16)));
using u32x8 = std::uint32_t __attribute__((vector_size(32)));

// Floats 0, 2, 4... and 1, 3, 5... of as many bfloat16 as fill a vector: to part them in this way
// takes two instructions, and to keep their order five.
template <class Floats>
struct Parted {
  Floats even, odd;
};

template <class Floats, class Bits>
LABELTREE_INLINE Parted<Floats> part(const bfloat16* p) {
  Bits pairs;
  std::memcpy(&pairs, p, sizeof pairs);
  const Bits even = pairs << 16, odd = pairs & 0xffff0000u;
  Parted<Floats> parted;
  std::memcpy(&parted.even, &even, sizeof even);
  std::memcpy(&parted.odd, &odd, sizeof odd);
  return parted;
}
LABELTREE_INLINE Parted<f32x4> part8(const bfloat16* p) { return part<f32x4, u32x4>(p); }
LABELTREE_INLINE Parted<f32x8> part16(const bfloat16* p) { return part<f32x8, u32x8>(p); }

}  // namespace simd
}  // namespace labeltree
