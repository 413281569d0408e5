#include "tree/clusters.hpp"

#include <algorithm>
#include <cmath>

#include "hash.hpp"
#include "tree/feature_index.hpp"

namespace labeltree {
namespace {

constexpr int rounds = 4;  // of 2-means; more move few labels

template <class Visit>
void visit_row(const Matrix& X, const Bank& bank, ExampleBuffer& example, Visit visit) {
  if (bank.weighs_rows()) {
    example.clear();
    bank.encode(X, 0, example);
    const Example x = example[0];
    for (std::size_t i = 0; i < x.size; ++i) {
      const std::size_t slot = x.slot == nullptr ? i : x.slot[i];
      if (slot < bank.slots() && x.value[i] != 0.0f) visit(slot, x.value[i]);
    }
  } else if (X.dense()) {
    for (std::size_t i = 0; i < X.cols; ++i) {
      if (X.values[i] != 0.0f) visit(i, X.values[i]);
    }
  } else {
    for (std::int64_t i = X.indptr[0]; i < X.indptr[1]; ++i) {
      visit(X.indices[i], X.values[i]);
    }
  }
}

}  // namespace

LabelledRows labelled_rows(const Matrix& X, const LabelSets& y) {
  const std::size_t entries = X.dense() ? X.cols : static_cast<std::size_t>(X.indptr[X.rows]);
  const auto row = [X](std::size_t i) -> Matrix {
    if (X.dense()) return {nullptr, nullptr, X.values + i * X.cols, 1, X.cols};
    return {X.indptr + i, X.indices, X.values, 1, X.cols};
  };
  return {X.rows, X.cols, entries, row, [y](std::size_t i) { return y[i]; }};
}

Steps LabelClusters::gather(const LabelledRows& all, const Bank& bank) {
  const std::size_t labels = begin_.size() - 1;
  const bool wide = all.cols > all.entries;
  FeatureIndex known;  // where rows are wide
  ExampleBuffer example;
  left_.resize(std::min(all.cols, all.entries), 0.0f);
  right_.resize(left_.size(), 0.0f);
  std::vector<std::size_t> first(labels + 1, 0);  // of each label's rows, in the array of all
  for (std::size_t row = 0; row < all.rows; ++row) {
    for (const LabelId label : all.labels(row)) ++first[label + 1];
  }
  for (std::size_t label = 0; label < labels; ++label) first[label + 1] += first[label];
  std::vector<std::size_t> rows(first[labels]), next(first.begin(), first.end() - 1);
  for (std::size_t row = 0; row < all.rows; ++row) {
    for (const LabelId label : all.labels(row)) rows[next[label]++] = row;
  }
  for (LabelId label = 0; label < labels; ++label) {
    begin_[label] = entries_.size();
    if (first[label] == first[label + 1]) continue;
    labels_.push_back(label);
    for (std::size_t i = first[label]; i < first[label + 1]; ++i) {
      std::size_t entries = 1;
      visit_row(all.row(rows[i]), bank, example, [&](std::size_t feature, float value) {
        ++entries;
        if (wide) feature = known.add(static_cast<std::uint32_t>(feature)) - 1;
        if (left_[feature] == 0.0f) touched_.push_back(static_cast<std::uint32_t>(feature));
        left_[feature] += value;
      });
      if (pace_.is_full(entries)) co_await Steps::pause;
    }
    double squares = 0.0;
    for (const std::uint32_t feature : touched_) {
      if (left_[feature] == 0.0f) continue;  // cancelled out, or noted twice
      squares += double{left_[feature]} * left_[feature];
      entries_.push_back({feature, left_[feature]});
      left_[feature] = 0.0f;
    }
    touched_.clear();
    const auto scale = static_cast<float>(squares > 0.0 ? 1.0 / std::sqrt(squares) : 0.0);
    for (std::size_t i = begin_[label]; i < entries_.size(); ++i) entries_[i].value *= scale;
  }
  begin_[labels] = entries_.size();
}

void LabelClusters::add(LabelId label, std::vector<float>& sum) {
  for (const Entry& entry : centroid(label)) {
    if (left_[entry.feature] == 0.0f && right_[entry.feature] == 0.0f) {
      touched_.push_back(entry.feature);
    }
    sum[entry.feature] += entry.value;
  }
}

// Puts the labels that are nearer to the left sum than to the right one first.
Steps LabelClusters::sort_by(std::span<LabelId> labels, std::size_t left) {
  double left_squares = 0.0, right_squares = 0.0;
  for (const std::uint32_t i : touched_) {
    left_squares += double{left_[i]} * left_[i];
    right_squares += double{right_[i]} * right_[i];
  }
  const auto inverse = [](double squares) {
    return static_cast<float>(squares > 0.0 ? 1.0 / std::sqrt(squares) : 0.0);
  };
  const float l = inverse(left_squares), r = inverse(right_squares);
  scored_.clear();
  for (const LabelId label : labels) {
    float score = 0.0f;
    for (const Entry& entry : centroid(label)) {
      score += entry.value * (r * right_[entry.feature] - l * left_[entry.feature]);
    }
    scored_.emplace_back(score, label);
    if (pace_.is_full(centroid(label).size())) co_await Steps::pause;
  }
  std::nth_element(scored_.begin(), scored_.begin() + static_cast<std::ptrdiff_t>(left),
                   scored_.end());
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = scored_[i].second;
  for (const std::uint32_t i : touched_) left_[i] = right_[i] = 0.0f;
  touched_.clear();
}

Steps LabelClusters::split(std::span<LabelId> labels, std::size_t left) {
  if (left == 0 || left >= labels.size()) co_return;
  const auto random_label = [&] {
    return labels[next_random(random_) % labels.size()];
  };
  add(random_label(), left_);
  add(random_label(), right_);
  for (int round = 1; round <= rounds; ++round) {
    for (Steps sorting = sort_by(labels, left); sorting.next();) co_await Steps::pause;
    for (std::size_t i = 0; round < rounds && i < labels.size(); ++i) {
      add(labels[i], i < left ? left_ : right_);
      if (pace_.is_full(centroid(labels[i]).size())) co_await Steps::pause;
    }
  }
}

}  // namespace labeltree
