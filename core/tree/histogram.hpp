// Label counts at the nodes of a tree.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "hash.hpp"
#include "labels.hpp"
#include "linear/simd.hpp"

namespace labeltree {

// An index for each (node, label) that has occurred, dense and in the order of first occurrence:
// one hash table for all nodes, so that a label costs memory only at the nodes it has reached.
class NodeLabels {
 public:
  static constexpr std::uint32_t absent = 0xffffffffu;

  std::size_t size() const { return keys_.size(); }

  std::uint32_t find(std::uint32_t node, LabelId label) const {
    if (slots_.empty()) return absent;
    const std::uint64_t key = key_of(node, label);
    for (std::size_t i = first(key); slots_[i] != absent; i = (i + 1) & mask()) {
      if (keys_[slots_[i]] == key) return slots_[i];
    }
    return absent;
  }

  // Asks for what `find` reads first.
  LABELTREE_INLINE void prefetch(std::uint32_t node, LabelId label) const {
    if (!slots_.empty()) __builtin_prefetch(&slots_[first(key_of(node, label))]);
  }

  // What `find` is likely to answer; asks for the key that it would check.
  LABELTREE_INLINE std::uint32_t guess(std::uint32_t node, LabelId label) const {
    if (slots_.empty()) return absent;
    const std::uint32_t index = slots_[first(key_of(node, label))];
    if (index != absent) __builtin_prefetch(&keys_[index]);
    return index;
  }

  // The index, a new one if there is none yet.
  std::uint32_t add(std::uint32_t node, LabelId label) {
    const std::uint32_t found = find(node, label);
    if (found != absent) return found;
    keys_.push_back(key_of(node, label));
    if (2 * keys_.size() > slots_.size()) {
      rebuild();
    } else {
      place(static_cast<std::uint32_t>(keys_.size() - 1));
    }
    return static_cast<std::uint32_t>(keys_.size() - 1);
  }

  std::vector<std::uint64_t>& keys() { return keys_; }
  const std::vector<std::uint64_t>& keys() const { return keys_; }

  // After the keys were restored.
  void rebuild() {
    std::size_t size = 16;
    while (size < 4 * keys_.size()) size *= 2;
    slots_.assign(size, absent);
    for (std::uint32_t index = 0; index < keys_.size(); ++index) place(index);
  }

 private:
  std::size_t mask() const { return slots_.size() - 1; }
  std::size_t first(std::uint64_t key) const { return mix64(key) & mask(); }
  static std::uint64_t key_of(std::uint32_t node, LabelId label) {
    return std::uint64_t{node} << 32 | label;
  }

  void place(std::uint32_t index) {
    std::size_t i = first(keys_[index]);
    while (slots_[i] != absent) i = (i + 1) & mask();
    slots_[i] = index;
  }

  std::vector<std::uint64_t> keys_;
  std::vector<std::uint32_t> slots_;  // open addressing, at most half full
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
