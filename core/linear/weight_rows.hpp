// Tables of weights as they are saved, the rows that are in use and their numbers, compared and merged.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace labeltree {

// Rows of some length: row i, with the number number[i], which rise, begins at value[i * length].
struct WeightRows {
  std::span<const std::uint64_t> number;
  std::span<const float> value;
};

struct OwnWeightRows {
  std::vector<std::uint64_t> number;
  std::vector<float> value;

  operator WeightRows() const { return {number, value}; }
};

// What a row has: `lane` weights and, behind them, their gradient sums, if there are any.
struct RowForm {
  std::size_t lane;
  bool has_sums;

  std::size_t length() const { return lane * (has_sums ? 2 : 1); }
};

// Compares a table, row by row, with the one it went on from. Rows that either lacks are zeros there.
class Comparison {
 public:
  Comparison(WeightRows base, RowForm form) : base_(base), zeros_(form.length(), 0.0f) {}

  // Calls changed(number, row) if a row of the table is another one than before, and for what was
  // before it and is not any more. Numbers must rise.
  template <class Changed>
  void row(std::uint64_t number, const float* now, Changed changed) {
    pass_over(number, changed);
    const bool known = read_ < base_.number.size() && base_.number[read_] == number;
    const float* before = known ? base_row(read_++) : zeros_.data();
    if (!std::equal(now, now + zeros_.size(), before)) changed(number, now);
  }

  // To be called when the table has no more rows.
  template <class Changed>
  void end(Changed changed) {
    pass_over(~std::uint64_t{0}, changed);
  }

  std::size_t read() const { return read_; }  // how many rows of the base

 private:
  const float* base_row(std::size_t i) const { return base_.value.data() + i * zeros_.size(); }

  template <class Changed>
  void pass_over(std::uint64_t number, Changed changed) {
    for (; read_ < base_.number.size() && base_.number[read_] < number; ++read_) {
      const float* before = base_row(read_);
      if (!std::equal(zeros_.begin(), zeros_.end(), before)) changed(base_.number[read_], zeros_.data());
    }
  }

  WeightRows base_;
  std::vector<float> zeros_;
  std::size_t read_ = 0;
};

// The rows that are not the same in a table as in the one it went on from. Rows that it lacks are zeros.
OwnWeightRows changed_rows(WeightRows table, WeightRows base, RowForm form);

// The base with the rows of several tables, of which no two have the same, put into it. Their rows of
// zeros are left out.
OwnWeightRows with_rows(WeightRows base, std::span<const WeightRows> changed, RowForm form);

// The rows that are changed in any of several tables that went on from one base, merged.
//
// A weight moves from that of the base by the moves of all, weighted by how much its gradient sum grew in
// each. Without sums, it moves by the average of the moves of all tables.
OwnWeightRows merged_moves(std::span<const WeightRows> changed, WeightRows base, RowForm form);

// The average of tables that were trained apart: of a weight by its gradient sums; where there are none
// by the shares of the tables that have it.
OwnWeightRows averaged_rows(std::span<const WeightRows> tables, std::span<const float> share,
                            RowForm form);

}  // namespace labeltree
