// Lines of weights that an example is about to read.
#pragma once

#include <cstddef>
#include <cstdint>

namespace labeltree {

// The lines of one block for the first features of an example. They are found, and asked for, while
// others are worked on: their misses overlap. While weights are learned there is one for each of these
// features, a line of zeros where none was written; frozen, only for those that have one.
struct FoundLines {
  static constexpr std::size_t most = 64;  // features looked at

  std::size_t size = 0;
  const void* at[most];        // its weights; frozen: the bytes of its group
  std::uint32_t used[most];    // frozen: lines of the group
  std::uint32_t before[most];  // frozen: bits of those before this one
  float value[most];           // frozen: that of the feature
};

}  // namespace labeltree
