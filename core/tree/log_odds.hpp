// From probabilities to log-odds.
#pragma once

#include <algorithm>
#include <cmath>

namespace labeltree {

constexpr float surest = 16.0f;  // log-odds beyond this are taken for this

inline float log_odds(float log_probability) {
  const float rest = -std::expm1(log_probability);  // 1 - p
  if (!(rest > 0.0f)) return surest;
  return std::clamp(log_probability - std::log(rest), -surest, surest);
}

}  // namespace labeltree
