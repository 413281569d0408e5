// How often each label has reached a node, for nodes that see few of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "labels.hpp"

namespace labeltree {

// Weights by label, sorted by label. With a capacity the rarest labels are forgotten: at most twice
// the capacity are kept, so that a label that is new has time to become frequent.
class LabelCounts {
 public:
  LabelCounts() = default;
  // The sums of some weights, which come in any order.
  explicit LabelCounts(std::vector<std::pair<LabelId, double>> weights);

  std::size_t size() const { return labels_.size(); }
  LabelId label(std::size_t i) const { return labels_[i]; }
  double count(std::size_t i) const { return counts_[i]; }

  double of(LabelId label) const;
  void add(LabelId label, double weight, std::size_t capacity);
  // Keeps the `capacity` most frequent labels, of equals the first; all if it is zero.
  void prune(std::size_t capacity);
  // The label with the largest count, of equals the first; no_label if there is none.
  LabelId most_frequent() const;

  const std::vector<LabelId>& labels() const { return labels_; }
  const std::vector<double>& counts() const { return counts_; }
  void assign(std::vector<LabelId> labels, std::vector<double> counts);

 private:
  std::vector<LabelId> labels_;
  std::vector<double> counts_;
};

}  // namespace labeltree
