// What searches of probability trees work with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
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

// A bound that at least n of some numbers reach, and few more, mostly none. Their count is a multiple
// of eight; none is below `low`, or above `high`.
float bound_of_best(const float* values, std::size_t size, std::size_t n, float low, float high);

// Keeps the n best, in any order.
void keep_best(std::vector<Reached>& reached, std::size_t n);

// How far a search level by level goes.
struct Breadth {
  std::size_t leaves;  // to find, at most
  std::size_t beam;    // nodes expanded on each level, at most
  // Nodes whose log-probability is further behind the best on their level are left out, unless fewer
  // than `wanted` leaves would be found.
  float behind = std::numeric_limits<float>::infinity();
  std::size_t wanted = 0;
};

// Nodes that a search level by level has reached, for several examples.
struct Beam {
  std::vector<Reached> level, next, below;
  std::vector<std::uint32_t> place;          // of each node of the level
  std::vector<std::size_t> end;              // in `level`, for each example
  std::vector<std::vector<Reached>> leaves;  // of each example
  std::vector<float> best_leaf;              // its log-probability, for each example
};

// The nodes above the labels of a set.
struct Above {
  std::vector<std::uint32_t> below;  // the children with labels of each node, as bits; else zero
  std::vector<std::uint32_t> parents;
};

}  // namespace labeltree
