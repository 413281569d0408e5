#include "tree/log_odds.hpp"

#include <algorithm>
#include <cmath>

#include "linear/simd.hpp"

namespace labeltree {

LABELTREE_CLONES void to_log_odds(float* values, std::size_t size) {
  for (std::size_t i = 0; i < size; i += 8) {
    const simd::f32x8 log_p = simd::load(values + i);
    const simd::f32x8 t = -log_p;  // 1 - e^-t by Taylor's series where it is small
    simd::f32x8 series = 1.0f - t * (1.0f / 7.0f);
    for (int n = 6; n > 1; --n) series = 1.0f - t * series * (1.0f / static_cast<float>(n));
    simd::f32x8 rest = t < 0.25f ? t * series : 1.0f - simd::exp(log_p);
    rest = rest > 1e-30f ? rest : simd::f32x8{} + 1e-30f;
    simd::f32x8 odds = log_p - simd::log(rest);
    odds = odds < surest ? odds : simd::f32x8{} + surest;
    odds = odds > -surest ? odds : simd::f32x8{} - surest;
    simd::store(values + i, odds);
  }
}

LABELTREE_CLONES void to_log_odds_of_shares(float* scores, std::size_t size) {
  if (size == 0) return;
  simd::f32x8 largest = simd::load(scores);
  for (std::size_t i = 8; i < size; i += 8) {
    const simd::f32x8 next = simd::load(scores + i);
    largest = next > largest ? next : largest;
  }
  float highest = largest[0];
  for (int lane = 1; lane < 8; ++lane) highest = std::max(highest, largest[lane]);
  simd::f32x8 parts{};
  for (std::size_t i = 0; i < size; i += 8) parts += simd::exp(simd::load(scores + i) - highest);
  const float log_total = std::log(simd::sum(parts)) + highest;
  for (std::size_t i = 0; i < size; i += 8) {
    simd::store(scores + i, simd::load(scores + i) - log_total);
  }
  to_log_odds(scores, size);
}

}  // namespace labeltree
