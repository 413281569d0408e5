// Labels put beside those they resemble, where their rows are known beforehand.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "labels.hpp"
#include "linear/bank.hpp"
#include "matrix.hpp"
#include "steps.hpp"

namespace labeltree {

// Rows with their labels, wherever they are.
struct LabelledRows {
  std::size_t rows;
  std::size_t cols;
  std::size_t entries;  // of all rows; of dense ones, of one
  std::function<Matrix(std::size_t)> row;  // as a matrix of that row alone
  std::function<std::span<const LabelId>(std::size_t)> labels;
};
LabelledRows labelled_rows(const Matrix& X, const LabelSets& y);

// The mean direction of the rows of each label, and balanced clustering by it. Memory is as large as
// the rows, whatever number their features have.
class LabelClusters {
 public:
  LabelClusters(std::size_t labels, std::uint64_t seed, Pace pace)
      : random_(seed), pace_(pace), begin_(labels + 1, 0) {}

  // Adds up the rows of each label. Where the bank weighs rows, they are those that it encodes,
  // else as they are. All that is passed must last until the work is done, here and below.
  Steps gather(const LabelledRows& rows, const Bank& bank);

  // Labels that have a row.
  const std::vector<LabelId>& labels() const { return labels_; }

  // Reorders labels by spherical 2-means so that the first `left` of them are one cluster and the
  // others the second. Takes time proportional to the entries of their centroids.
  Steps split(std::span<LabelId> labels, std::size_t left);

 private:
  struct Entry {
    std::uint32_t feature;  // numbered anew where the rows have few of the features
    float value;
  };
  void add(LabelId label, std::vector<float>& sum);
  Steps sort_by(std::span<LabelId> labels, std::size_t left);
  std::span<const Entry> centroid(LabelId label) const {
    return {entries_.data() + begin_[label], entries_.data() + begin_[label + 1]};
  }

  std::uint64_t random_;
  Pace pace_;
  std::vector<LabelId> labels_;
  std::vector<Entry> entries_;
  std::vector<std::size_t> begin_;
  // Memory of a split: the sums of the two sides, the features they have, and labels by score.
  std::vector<float> left_, right_;
  std::vector<std::uint32_t> touched_;
  std::vector<std::pair<float, LabelId>> scored_;
};

}  // namespace labeltree
