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

// The share of the best may be nearly all: what is left of it is added up without it.
LABELTREE_CLONES void to_log_odds_of_shares(float* scores, std::size_t size, std::size_t best) {
  constexpr float smallest_rest = 1e-30f;
  const float highest = scores[best];
  scores[best] = no_share;
  simd::f32x8 parts{};
  for (std::size_t i = 0; i < size; i += 8) parts += simd::exp(simd::load(scores + i) - highest);
  const float behind = simd::sum(parts);
  for (std::size_t i = 0; i < size; i += 8) {
    const simd::f32x8 score = simd::load(scores + i) - highest;
    simd::f32x8 odds = score - simd::log((1.0f + behind) - simd::exp(score));
    odds = odds > -surest ? odds : simd::f32x8{} - surest;
    simd::store(scores + i, odds);
  }
  scores[best] = std::min(-std::log(std::max(behind, smallest_rest)), surest);
}

}  // namespace labeltree
