// Weights in lines: for one feature, those of eight models side by side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "linear/example.hpp"
#include "linear/found_lines.hpp"
#include "linear/line_map.hpp"
#include "linear/line_table.hpp"
#include "linear/weight.hpp"
#include "state.hpp"

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

  // Asks for the places of the lines of a block before they are found, and for the lines then.
  void prefetch(std::size_t block, const Example& x) const;
  void find(std::size_t block, const Example& x, FoundLines& found) const;
  // Whether the lines of a block stay near while many examples are asked of it: they need not be asked
  // for then.
  bool keeps_near() const {
    return table_.is_direct() && map_.lines(8) * table_.row_size() <= near_floats && map_.is_exact();
  }
  float dot(std::size_t model, const Example& x) const;
  // By what was found, which is void thereafter.
  void dot8(std::size_t block, const Example& x, FoundLines& found, float* p) const;
  float accumulate(std::size_t model, const Example& x, float hg2);
  void step(std::size_t model, const Example& x, float u);
  void add(std::size_t model, const Example& x, float u);
  void accumulate8(std::size_t block, const Example& x, const float* hg2, float* kappa);
  void step8(std::size_t block, const Example& x, const float* u);
  void add8(std::size_t block, const Example& x, const float* u);

  bool is_zero(std::size_t model, std::uint64_t key) const {
    return !table_.is_written(map_.address(model / 8).line(key));
  }
  WeightRef at(std::size_t model, std::uint64_t key) {
    float* lane = table_.write(map_.address(model / 8).line(key)) + model % 8;
    return {lane[0], has_sums() ? lane + 8 : nullptr};
  }

  void visit_state(StateVisitor& state, const std::string& name) { state.lines(name, table_); }
  const LineTable& table() const { return table_; }
  bool has_sums() const { return table_.row_size() == 16; }

 private:
  static constexpr std::size_t near_floats = std::size_t{1} << 16;  // a quarter of a second-level cache

  LineMap map_;
  LineTable table_;
};

}  // namespace labeltree
