// Rows of a stream, kept to be learned again.
//
// A sample of all rows so far, each about as likely to be in it as any other (Vitter's algorithm R, for
// rows of different length), in a bounded amount of memory. Everything random comes from one saved state, so that a stream that is resumed
// draws what it would have drawn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "labels.hpp"
#include "matrix.hpp"
#include "state.hpp"
#include "tree/dual_pairs.hpp"
#include "tree/forgotten.hpp"

namespace labeltree {

class Reservoir {
 public:
  Reservoir(std::size_t bytes, std::uint64_t seed) : limit_(bytes), random_(seed) {}

  // A row as it came.
  struct Content {
    float weight = 0.0f;
    std::vector<std::uint32_t> features;  // of a sparse row
    std::vector<float> values;
    std::vector<LabelId> labels;
    std::int64_t ends[2] = {0, 0};        // of the features

    bool dense() const { return features.size() != values.size(); }
    Matrix matrix(std::size_t cols) const {
      return {dense() ? nullptr : ends, features.data(), values.data(), 1, cols};
    }
  };
  struct Row {
    std::uint64_t number = 0;    // of all rows that were added or not
    std::shared_ptr<Content> content;
    std::vector<DualPair> pairs;  // what the dual rule remembers of it
  };

  bool is_kept() const { return limit_ > 0; }
  bool empty() const { return rows_.empty(); }
  const std::vector<Row>& rows() const { return rows_; }
  std::size_t bytes() const { return bytes_; }
  std::uint64_t seen() const { return seen_; }  // rows, kept or not

  // Adds a row, or not, as chance will have it; others make room for it.
  void add(const Matrix& X, std::size_t row, std::span<const LabelId> labels, float weight,
           std::span<const DualPair> pairs);

  // Gives any of the rows, of which there must be one; returns its place.
  std::size_t draw(Row& out);
  // Has the row that was drawn remember other pairs, if it is still in its place.
  void keep_pairs(std::size_t place, const Row& drawn, std::span<const DualPair> pairs);

  // Takes labels and models out of the rows, and rows that are left without a label. Returns how many
  // stay of the first `counted`.
  std::size_t forget(const Forgotten& forgotten, const GivenUp& given_up, std::size_t counted);

  void visit_state(StateVisitor& state, std::size_t features, std::size_t labels,
                   std::size_t models);

 private:
  static std::size_t size_of(const Row& row);
  void make_room(std::size_t bytes);

  std::size_t limit_;         // bytes
  std::size_t bytes_ = 0;
  std::uint64_t random_;
  std::uint64_t seen_ = 0;    // rows
  std::vector<Row> rows_;
};

}  // namespace labeltree
