// Label counts at the nodes of a tree.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "inline.hpp"
#include "key_numbers.hpp"
#include "labels.hpp"

namespace labeltree {

// An index for each (node, label) that has occurred: one hash table for all nodes, so that a label costs
// memory only at the nodes it has reached.
class NodeLabels : public KeyNumbers {
 public:
  std::uint32_t find(std::uint32_t node, LabelId label) const {
    return KeyNumbers::find(key_of(node, label));
  }
  LABELTREE_INLINE void prefetch(std::uint32_t node, LabelId label) const {
    KeyNumbers::prefetch(key_of(node, label));
  }
  LABELTREE_INLINE std::uint32_t guess(std::uint32_t node, LabelId label) const {
    return KeyNumbers::guess(key_of(node, label));
  }
  std::uint32_t add(std::uint32_t node, LabelId label) {
    return KeyNumbers::add(key_of(node, label));
  }

 private:
  static std::uint64_t key_of(std::uint32_t node, LabelId label) {
    return std::uint64_t{node} << 32 | label;
  }
};

// The most frequent labels of a node, most frequent first. Counts only grow, so keeping the best
// `capacity` is exact: a label outside has at most the count of the last one inside.
class TopLabels {
 public:
  struct Entry {
    LabelId label;
    double count;
  };

  // Notes that a label's count has grown to `count`; returns the label's place, or capacity.
  std::size_t update(LabelId label, double count, std::size_t capacity) {
    std::size_t i = 0;
    while (i < entries_.size() && entries_[i].label != label) ++i;
    if (i == entries_.size()) {
      if (i < capacity) {
        entries_.push_back({label, count});
      } else if (count > entries_.back().count) {
        entries_.back() = {label, count};
        --i;
      } else {
        return capacity;
      }
    }
    entries_[i].count = count;
    for (; i > 0 && entries_[i - 1].count < entries_[i].count; --i) {
      std::swap(entries_[i - 1], entries_[i]);
    }
    return i;
  }

  // The weight of the first n labels.
  double sum(std::size_t n) const {
    double total = 0.0;
    for (std::size_t i = 0; i < std::min(n, entries_.size()); ++i) total += entries_[i].count;
    return total;
  }

  const std::vector<Entry>& entries() const { return entries_; }
  std::vector<Entry>& entries() { return entries_; }

 private:
  std::vector<Entry> entries_;
};

// c log2 c, the term of a count in an entropy.
inline double c_log_c(double c) { return c > 0.0 ? c * std::log2(c) : 0.0; }

}  // namespace labeltree
