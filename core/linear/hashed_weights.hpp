// Weights in a hash table of fixed size, addressed jointly by model and feature.
#pragma once

#include <cstddef>
#include <cstdint>

#include "aligned.hpp"
#include "hash.hpp"
#include "linear/example.hpp"
#include "linear/weight.hpp"

namespace labeltree {

// One cache line holds, for one feature, the weights and gradient sums of a block of eight models
// with consecutive ids: a single miss serves all of them. (block, feature) is hashed as a pair, so
// any feature may meet any slot of the table; two pairs that meet share their line, lane by lane.
class HashedWeights {
 public:
  static constexpr unsigned smallest_bits = 10;
  static constexpr unsigned largest_bits = 34;

  explicit HashedWeights(unsigned bits);

  void resize(std::size_t) {}  // the table has room for every model
  static std::uint64_t key(std::uint64_t feature) { return mix64(feature + 1); }

  // Asks for the lines of a block before they are needed.
  void prefetch(std::size_t block, const Example& x) const;
  float dot(std::size_t model, const Example& x) const;
  void dot8(std::size_t block, const Example& x, float* p) const;
  float accumulate(std::size_t model, const Example& x, float hg2);
  void step(std::size_t model, const Example& x, float u);
  void add(std::size_t model, const Example& x, float u);
  void accumulate8(std::size_t block, const Example& x, const float* hg2, float* kappa);
  void step8(std::size_t block, const Example& x, const float* u);
  void add8(std::size_t block, const Example& x, const float* u);

  WeightRef at(std::size_t model, std::uint64_t key) {
    float* line = table_.data() + address(model / 8).offset(key) + model % 8;
    return {line[0], line[8]};
  }

  AlignedFloats& table() { return table_; }
  const AlignedFloats& table() const { return table_; }
  std::size_t row_size() const { return 16; }

  // Finds the line of one block for any feature.
  struct Address {
    std::uint64_t block_key;
    unsigned shift;
    // XOR alone would make two features that meet in one block meet in every block; the
    // multiplication by an odd number parts them.
    std::size_t line(std::uint64_t key) const {
      return static_cast<std::size_t>(((key ^ block_key) * 0x9e3779b97f4a7c15ULL) >> shift);
    }
    std::size_t offset(std::uint64_t key) const { return 16 * line(key); }
  };
  static Address address(std::size_t block, unsigned bits) {
    return {mix64(~std::uint64_t{block}), 64 - (bits - 3)};
  }

 private:
  Address address(std::size_t block) const { return address(block, bits_); }

  unsigned bits_;
  AlignedFloats table_;
};

}  // namespace labeltree
