// The most frequent labels of all nodes of a tree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "labels.hpp"
#include "shared_array.hpp"
#include "state.hpp"
#include "tree/histogram.hpp"

namespace labeltree {

// Where counts grow, those of each node apart. In a model that only predicts in plain arrays, one node
// after the other, which may lie in a file that is mapped into memory.
class NodeTops {
 public:
  // The labels of one node, most frequent first, and their counts.
  class Top {
   public:
    explicit Top(const std::vector<TopLabels::Entry>& entries)
        : entries_(entries.data()), size_(entries.size()) {}
    Top(const LabelId* labels, const double* counts, std::size_t size)
        : labels_(labels), counts_(counts), size_(size) {}

    std::size_t size() const { return size_; }
    LabelId label(std::size_t i) const { return entries_ != nullptr ? entries_[i].label : labels_[i]; }
    double count(std::size_t i) const { return entries_ != nullptr ? entries_[i].count : counts_[i]; }
    // The weight of the first n labels.
    double sum(std::size_t n) const;

   private:
    const TopLabels::Entry* entries_ = nullptr;
    const LabelId* labels_ = nullptr;  // where there are no entries
    const double* counts_ = nullptr;
    std::size_t size_;
  };

  void add() { tops_.emplace_back(); }
  TopLabels& learned(std::size_t node) { return tops_[node]; }
  const TopLabels& learned(std::size_t node) const { return tops_[node]; }
  Top operator[](std::size_t node) const {
    if (begin_.empty()) return Top(tops_[node].entries());
    const std::size_t begin = begin_[node];
    return {labels_.data() + begin, counts_.data() + begin, begin_[node + 1] - begin};
  }

  // Throws if what is restored is not right for this number of nodes and labels. `most` tells how many
  // labels of a node to save.
  void visit_state(StateVisitor& state, std::size_t nodes, std::size_t labels);
  void visit_frozen(StateVisitor& state, std::size_t nodes, std::size_t labels,
                    const std::function<std::size_t(std::size_t)>& most);

 private:
  struct Flat;

  std::vector<TopLabels> tops_;
  std::vector<std::uint32_t> begin_;  // in a model that only predicts, else empty
  SharedArray<LabelId> labels_;
  SharedArray<double> counts_;
};

}  // namespace labeltree
