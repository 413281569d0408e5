// From probabilities to log-odds.
#pragma once

#include <cstddef>

namespace labeltree {

constexpr float surest = 16.0f;  // log-odds beyond this are taken for this

// Of probabilities whose logarithms are given; their count is a multiple of eight.
void to_log_odds(float* log_probabilities, std::size_t size);

}  // namespace labeltree
