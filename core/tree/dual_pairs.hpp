// What the dual rule remembers of the rows: the models each was shown to, and its dual variables.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "labels.hpp"
#include "linear/bank.hpp"
#include "linear/block_predictions.hpp"
#include "state.hpp"
#include "tree/forgotten.hpp"

namespace labeltree {

// A model, and the dual variable of a row for it, with the sign of the target, also when it is zero.
struct DualPair {
  std::uint32_t model;
  float alpha;
};

// The pairs of one row.
class RowPairs {
 public:
  // Adds a model that asks for the row, or against it, unless it is there.
  void add(std::size_t model, bool target);
  // Ends adding; the pairs are in the order of their models from then on.
  void settle();
  // Takes one exact step for each pair.
  void learn(const ExampleBuffer& example, float weight, const Rule& rule, Bank& bank,
             BlockPredictions& blocks);

  std::size_t size() const { return pairs_.size(); }
  void assign(std::span<const DualPair> pairs) { pairs_.assign(pairs.begin(), pairs.end()); }
  std::span<const DualPair> all() const { return pairs_; }

 private:
  std::vector<DualPair> pairs_;
};

// Those of rows that will come again, by the numbers of the rows: 8 bytes a pair. Rows for which
// there is no memory left are not kept. Threads may keep different rows at once.
class KeptPairs {
 public:
  static constexpr std::size_t limit = std::size_t{1} << 30;  // bytes

  void reset();
  // Makes room for rows below this number.
  void resize(std::size_t rows);

  std::span<const DualPair> of(std::size_t row) const;
  void keep(std::size_t row, std::span<const LabelId> labels, const RowPairs& pairs);
  // Whether a row may be the one that was kept: with other labels it is not.
  bool may_be(std::size_t row, std::span<const LabelId> labels) const;

  // Whether the row has the pairs that it had when it was kept last.
  bool is_settled(std::size_t row) const { return row < rows_.size() && !rows_[row].empty() && marks_[row] != 0; }
  std::size_t bytes() const { return bytes_ + rows_.size() * (sizeof rows_[0] + sizeof marks_[0]); }
  // Takes models away. Labels have other ids then, so that rows are no more known by them.
  void forget(const GivenUp& given_up);

  void visit_state(StateVisitor& state, std::size_t models);

 private:
  static std::uint32_t mark(std::span<const LabelId> labels);

  std::vector<std::vector<DualPair>> rows_;
  std::vector<std::uint32_t> marks_;  // of the labels of each row; 0 if it is not kept
  std::atomic<std::size_t> bytes_ = 0;
};

}  // namespace labeltree
