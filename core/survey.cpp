#include "survey.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace labeltree {
namespace {

std::size_t entries(const Matrix& X) { return static_cast<std::size_t>(X.indptr[X.rows]); }

// The features of all entries, numbered anew if there may be far more features than entries.
class Features {
 public:
  explicit Features(const Matrix& X) : feature_(X.indices), width_(X.cols) {
    const std::size_t n = entries(X);
    if (X.cols / 16 <= n) return;
    std::vector<std::uint32_t> distinct(X.indices, X.indices + n);
    std::sort(distinct.begin(), distinct.end());
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    number_.reserve(n);
    for (std::size_t i = 0; i < n; ++i) {
      const auto place = std::lower_bound(distinct.begin(), distinct.end(), X.indices[i]);
      number_.push_back(static_cast<std::uint32_t>(place - distinct.begin()));
    }
    feature_ = number_.data();
    width_ = distinct.size();
  }
  Features(const Features&) = delete;

  std::size_t width() const { return width_; }
  std::uint32_t operator[](std::int64_t entry) const { return feature_[entry]; }

 private:
  const std::uint32_t* feature_;
  std::size_t width_;
  std::vector<std::uint32_t> number_;
};

// The rows of each label, one label after the other; those of a label end where those of the next begin.
std::vector<std::size_t> rows_by_label(const LabelSets& y, std::size_t rows, std::size_t labels,
                                       std::vector<std::size_t>& end) {
  end.assign(labels + 1, 0);
  for (std::size_t row = 0; row < rows; ++row) {
    for (const LabelId label : y[row]) ++end[label + 1];
  }
  for (std::size_t label = 0; label < labels; ++label) end[label + 1] += end[label];
  std::vector<std::size_t> by_label(end[labels]);
  for (std::size_t row = 0; row < rows; ++row) {
    for (const LabelId label : y[row]) by_label[end[label]++] = row;
  }
  return by_label;
}

}  // namespace

bool has_unit_rows(const Matrix& X) {
  bool some = false;
  for (std::size_t row = 0; row < X.rows; ++row) {
    const auto begin = X.dense() ? row * X.cols : static_cast<std::size_t>(X.indptr[row]);
    const auto end = X.dense() ? begin + X.cols : static_cast<std::size_t>(X.indptr[row + 1]);
    double squares = 0.0;
    for (std::size_t i = begin; i < end; ++i) squares += double{X.values[i]} * X.values[i];
    if (squares == 0.0) continue;
    if (std::abs(squares - 1.0) >= 0.02) return false;
    some = true;
  }
  return some;
}

std::size_t count_features(const Matrix& X) {
  const Features features(X);
  std::vector<bool> seen(features.width());
  const auto n = static_cast<std::int64_t>(entries(X));
  for (std::int64_t i = 0; i < n; ++i) seen[features[i]] = true;
  return static_cast<std::size_t>(std::count(seen.begin(), seen.end(), true));
}

std::size_t count_pairs(const Matrix& X, const LabelSets& y, std::size_t labels) {
  const Features features(X);
  std::vector<std::size_t> end;
  const std::vector<std::size_t> rows = rows_by_label(y, X.rows, labels, end);
  std::vector<LabelId> last(features.width(), no_label);  // label that each feature was met with
  std::size_t pairs = 0, next = 0;
  for (LabelId label = 0; label < labels; ++label) {
    for (; next < end[label]; ++next) {
      for (std::int64_t i = X.indptr[rows[next]]; i < X.indptr[rows[next] + 1]; ++i) {
        LabelId& met = last[features[i]];
        pairs += met != label;
        met = label;
      }
    }
  }
  return pairs;
}

}  // namespace labeltree
