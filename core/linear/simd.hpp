// Eight floats at a time, on any instruction set: the compiler lowers the vector type to what the
// function is compiled for. Functions marked LABELTREE_CLONES are compiled for AVX2 too, and the
// loader picks the version that fits the processor, so the build needs no -march.
#pragma once

#include <cstdint>
#include <cstring>

#include "inline.hpp"

// Whether ThreadSanitizer watches. The loader would pick a version before it is ready for that.
#ifdef __SANITIZE_THREAD__
#define LABELTREE_WATCHED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define LABELTREE_WATCHED 1
#endif
#endif

// Clang (19, at least) refuses such functions: those below take and return eight floats, which
// functions compiled for AVX2 and for less pass in different ways, although all are inlined here.
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__linux__) && \
    !defined(LABELTREE_WATCHED)
#define LABELTREE_CLONES __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define LABELTREE_CLONES
#endif

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

// The same for weights, which threads that learn together read and write without a lock: an update
// may be lost, a number is never torn. They are plain loads and stores, and atomic ones, number by
// number, where ThreadSanitizer watches, which then knows that it is meant so.
LABELTREE_INLINE float load_shared1(const float* p) {
#ifdef LABELTREE_WATCHED
  float v;
  __atomic_load(p, &v, __ATOMIC_RELAXED);
  return v;
#else
  return *p;
#endif
}

LABELTREE_INLINE void store_shared1(float* p, float v) {
#ifdef LABELTREE_WATCHED
  __atomic_store(p, &v, __ATOMIC_RELAXED);
#else
  *p = v;
#endif
}

LABELTREE_INLINE f32x8 load_shared(const float* p) {
#ifdef LABELTREE_WATCHED
  f32x8 v;
  for (std::size_t i = 0; i < width; ++i) v[i] = load_shared1(p + i);
  return v;
#else
  return load(p);
#endif
}

LABELTREE_INLINE void store_shared(float* p, f32x8 v) {
#ifdef LABELTREE_WATCHED
  for (std::size_t i = 0; i < width; ++i) store_shared1(p + i, v[i]);
#else
  store(p, v);
#endif
}

// The numbers of v at the given places, from 0 to 7.
LABELTREE_INLINE i32x8 permute(i32x8 v, i32x8 places) {
#ifdef __clang__
  i32x8 permuted;
  for (std::size_t i = 0; i < width; ++i) permuted[i] = v[places[i] & 7];
  return permuted;
#else
  return __builtin_shuffle(v, places);
#endif
}

LABELTREE_INLINE float sum(f32x8 v) {
  return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
}

// The sums of eight vectors, each added up in the same order as by sum().
LABELTREE_INLINE f32x8 sums(const f32x8 (&v)[8]) {
  f32x8 four[4], two[2];  // sums of two of the numbers of two rows each, then of four of four rows each
  for (int i = 0; i < 4; ++i) {
    four[i] = __builtin_shufflevector(v[i], v[i + 4], 0, 1, 2, 3, 8, 9, 10, 11) +
              __builtin_shufflevector(v[i], v[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
  for (int i = 0; i < 2; ++i) {
    two[i] = __builtin_shufflevector(four[2 * i], four[2 * i + 1], 0, 1, 8, 9, 4, 5, 12, 13) +
             __builtin_shufflevector(four[2 * i], four[2 * i + 1], 2, 3, 10, 11, 6, 7, 14, 15);
  }
  return __builtin_shufflevector(two[0], two[1], 0, 2, 8, 10, 4, 6, 12, 14) +
         __builtin_shufflevector(two[0], two[1], 1, 3, 9, 11, 5, 7, 13, 15);
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

// e^x, to a few units in the last place; x is taken to be within what a float can hold.
LABELTREE_INLINE f32x8 exp(f32x8 x) {
  x = x < 88.0f ? x : f32x8{} + 88.0f;
  x = x > -87.0f ? x : f32x8{} - 87.0f;
  // x = n ln 2 + r: adding a number so large that its last bit is 1 rounds to the whole n.
  constexpr float round = 12582912.0f;
  const f32x8 rounded = x * 1.44269504f + round;
  const f32x8 n = rounded - round;
  const f32x8 r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  f32x8 e = 1.0f + r * (1.0f / 7.0f);  // Taylor's series: |r| is at most ln(2) / 2
  for (int i = 6; i > 0; --i) e = 1.0f + r * e * (1.0f / static_cast<float>(i));
  i32x8 bits;
  std::memcpy(&bits, &rounded, sizeof bits);
  bits <<= 23;  // what is above n is pushed out
  i32x8 result;
  std::memcpy(&result, &e, sizeof result);
  result += bits;  // times 2^n
  std::memcpy(&e, &result, sizeof e);
  return e;
}

// The natural logarithm of positive numbers that are not denormal.
LABELTREE_INLINE f32x8 log(f32x8 x) {
  i32x8 bits;
  std::memcpy(&bits, &x, sizeof bits);
  const i32x8 n = (bits - 0x3f3504f3) >> 23;  // x = 2^n m, m from sqrt(1/2) to sqrt(2)
  bits -= n << 23;
  f32x8 m;
  std::memcpy(&m, &bits, sizeof m);
  const f32x8 s = (m - 1.0f) / (m + 1.0f);  // log m = 2 artanh s
  const f32x8 q = s * s;
  const f32x8 series = 1.0f + q * (1.0f / 3 + q * (1.0f / 5 + q * (1.0f / 7 + q * (1.0f / 9))));
  return __builtin_convertvector(n, f32x8) * 0.69314718f + 2.0f * s * series;
}

LABELTREE_INLINE f32x8 inverse_sqrt(f32x8 g) { return inverse_sqrt<f32x8, i32x8>(g); }
inline float inverse_sqrt(float g) { return inverse_sqrt<float, std::int32_t>(g); }

}  // namespace labeltree::simd
