// Which features a node knows, and the place of each in its weights.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "hash.hpp"
#include "linear/simd.hpp"

namespace labeltree {

// A set of features, which have the places 1, 2, ... in the order in which they were added. A set
// made at once from sorted features is a bitmap with ranks where that is the smaller form: about two
// bytes a feature, and no search. Any other set, or one to which features were added since, is a
// hash table.
class FeatureIndex {
 public:
  static constexpr std::uint32_t absent = 0;

  FeatureIndex() = default;
  explicit FeatureIndex(std::vector<std::uint32_t> features);

  std::size_t size() const { return size_; }

  // The places of n features, 0 for one that is absent. Without a branch for each of them where
  // possible: whether a node knows a feature is hard to foresee.
  LABELTREE_INLINE void find_all(const std::uint32_t* features, std::size_t n,
                                 std::uint32_t* places) const {
    if (words_.empty()) {
      for (std::size_t i = 0; i < n; ++i) places[i] = find(features[i]);
    } else {
      for (std::size_t i = 0; i < n; ++i) places[i] = find_bit(features[i]);
    }
  }

  LABELTREE_INLINE std::uint32_t find(std::uint32_t feature) const {
    if (!words_.empty()) return find_bit(feature);
    if (slots_.empty()) return absent;
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t i = mix64(feature) & mask; slots_[i] != absent; i = (i + 1) & mask) {
      if (features_[slots_[i] - 1] == feature) return slots_[i];
    }
    return absent;
  }

  // The place of a feature, the next one if it has none yet.
  std::uint32_t add(std::uint32_t feature);

  // All features in the order of their places.
  std::vector<std::uint32_t> features() const;

 private:
  struct Word {
    std::uint64_t bits;
    std::uint32_t rank;  // the place of the first bit
  };

  LABELTREE_INLINE std::uint32_t find_bit(std::uint32_t feature) const {
    const std::size_t w = feature / 64;
    if (w >= words_.size()) return absent;
    const std::uint64_t bit = std::uint64_t{1} << feature % 64;
    const std::uint64_t bits = words_[w].bits;
    const auto place = words_[w].rank + static_cast<std::uint32_t>(std::popcount(bits & (bit - 1)));
    return place & (0u - static_cast<std::uint32_t>(bits >> feature % 64 & 1));
  }

  void rebuild();
  void insert(std::uint32_t place);

  std::size_t size_ = 0;
  std::vector<Word> words_;               // the bitmap, or
  std::vector<std::uint32_t> features_;   // the features
  std::vector<std::uint32_t> slots_;      // and their places by hash, at most half full
};

}  // namespace labeltree
