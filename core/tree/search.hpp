// What searches of probability trees work with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace labeltree {

constexpr float smallest_probability = 1e-6f;  // of a child, so that no leaf is ever impossible

// A node that a search has reached.
struct Reached {
  float log_probability;
  std::uint32_t node;
};

// The order of a search: best first, the older node of two alike.
struct MoreProbable {
  bool operator()(const Reached& a, const Reached& b) const {
    return a.log_probability != b.log_probability ? a.log_probability > b.log_probability
                                                  : a.node < b.node;
  }
};
inline constexpr MoreProbable more_probable;

// Keeps the n best, in any order.
void keep_best(std::vector<Reached>& reached, std::size_t n);

// Nodes that a search level by level has reached, for several examples.
struct Beam {
  std::vector<Reached> level, next, below;
  std::vector<std::size_t> end;              // in `level`, for each example
  std::vector<std::vector<Reached>> leaves;  // of each example
};

// The nodes above the labels of a set.
struct Above {
  std::vector<std::uint32_t> below;  // the children with labels of each node, as bits; else zero
  std::vector<std::uint32_t> parents;
};

}  // namespace labeltree
