// Lines of weights for prediction only. They may lie in a file that is mapped into memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "linear/example.hpp"
#include "linear/found_lines.hpp"
#include "linear/line_groups.hpp"
#include "linear/line_weights.hpp"
#include "shared_array.hpp"
#include "state.hpp"

namespace labeltree {

// What is left of LineWeights: no gradient sums, no weights that hardly matter, no lanes and no lines
// without weights, and a code for each weight (weight_codes.hpp).
//
// The lines of the table are taken in groups of sixteen. A group has a bit for each, whether it is used,
// and a run of bytes: for each used line which lanes it has, a bit each; then the codes of all these
// lanes. A line is found by counting the bits before its own, and a line that is not used costs no access
// to the bytes at all. Codes of one byte become whole lines (whole_lines.hpp) where they are brought into
// memory.
class FrozenLineWeights {
 public:
  explicit FrozenLineWeights(LineMap map) : map_(map) {}  // to be restored
  // Weights that matter least are left out, and the others have a byte each; or two if keep is 1, and none is.
  FrozenLineWeights(const LineWeights& weights, std::size_t models, float keep);

  std::uint64_t key(std::uint64_t feature) const { return map_.key(feature); }
  // Asks for what tells where the lines of a block are, before they are found, and for the lines then.
  void prefetch(std::size_t block, const Example& x) const;
  void find(std::size_t block, const Example& x, FoundLines& found) const;
  bool keeps_near() const { return false; }  // such blocks are unpacked
  float dot(std::size_t model, const Example& x) const;
  // By what was found, which is void thereafter.
  void dot8(std::size_t block, const Example& x, FoundLines& found, float* p) const;

  // Whether it pays, for so many look-ups of features of one block, to unpack its lines: eight numbers
  // for each feature. The same sums come of them.
  bool is_worth_unpacking(std::size_t look_ups) const;
  void unpack(std::size_t block, AlignedFloats& lines) const;
  static constexpr std::size_t together = 4;  // examples, at most
  void dot8_unpacked(std::size_t block, const AlignedFloats& lines, std::span<const Example> x,
                     float* const* p) const;

  void visit_state(StateVisitor& state, const std::string& name, std::size_t models);

 private:
  template <class Code>
  void pack(const LineWeights& weights, std::size_t lines, float keep);
  void make_whole();
  FrozenLineWeights packed(std::size_t lines) const;
  void visit_groups(StateVisitor& state, const std::string& name, std::size_t lines);

  LineMap map_;
  std::uint64_t code_size_ = 1;
  float scale_ = 1.0f;
  AlignedArray<LineGroup> groups_;
  SharedArray<std::uint8_t> bytes_;
  bool are_whole_ = false;
};

}  // namespace labeltree
