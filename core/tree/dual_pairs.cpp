#include "tree/dual_pairs.hpp"

#include <algorithm>
#include <cmath>

#include "hash.hpp"

namespace labeltree {
namespace {

bool by_model(const DualPair& a, const DualPair& b) { return a.model < b.model; }

}  // namespace

void RowPairs::add(std::size_t model, bool target) {
  pairs_.push_back({static_cast<std::uint32_t>(model), target ? 0.0f : -0.0f});
}

// Pairs that were there before come first among equals, and stay.
void RowPairs::settle() {
  std::stable_sort(pairs_.begin(), pairs_.end(), by_model);
  const auto same = [](const DualPair& a, const DualPair& b) { return a.model == b.model; };
  pairs_.erase(std::unique(pairs_.begin(), pairs_.end(), same), pairs_.end());
}

void RowPairs::learn(const ExampleBuffer& example, float weight, const Rule& rule, Bank& bank,
                     BlockPredictions& blocks) {
  blocks.clear();
  for (std::size_t i = 0; i < pairs_.size(); ++i) {
    if (i == 0 || pairs_[i].model / 8 != pairs_[i - 1].model / 8) blocks.ask(pairs_[i].model / 8, 0);
  }
  blocks.answer(bank, example);
  for (std::size_t next = 0, answer = 0; next < pairs_.size(); ++answer) {
    const std::size_t first = next, block = pairs_[first].model / 8;
    float y[8] = {}, alpha[8] = {};
    unsigned active = 0;
    for (; next < pairs_.size() && pairs_[next].model / 8 == block; ++next) {
      const unsigned lane = pairs_[next].model % 8;
      y[lane] = std::signbit(pairs_[next].alpha) ? -1.0f : 1.0f;
      alpha[lane] = std::abs(pairs_[next].alpha);
      active |= 1u << lane;
    }
    bank.learn8(block, example[0], blocks[answer], y, weight, rule, active, alpha);
    for (std::size_t i = first; i < next; ++i) {
      const unsigned lane = pairs_[i].model % 8;
      pairs_[i].alpha = std::copysign(alpha[lane], y[lane]);
    }
  }
}

void KeptPairs::reset() {
  rows_ = {};
  marks_ = {};
  bytes_ = 0;
}

void KeptPairs::resize(std::size_t rows) {
  constexpr std::size_t most = limit / 128;  // a row has more than that
  if (rows <= rows_.size()) return;
  rows_.resize(std::min(rows, most));
  marks_.resize(rows_.size(), 0);
}

std::span<const DualPair> KeptPairs::of(std::size_t row) const {
  return row < rows_.size() ? std::span<const DualPair>(rows_[row]) : std::span<const DualPair>();
}

// Of a set of labels, whatever their order; never 0.
std::uint32_t KeptPairs::mark(std::span<const LabelId> labels) {
  std::uint64_t sum = 0;
  for (const LabelId label : labels) sum += mix64(label + std::uint64_t{1});
  return static_cast<std::uint32_t>(mix64(sum)) | 1u;
}

bool KeptPairs::may_be(std::size_t row, std::span<const LabelId> labels) const {
  return row >= marks_.size() || marks_[row] == 0 || marks_[row] == mark(labels);
}

void KeptPairs::keep(std::size_t row, std::span<const LabelId> labels, const RowPairs& pairs) {
  if (row >= rows_.size()) return;
  std::vector<DualPair>& kept = rows_[row];
  const std::size_t more = (std::max(pairs.size(), kept.size()) - kept.size()) * sizeof(DualPair);
  if (bytes_.load(std::memory_order_relaxed) + more > limit) return;
  bytes_.fetch_add(more, std::memory_order_relaxed);
  kept.assign(pairs.all().begin(), pairs.all().end());
  marks_[row] = mark(labels);
}

void KeptPairs::forget(const GivenUp& given_up) {
  bytes_ = 0;
  for (std::vector<DualPair>& row : rows_) {
    std::erase_if(row, [&](const DualPair& pair) { return given_up.has(pair.model); });
    bytes_ += row.size() * sizeof(DualPair);
  }
  std::fill(marks_.begin(), marks_.end(), 0u);
}

void KeptPairs::visit_state(StateVisitor& state, std::size_t models) {
  std::vector<std::uint64_t> end;
  std::vector<std::uint32_t> model;
  std::vector<float> alpha;
  for (const std::vector<DualPair>& row : rows_) {
    for (const DualPair& pair : row) {
      model.push_back(pair.model);
      alpha.push_back(pair.alpha);
    }
    end.push_back(model.size());
  }
  state.array("pairs_end", end);
  state.array("pairs_model", model);
  state.array("pairs_alpha", alpha);
  std::vector<std::uint32_t> marks = marks_;
  state.array("pairs_labels", marks);
  if (!state.restoring()) return;
  const auto require = StateVisitor::require;
  require(marks.size() == end.size() && model.size() == alpha.size() && (end.empty() ? 0 : end.back()) == model.size() &&
              std::is_sorted(end.begin(), end.end()),
          "the saved dual variables do not fit their rows");
  reset();
  resize(end.size());
  require(rows_.size() == end.size(), "the saved dual variables are of too many rows");
  marks_ = marks;
  for (std::size_t row = 0, begin = 0; row < end.size(); ++row) {
    for (std::size_t i = begin; i < end[row]; ++i) {
      require(model[i] < models && (i == begin || model[i - 1] < model[i]),
              "the saved dual variables are of models that do not exist");
      rows_[row].push_back({model[i], alpha[i]});
    }
    bytes_ += rows_[row].size() * sizeof(DualPair);
    begin = end[row];
  }
}

}  // namespace labeltree
