// Weights in lines: for one feature, those of eight models side by side.
#pragma once

#include <cstddef>
#include <cstdint>

#include "aligned.hpp"
#include "linear/example.hpp"
#include "linear/line_map.hpp"
#include "linear/weight.hpp"

namespace labeltree {

// One line holds, for one feature, the weights of a block of eight models with consecutive ids, and
// behind them their gradient sums if models learn by such: a single miss serves all of them. The
// choice for sparse features.
class LineWeights {
 public:
  static constexpr unsigned smallest_bits = 10;
  static constexpr unsigned largest_bits = 34;

  LineWeights(LineMap map, bool gradient_sums);

  void resize(std::size_t models);
  std::uint64_t key(std::uint64_t feature) const { return map_.key(feature); }
  const LineMap& map() const { return map_; }

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
    float* line = table_.data() + row_size() * map_.address(model / 8).line(key) + model % 8;
    return {line[0], has_sums() ? line + 8 : nullptr};
  }

  AlignedFloats& table() { return table_; }
  const AlignedFloats& table() const { return table_; }
  std::size_t row_size() const { return row_size_; }
  bool has_sums() const { return row_size_ == 16; }

 private:
  LineMap map_;
  std::size_t row_size_;  // floats in a line
  AlignedFloats table_;
};

}  // namespace labeltree
