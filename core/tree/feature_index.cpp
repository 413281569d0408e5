#include "tree/feature_index.hpp"

#include <algorithm>
#include <functional>

namespace labeltree {

FeatureIndex::FeatureIndex(std::vector<std::uint32_t> features) : size_(features.size()) {
  if (features.empty()) return;
  const bool sorted = std::adjacent_find(features.begin(), features.end(),
                                         std::greater_equal<>()) == features.end();
  const std::size_t words = std::size_t{features.back()} / 64 + 1;
  // A hash table takes about 12 bytes a feature.
  if (!sorted || words * sizeof(Word) > 12 * features.size()) {
    features_ = std::move(features);
    rebuild();
    return;
  }
  words_.resize(words);
  for (const std::uint32_t feature : features) {
    words_[feature / 64].bits |= std::uint64_t{1} << feature % 64;
  }
  std::uint32_t rank = 1;
  for (Word& word : words_) {
    word.rank = rank;
    rank += static_cast<std::uint32_t>(std::popcount(word.bits));
  }
}

std::uint32_t FeatureIndex::add(std::uint32_t feature) {
  const std::uint32_t found = find(feature);
  if (found != absent) return found;
  if (!words_.empty()) {
    features_ = features();
    words_ = {};
    rebuild();
  }
  features_.push_back(feature);
  const auto place = static_cast<std::uint32_t>(++size_);
  if (2 * size_ > slots_.size()) {
    rebuild();
  } else {
    insert(place);
  }
  return place;
}

std::vector<std::uint32_t> FeatureIndex::features() const {
  if (words_.empty()) return features_;
  std::vector<std::uint32_t> features;
  features.reserve(size_);
  for (std::size_t w = 0; w < words_.size(); ++w) {
    for (std::uint64_t bits = words_[w].bits; bits != 0; bits &= bits - 1) {
      features.push_back(static_cast<std::uint32_t>(64 * w + std::countr_zero(bits)));
    }
  }
  return features;
}

void FeatureIndex::rebuild() {
  slots_.assign(std::bit_ceil(std::max<std::size_t>(8, 2 * features_.size())), absent);
  for (std::uint32_t place = 1; place <= features_.size(); ++place) insert(place);
}

void FeatureIndex::insert(std::uint32_t place) {
  const std::size_t mask = slots_.size() - 1;
  std::size_t i = mix64(features_[place - 1]) & mask;
  while (slots_[i] != absent) i = (i + 1) & mask;
  slots_[i] = place;
}

}  // namespace labeltree
