#include "tree/ldsm_nag.hpp"

#include <array>
#include <cmath>

#include "tree/ldsm_objective.hpp"

namespace labeltree {

void LdsmNag::begin(std::size_t features, std::size_t lanes) {
  lanes_ = lanes;
  range_.assign(features, 0.0f);
  gradient_sum_.assign(features * lanes, 0.0f);
  seen_ = norm_ = 0.0;
}

void LdsmNag::learn(std::span<float> weights, const LdsmLocalRow& x, unsigned s, float weight,
                    float step) {
  std::array<float, largest_arity> slope{};  // the scores, and then the slope of their loss
  double norm = 0.0;
  for (std::size_t i = 0; i < x.size; ++i) {
    float* w = &weights[x.feature[i] * lanes_];
    float& range = range_[x.feature[i]];
    const float size = std::abs(x.value[i]);
    if (size > range) {
      for (std::size_t m = 0; m < lanes_; ++m) w[m] *= range / size;
      range = size;
    }
    norm += double{x.value[i] / range} * (x.value[i] / range);
    for (std::size_t m = 0; m < lanes_; ++m) slope[m] += w[m] * x.value[i];
  }
  seen_ += weight;
  norm_ += weight * norm;
  for (std::size_t m = 0; m < lanes_; ++m) {
    slope[m] = 1.0f / (1.0f + std::exp(-slope[m])) - static_cast<float>(s >> m & 1);
  }
  const auto length = weight * step * static_cast<float>(std::sqrt(seen_ / norm_));
  for (std::size_t i = 0; i < x.size; ++i) {
    float* w = &weights[x.feature[i] * lanes_];
    float* sum = &gradient_sum_[x.feature[i] * lanes_];
    const float range = range_[x.feature[i]];
    for (std::size_t m = 0; m < lanes_; ++m) {
      const float g = slope[m] * x.value[i];
      sum[m] += weight * g * g;
      if (sum[m] > 0.0f) w[m] -= length * g / (range * std::sqrt(sum[m]));
    }
  }
}

}  // namespace labeltree
