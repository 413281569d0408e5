// Algorithm 3 of LdSM (Majzoubi & Choromanska 2019): where a node should send an example.
#pragma once

#include <array>
#include <cstddef>

namespace labeltree {

constexpr std::size_t largest_arity = 8;

// Sums over the examples that a node has seen, from which its P_m and P_m^k are made:
// P_m = sent[m] / total, and likewise for each label.
using Sent = std::array<double, largest_arity>;

// The objective J = balance - lambda1 * class integrity + lambda2 * multi-way penalty for the
// examples so far and one more, in every direction that this one may take. Labels that it does
// not have add the same to all directions and are left out; so is the factor 1 / C_v.
class LdsmObjective {
 public:
  LdsmObjective(std::size_t arity, double lambda1, double lambda2);

  // Begins an example whose labels weigh `mass` in all, the example included in `total` (C_v) but
  // not in `sent`.
  void begin(const Sent& sent, double total, double mass);

  // Adds a label of the example, which has weight `weight`; `sent` is as it was before.
  void add_label(const double* sent, double weight);

  // The direction, bit m for child m, with the smallest J; of equals, the first.
  unsigned best() const;

 private:
  std::size_t arity_;
  double lambda1_;
  double lambda2_;
  Sent sent_{};
  double total_ = 0.0;
  double mass_ = 0.0;
  // For children j < l, sum over the labels of l_v[k] |P_j^k - P_l^k| if the example goes to
  // both or neither, to j only, to l only.
  struct Pair {
    std::size_t j, l;
    double alike, first, second;
  };
  std::array<Pair, largest_arity * (largest_arity - 1) / 2> pairs_{};
  std::size_t n_pairs_ = 0;
};

}  // namespace labeltree
