// Examples as the trees of LdSM see them, and those that are kept of a stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "linear/example.hpp"
#include "state.hpp"
#include "tree/ldsm_regressors.hpp"
#include "tree/ldsm_tree.hpp"

namespace labeltree {

// Rows encoded by the bank, as sparse rows.
class LdsmRows {
 public:
  void clear();
  void add(const Example& x);
  std::size_t size() const { return squared_norm_.size(); }
  // Multiplies all values of each feature i by scale[i].
  void multiply(const LdsmScale& scale);
  // The weights log(n / n_i) + 0.1 of the features, raised to the power `idf`, relative to their mean;
  // n_i of the n rows have feature i. Those from `features` on, the constant, have weight 1.
  LdsmScale inverse_frequencies(double idf, std::size_t features) const;
  // Without labels, of weight 1. Void once a row is added.
  LdsmExample operator[](std::size_t row) const;

 private:
  std::vector<std::size_t> offset_{0};
  std::vector<std::uint32_t> feature_;
  std::vector<float> value_;
  std::vector<float> squared_norm_;
};

// The most recent examples of a stream, numbered from 0 on; number i is at place i % capacity.
class LdsmRecent {
 public:
  explicit LdsmRecent(std::size_t capacity) : capacity_(capacity) {}

  // Keeps a copy and returns its number.
  std::uint64_t add(const LdsmExample& x);
  std::uint64_t end() const { return end_; }

  LdsmExamples view(float rate) const;

  // `features_end` is one more than the largest number of a feature.
  void visit_state(StateVisitor& state, std::size_t labels, std::uint64_t features_end);

 private:
  struct Kept {
    std::vector<std::uint32_t> feature;
    std::vector<float> value;
    std::vector<LabelId> labels;
  };

  std::size_t capacity_;
  std::uint64_t end_ = 0;
  std::vector<Kept> kept_;
  std::vector<LdsmExample> views_;  // of `kept_`
};

}  // namespace labeltree
