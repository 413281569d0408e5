// The candidates of rows that will come again.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "labels.hpp"
#include "state.hpp"

namespace labeltree {

// Where what proposes candidates no longer changes, those of a row need not be looked for again.
// Each row has a place of its own, so that threads may keep different rows at once; rows from a
// limit of memory on are not kept.
class KeptCandidates {
 public:
  // Forgets all, and makes room for `rows` rows of at most `most` candidates.
  void reset(std::size_t rows, std::size_t most) {
    constexpr std::size_t limit = std::size_t{1} << 28;  // bytes
    *this = {};
    most_ = std::max<std::size_t>(most, 1);
    const std::size_t kept = std::min(rows, limit / (most_ * (sizeof(LabelId) + sizeof(float))));
    label_.resize(kept * most_);
    evidence_.resize(kept * most_);
    size_.resize(kept, 0);
    rows_ = rows;
  }

  std::size_t rows() const { return rows_; }

  bool has(std::size_t row) const { return row < size_.size() && size_[row] > 0; }

  void keep(std::size_t row, std::span<const LabelId> labels, std::span<const float> evidence) {
    if (row >= size_.size() || labels.size() > most_) return;
    size_[row] = static_cast<std::uint32_t>(labels.size());
    std::copy(labels.begin(), labels.end(), label_.data() + row * most_);
    std::copy(evidence.begin(), evidence.end(), evidence_.data() + row * most_);
  }

  void restore(std::size_t row, std::vector<LabelId>& labels, std::vector<float>& evidence) const {
    const std::size_t begin = row * most_;
    labels.assign(label_.data() + begin, label_.data() + begin + size_[row]);
    evidence.assign(evidence_.data() + begin, evidence_.data() + begin + size_[row]);
  }

  // Of `most` candidates a row at most, of so many labels.
  void visit_state(StateVisitor& state, std::size_t most, std::size_t labels) {
    std::uint64_t rows = rows_;
    std::vector<std::uint32_t> size = size_, label;
    std::vector<float> evidence;
    if (!state.restoring()) {
      const std::size_t all = std::accumulate(size.begin(), size.end(), std::size_t{0});
      label.reserve(all);
      evidence.reserve(all);
    }
    for (std::size_t row = 0; row < size.size(); ++row) {
      const std::size_t begin = row * most_;
      label.insert(label.end(), label_.data() + begin, label_.data() + begin + size[row]);
      evidence.insert(evidence.end(), evidence_.data() + begin,
                      evidence_.data() + begin + size[row]);
    }
    state.value("candidates_rows", rows);
    state.array("candidates_size", size);
    state.made("candidates_label", label);
    state.made("candidates_evidence", evidence);
    if (!state.restoring()) return;
    std::uint64_t all = 0;
    for (const std::uint32_t each : size) all += each;
    const auto is_label = [labels](LabelId id) { return id < labels; };
    StateVisitor::require(size.size() <= rows && label.size() == all && evidence.size() == all &&
                              std::all_of(label.begin(), label.end(), is_label) &&
                              std::all_of(size.begin(), size.end(),
                                          [most](std::uint32_t each) { return each <= most; }),
                          "the saved candidates do not fit their rows");
    reset(size.size(), most);
    StateVisitor::require(size_.size() == size.size(), "the saved candidates are of too many rows");
    rows_ = rows;
    for (std::size_t row = 0, begin = 0; row < size.size(); begin += size[row++]) {
      keep(row, {label.data() + begin, size[row]}, {evidence.data() + begin, size[row]});
    }
  }

 private:
  std::size_t rows_ = 0;  // that there was to be room for
  std::size_t most_ = 1;
  std::vector<std::uint32_t> size_;  // of each row; 0 if it is not kept
  std::vector<LabelId> label_;       // `most_` for each row
  std::vector<float> evidence_;
};

}  // namespace labeltree
