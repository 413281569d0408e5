// Labels put beside those they resemble, where all rows are known beforehand.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "labels.hpp"
#include "linear/bank.hpp"
#include "matrix.hpp"

namespace labeltree {

// The mean direction of the rows of each label, and balanced clustering by it. Memory is as large as
// the rows, whatever number their features have.
class LabelClusters {
 public:
  // Where the bank weighs rows, they are those that it encodes, else as they are.
  LabelClusters(const Matrix& X, const LabelSets& y, std::size_t labels, const Bank& bank,
                std::uint64_t seed);

  // Labels that have a row.
  const std::vector<LabelId>& labels() const { return labels_; }

  // Reorders labels by spherical 2-means so that the first `left` of them are one cluster and the
  // others the second. Takes time proportional to the entries of their centroids.
  void split(std::span<LabelId> labels, std::size_t left);

 private:
  struct Entry {
    std::uint32_t feature;  // numbered anew where the rows have few of the features
    float value;
  };
  void add(LabelId label, std::vector<float>& sum);
  void sort_by(std::span<LabelId> labels, std::size_t left);
  std::span<const Entry> centroid(LabelId label) const {
    return {entries_.data() + begin_[label], entries_.data() + begin_[label + 1]};
  }

  std::uint64_t random_;
  std::vector<LabelId> labels_;
  std::vector<Entry> entries_;
  std::vector<std::size_t> begin_;
  // Memory of a split: the sums of the two sides, the features they have, and labels by score.
  std::vector<float> left_, right_;
  std::vector<std::uint32_t> touched_;
  std::vector<std::pair<float, LabelId>> scored_;
};

}  // namespace labeltree
