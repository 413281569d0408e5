// Where the weights of eight models for one feature are in a table of such lines.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hash.hpp"
#include "inline.hpp"

namespace labeltree {

// The lines of one block of eight models. It fits into two registers: memory that was written number by
// number and is then copied whole has the processor wait for all that it was to read before.
struct Address {
  std::uint64_t first;  // exact: the line of feature 0; hashed: a number of the block, any
  unsigned shift;       // hashed: of 64 bits, those that are too many for a line; 0 if exact
  // Hashed: XOR alone would make two features that meet in one block meet in every block; the
  // multiplication by an odd number parts them.
  LABELTREE_INLINE std::size_t line(std::uint64_t key) const {
    constexpr std::uint64_t odd = 0x9e3779b97f4a7c15u;
    return static_cast<std::size_t>(shift == 0 ? first + key : ((key ^ first) * odd) >> shift);
  }
};

// Exact: every feature of every block has a line of its own, those of a block one after the other.
// Hashed: block and feature are hashed as a pair into a table of fixed size, so any feature may
// meet any line; two pairs that meet share it, lane by lane.
class LineMap {
 public:
  static LineMap exact(std::size_t features) { return LineMap(features, 0); }
  static LineMap hashed(unsigned bits) { return LineMap(0, bits); }  // 2^bits weights

  static std::uint64_t hash(std::uint64_t feature) { return mix64(feature + 1); }
  std::uint64_t key(std::uint64_t feature) const { return is_exact() ? feature : hash(feature); }

  Address address(std::size_t block) const {
    if (is_exact()) return {block * features_, 0};
    return {mix64(~std::uint64_t{block}), 64 - (bits_ - 3)};
  }

  bool is_exact() const { return bits_ == 0; }
  std::size_t lines(std::size_t models) const {
    return is_exact() ? (models + 7) / 8 * features_ : std::size_t{1} << (bits_ - 3);
  }

 private:
  LineMap(std::size_t features, unsigned bits) : features_(features), bits_(bits) {}

  std::size_t features_;
  unsigned bits_;
};

}  // namespace labeltree
