#include "tree/label_counts.hpp"

#include <algorithm>
#include <functional>

namespace labeltree {

LabelCounts::LabelCounts(std::vector<std::pair<LabelId, double>> weights) {
  std::stable_sort(weights.begin(), weights.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [label, weight] : weights) {
    if (labels_.empty() || labels_.back() != label) {
      labels_.push_back(label);
      counts_.push_back(0.0);
    }
    counts_.back() += weight;
  }
}

double LabelCounts::of(LabelId label) const {
  const auto found = std::lower_bound(labels_.begin(), labels_.end(), label);
  if (found == labels_.end() || *found != label) return 0.0;
  return counts_[static_cast<std::size_t>(found - labels_.begin())];
}

void LabelCounts::add(LabelId label, double weight, std::size_t capacity) {
  const auto found = std::lower_bound(labels_.begin(), labels_.end(), label);
  const auto place = found - labels_.begin();
  if (found != labels_.end() && *found == label) {
    counts_[static_cast<std::size_t>(place)] += weight;
    return;
  }
  labels_.insert(found, label);
  counts_.insert(counts_.begin() + place, weight);
  if (capacity > 0 && size() > 2 * capacity) prune(capacity);
}

void LabelCounts::prune(std::size_t capacity) {
  if (capacity > 0 && size() > capacity) {
    std::vector<double> largest = counts_;
    std::nth_element(largest.begin(), largest.begin() + (capacity - 1), largest.end(),
                     std::greater<>());
    const double least = largest[capacity - 1];
    // How many of those that have just the least count find room.
    auto room = static_cast<std::ptrdiff_t>(capacity) -
                std::count_if(largest.begin(), largest.end(), [&](double c) { return c > least; });
    std::size_t kept = 0;
    for (std::size_t i = 0; i < labels_.size(); ++i) {
      if (counts_[i] < least || (counts_[i] == least && room-- <= 0)) continue;
      labels_[kept] = labels_[i];
      counts_[kept++] = counts_[i];
    }
    labels_.resize(kept);
    counts_.resize(kept);
  }
  labels_.shrink_to_fit();
  counts_.shrink_to_fit();
}

LabelId LabelCounts::most_frequent() const {
  if (counts_.empty()) return no_label;
  return labels_[static_cast<std::size_t>(
      std::max_element(counts_.begin(), counts_.end()) - counts_.begin())];
}

void LabelCounts::assign(std::vector<LabelId> labels, std::vector<double> counts) {
  labels_ = std::move(labels);
  counts_ = std::move(counts);
}

}  // namespace labeltree
