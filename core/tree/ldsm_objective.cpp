#include "tree/ldsm_objective.hpp"

#include <cmath>
#include <limits>

namespace labeltree {

LdsmObjective::LdsmObjective(std::size_t arity, double lambda1, double lambda2)
    : arity_(arity), lambda1_(lambda1), lambda2_(lambda2) {
  for (std::size_t j = 0; j < arity; ++j) {
    for (std::size_t l = j + 1; l < arity; ++l) pairs_[n_pairs_++] = {j, l, 0.0, 0.0, 0.0};
  }
}

void LdsmObjective::begin(const Sent& sent, double total, double mass) {
  sent_ = sent;
  total_ = total;
  mass_ = mass;
  for (std::size_t i = 0; i < n_pairs_; ++i) {
    pairs_[i].alike = pairs_[i].first = pairs_[i].second = 0.0;
  }
}

void LdsmObjective::add_label(const double* sent, double weight) {
  for (std::size_t i = 0; i < n_pairs_; ++i) {
    Pair& pair = pairs_[i];
    const double difference = sent[pair.j] - sent[pair.l];
    pair.alike += std::abs(difference);
    pair.first += std::abs(difference + weight);
    pair.second += std::abs(difference - weight);
  }
}

unsigned LdsmObjective::best() const {
  // What each pair of children adds to J, by whether the example goes to j, and to l.
  double cost[largest_arity * (largest_arity - 1) / 2][2][2];
  double sum = -total_;
  for (std::size_t m = 0; m < arity_; ++m) sum += sent_[m];
  for (std::size_t i = 0; i < n_pairs_; ++i) {
    const Pair& pair = pairs_[i];
    const double difference = sent_[pair.j] - sent_[pair.l];
    cost[i][0][0] = cost[i][1][1] = std::abs(difference) - lambda1_ * pair.alike;
    cost[i][1][0] = std::abs(difference + mass_) - lambda1_ * pair.first;
    cost[i][0][1] = std::abs(difference - mass_) - lambda1_ * pair.second;
  }
  const double rounding = 1e-9 * total_;  // in which sums that are equal may differ
  double smallest = std::numeric_limits<double>::infinity();
  unsigned best = 1;
  for (unsigned s = 1; s < 1u << arity_; ++s) {
    double J = 0.0;
    for (std::size_t i = 0; i < n_pairs_; ++i) {
      J += cost[i][s >> pairs_[i].j & 1][s >> pairs_[i].l & 1];
    }
    double ways = 0.0;
    for (std::size_t m = 0; m < arity_; ++m) ways += s >> m & 1;
    J += lambda2_ * std::abs(sum + mass_ * ways);
    if (J < smallest - rounding) {
      smallest = J;
      best = s;
    }
  }
  return best;
}

}  // namespace labeltree
