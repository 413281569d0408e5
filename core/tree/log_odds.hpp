// From probabilities to log-odds.
#pragma once

#include <cstddef>

namespace labeltree {

constexpr float surest = 16.0f;  // log-odds beyond this are taken for this

// Of probabilities whose logarithms are given; their count is a multiple of eight.
void to_log_odds(float* log_probabilities, std::size_t size);

// Of the shares of a softmax, from scores, of which `best` is the place of the largest. Their count is a
// multiple of eight, filled up with `no_share`.
void to_log_odds_of_shares(float* scores, std::size_t size, std::size_t best);
constexpr float no_share = -1e30f;

}  // namespace labeltree
