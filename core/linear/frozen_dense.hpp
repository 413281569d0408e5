// Rows of weights for prediction only. They may lie in a file that is mapped into memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "linear/bfloat16.hpp"
#include "linear/dense_weights.hpp"
#include "linear/example.hpp"
#include "shared_array.hpp"
#include "state.hpp"
#include "used_bits.hpp"

namespace labeltree {

// What is left of DenseWeights: a row of codes for each model that has learned anything. In two bytes a weight is a bfloat16; in one it is a whole number from -127 to 127, times a scale that
// its row has: weights of dense features are of about the same size.
class FrozenDenseWeights {
 public:
  explicit FrozenDenseWeights(std::size_t features);  // to be restored
  // A byte for each weight, or two if keep is 1.
  FrozenDenseWeights(std::size_t features, const DenseWeights& weights, std::size_t models,
                     float keep);

  std::uint64_t key(std::uint64_t feature) const { return feature; }
  float dot(std::size_t model, const Example& x) const;
  void dot8(std::size_t block, const Example& x, float* p) const;

  void visit_state(StateVisitor& state, const std::string& name, std::size_t models);

 private:
  template <class Code>
  void dot_rows(const SharedArray<Code>& table, std::size_t row, std::size_t n, const Example& x,
                float* p) const;

  std::size_t stride_;
  UsedBits used_;  // of the models
  std::uint64_t code_size_ = 1;
  SharedArray<std::uint8_t> bytes_;    // one of the two, by the size of codes
  SharedArray<bfloat16> bfloats_;
  SharedArray<float> scale_;           // of each row of bytes
};

}  // namespace labeltree
