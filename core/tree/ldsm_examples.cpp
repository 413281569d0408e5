#include "tree/ldsm_examples.hpp"

#include <algorithm>
#include <cmath>

namespace labeltree {

void LdsmRows::clear() {
  offset_.assign(1, 0);
  feature_.clear();
  value_.clear();
  squared_norm_.clear();
}

void LdsmRows::add(const Example& x) {
  for (std::size_t i = 0; i < x.size; ++i) {
    if (x.value[i] == 0.0f) continue;
    feature_.push_back(x.slot == nullptr ? static_cast<std::uint32_t>(i) : x.slot[i]);
    value_.push_back(x.value[i]);
  }
  offset_.push_back(feature_.size());
  squared_norm_.push_back(x.squared_norm);
}

float LdsmScale::operator[](std::uint32_t number) const {
  const auto found = std::lower_bound(feature.begin(), feature.end(), number);
  return factor[static_cast<std::size_t>(found - feature.begin())];
}

void LdsmRows::multiply(const LdsmScale& scale) {
  for (std::size_t row = 0; row < size(); ++row) {
    squared_norm_[row] = 0.0f;
    for (std::size_t i = offset_[row]; i < offset_[row + 1]; ++i) {
      value_[i] *= scale[feature_[i]];
      squared_norm_[row] += value_[i] * value_[i];
    }
  }
}

LdsmScale LdsmRows::inverse_frequencies(double idf, std::size_t features) const {
  LdsmScale scale;
  std::vector<std::uint32_t> sorted = feature_;
  std::sort(sorted.begin(), sorted.end());
  double sum = 0.0, present = 0.0;
  for (auto next = sorted.begin(); next != sorted.end();) {
    const auto begin = next;
    next = std::upper_bound(begin, sorted.end(), *begin);
    scale.feature.push_back(*begin);
    if (*begin >= features) {
      scale.factor.push_back(1.0f);
      continue;
    }
    const auto rows = static_cast<double>(next - begin);
    const double weight = std::pow(std::log(static_cast<double>(size()) / rows) + 0.1, idf);
    scale.factor.push_back(static_cast<float>(weight));
    sum += weight;
    ++present;
  }
  for (std::size_t i = 0; i < scale.feature.size(); ++i) {
    if (scale.feature[i] < features) scale.factor[i] *= static_cast<float>(present / sum);
  }
  return scale;
}

LdsmExample LdsmRows::operator[](std::size_t row) const {
  const std::size_t begin = offset_[row], size = offset_[row + 1] - begin;
  return {{feature_.data() + begin, size}, {value_.data() + begin, size}, {}, 1.0f,
          squared_norm_[row]};
}

std::uint64_t LdsmRecent::add(const LdsmExample& x) {
  const auto place = static_cast<std::size_t>(end_ % capacity_);
  if (place == kept_.size()) {
    kept_.emplace_back();
    views_.emplace_back();
  }
  Kept& kept = kept_[place];
  kept.feature.assign(x.feature.begin(), x.feature.end());
  kept.value.assign(x.value.begin(), x.value.end());
  kept.labels.assign(x.labels.begin(), x.labels.end());
  views_[place] = {kept.feature, kept.value, kept.labels, x.weight, x.squared_norm};
  return end_++;
}

LdsmExamples LdsmRecent::view(float rate) const { return {views_, end_ - views_.size(), rate}; }

void LdsmRecent::visit_state(StateVisitor& state, std::size_t labels, std::uint64_t features_end) {
  std::vector<std::uint32_t> features, feature, sets, label;
  std::vector<float> value, weight, norm;
  for (const LdsmExample& x : views_) {
    features.push_back(static_cast<std::uint32_t>(x.feature.size()));
    feature.insert(feature.end(), x.feature.begin(), x.feature.end());
    value.insert(value.end(), x.value.begin(), x.value.end());
    sets.push_back(static_cast<std::uint32_t>(x.labels.size()));
    label.insert(label.end(), x.labels.begin(), x.labels.end());
    weight.push_back(x.weight);
    norm.push_back(x.squared_norm);
  }
  state.value("kept_end", end_);
  state.array("kept_features", features);
  state.array("kept_feature", feature);
  state.array("kept_value", value);
  state.array("kept_labels", sets);
  state.array("kept_label", label);
  state.array("kept_weight", weight);
  state.array("kept_norm", norm);
  if (!state.restoring()) return;
  const auto require = StateVisitor::require;
  require(features.size() == std::min<std::uint64_t>(end_, capacity_) &&
              sets.size() == features.size() && weight.size() == features.size() &&
              norm.size() == features.size() && feature.size() == value.size(),
          "the arrays of the kept examples differ in length");
  kept_.assign(features.size(), {});
  views_.assign(features.size(), {});
  std::size_t x = 0, y = 0;
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    require(features[i] <= feature.size() - x && sets[i] <= label.size() - y,
            "the arrays of the kept examples are too short");
    Kept& kept = kept_[i];
    kept.feature.assign(feature.begin() + x, feature.begin() + x + features[i]);
    kept.value.assign(value.begin() + x, value.begin() + x + features[i]);
    kept.labels.assign(label.begin() + y, label.begin() + y + sets[i]);
    x += features[i];
    y += sets[i];
    for (const LabelId id : kept.labels) {
      require(id < labels, "a kept example has a label that does not exist");
    }
    for (const std::uint32_t number : kept.feature) {
      require(number < features_end, "a kept example has a feature that does not exist");
    }
    views_[i] = {kept.feature, kept.value, kept.labels, weight[i], norm[i]};
  }
  require(x == feature.size() && y == label.size(),
          "the arrays of the kept examples are too long");
}

}  // namespace labeltree
