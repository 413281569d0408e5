// Weights in lines: for one feature, those of eight models side by side.
#pragma once

#include <cstddef>
#include <cstdint>

#include "aligned.hpp"
#include "linear/example.hpp"
#include "linear/line_map.hpp"
#include "linear/weight.hpp"

namespace labeltree {

// One cache line holds, for one feature, the weights and gradient sums of a block of eight models
// with consecutive ids: a single miss serves all of them. The choice for sparse features.
class LineWeights {
 public:
  static constexpr unsigned smallest_bits = 10;
  static constexpr unsigned largest_bits = 34;

  explicit LineWeights(LineMap map);

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
    float* line = table_.data() + 16 * map_.address(model / 8).line(key) + model % 8;
    return {line[0], line[8]};
  }

  AlignedFloats& table() { return table_; }
  const AlignedFloats& table() const { return table_; }
  std::size_t row_size() const { return 16; }

 private:
  LineMap map_;
  AlignedFloats table_;
};

}  // namespace labeltree
