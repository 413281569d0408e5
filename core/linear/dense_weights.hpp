// Weights in a dense block: for each model a row of weights, then a row of gradient sums.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "aligned.hpp"
#include "linear/example.hpp"
#include "linear/weight.hpp"
#include "state.hpp"

namespace labeltree {

// Exact and contiguous: the choice for dense features, or when models x features fits in memory.
class DenseWeights {
 public:
  explicit DenseWeights(std::size_t features);

  void resize(std::size_t models);
  std::uint64_t key(std::uint64_t feature) const { return feature; }

  float dot(std::size_t model, const Example& x) const;
  void dot8(std::size_t block, const Example& x, float* p) const;

  // G_i += hg2 x_i^2, returning sum x_i^2 / sqrt(G_i).
  float accumulate(std::size_t model, const Example& x, float hg2);
  // w_i += u x_i / sqrt(G_i).
  void step(std::size_t model, const Example& x, float u);
  // w_i += u x_i.
  void add(std::size_t model, const Example& x, float u);

  // The same for the eight models of a block; a model whose hg2 or u is zero is left alone.
  void accumulate8(std::size_t block, const Example& x, const float* hg2, float* kappa);
  void step8(std::size_t block, const Example& x, const float* u);
  void add8(std::size_t block, const Example& x, const float* u);

  // Whether weight and gradient sum are known to be zero: they take no memory.
  bool is_zero(std::size_t /*model*/, std::uint64_t /*key*/) const { return false; }
  WeightRef at(std::size_t model, std::uint64_t key) {
    return {weights(model)[key], sums(model) + key};
  }

  void visit_state(StateVisitor& state, const std::string& name) {
    state.table(name, table_, row_size());
  }
  const AlignedFloats& table() const { return table_; }
  std::size_t row_size() const { return 2 * stride_; }

 private:
  float* weights(std::size_t model) { return table_.data() + model * 2 * stride_; }
  const float* weights(std::size_t model) const { return table_.data() + model * 2 * stride_; }
  float* sums(std::size_t model) { return weights(model) + stride_; }

  std::size_t stride_;
  AlignedFloats table_;
};

}  // namespace labeltree
