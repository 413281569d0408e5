// Normalized adaptive gradient steps (Ross, Mineiro & Langford 2013, Algorithm 2) of logistic loss, by
// which LdSM's authors train the regressors of a node.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace labeltree {

// The features of one example, numbered within the node.
struct LdsmLocalRow {
  const std::uint32_t* feature;
  const float* value;
  std::size_t size;
};

class LdsmNag {
 public:
  // Begins a node with so many features, whose weights are [feature][lane].
  void begin(std::size_t features, std::size_t lanes);

  // Moves the scores of x towards the direction s. Where a value is the largest so far of its feature,
  // the weights are made smaller first: they are for features of a range of one.
  void learn(std::span<float> weights, const LdsmLocalRow& x, unsigned s, float weight, float step);

 private:
  std::size_t lanes_ = 0;
  std::vector<float> range_;         // the largest |value| of each feature
  std::vector<float> gradient_sum_;  // of squares, [feature][lane]
  double seen_ = 0.0;                // t: weight of the examples
  double norm_ = 0.0;                // N: sum of their squared lengths, in ranges
};

}  // namespace labeltree
