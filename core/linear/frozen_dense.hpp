// Rows of weights for prediction only. They may lie in a file that is mapped into memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
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

  // Whether it pays, for so many values of examples that one block is asked for, to unpack its rows. The
  // same sums come of them.
  bool is_worth_unpacking(std::size_t values) const { return values >= 8 * stride_; }
  void unpack(std::size_t block, AlignedFloats& rows) const;
  static constexpr std::size_t together = 1;  // examples, at most
  void dot8_unpacked(std::size_t block, const AlignedFloats& rows, std::span<const Example> x,
                     float* const* p) const;

  void visit_state(StateVisitor& state, const std::string& name, std::size_t models);

 private:
  template <class Code>
  void unpack_rows(const SharedArray<Code>& table, std::size_t row, std::size_t n,
                   float* rows) const;
  template <class Weight>
  void dot_dense(const Weight* w, std::size_t n, const Example& x, float* p) const;
  void put_lanes(std::size_t block, const float* of_row, float* p) const;
  unsigned lanes(std::size_t block) const {
    return used_.groups()[block / 4].used >> (block % 4 * 8) & 0xff;
  }
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
