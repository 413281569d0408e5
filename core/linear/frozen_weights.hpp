// Weights for prediction only: bfloat16, no gradient sums, and of a hash table that is mostly empty
// only the lines that are not all zero. They may lie in a file that is mapped into memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "linear/bfloat16.hpp"
#include "linear/dense_weights.hpp"
#include "linear/example.hpp"
#include "linear/line_weights.hpp"
#include "shared_array.hpp"
#include "state.hpp"
#include "used_bits.hpp"

namespace labeltree {

// What is left of DenseWeights: a row of weights for each model, or, if few have learned anything, for
// those.
class FrozenDenseWeights {
 public:
  explicit FrozenDenseWeights(std::size_t features);  // to be restored
  // Weights of at most `drop` in magnitude count as zero.
  FrozenDenseWeights(std::size_t features, const DenseWeights& weights, std::size_t models,
                     float drop);

  std::uint64_t key(std::uint64_t feature) const { return feature; }
  float dot(std::size_t model, const Example& x) const;
  void dot8(std::size_t block, const Example& x, float* p) const;

  void visit_state(StateVisitor& state, const std::string& name, std::size_t models);

 private:
  const bfloat16* row(std::size_t model) const;

  std::size_t stride_;
  UsedBits used_;  // of the models; empty if all are kept
  SharedArray<bfloat16> table_;
};

// What is left of LineWeights: all lines, or, of a table that is mostly empty, those that are not all
// zero, in their order. Such a line is found by counting the used ones before it; one that
// is not used costs no access to the lines at all.
class FrozenLineWeights {
 public:
  explicit FrozenLineWeights(LineMap map) : map_(map), used_(0) {}  // to be restored
  // Exact weights of at most `drop` in magnitude count as zero, and hashed lines that have no other.
  FrozenLineWeights(const LineWeights& weights, std::size_t models, float drop);

  std::uint64_t key(std::uint64_t feature) const { return map_.key(feature); }
  void prefetch(std::size_t block, const Example& x) const;
  float dot(std::size_t model, const Example& x) const;
  void dot8(std::size_t block, const Example& x, float* p) const;

  void visit_state(StateVisitor& state, const std::string& name, std::size_t models);

 private:
  LineMap map_;
  UsedBits used_;                // of the table's lines; empty if all are kept
  SharedArray<bfloat16> lines_;  // eight models each
};

}  // namespace labeltree
