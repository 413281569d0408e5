// Lines of weights for prediction are taken in groups, of which it is known which lines are used.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "inline.hpp"
#include "linear/example.hpp"
#include "linear/found_lines.hpp"
#include "linear/line_map.hpp"

namespace labeltree {

constexpr unsigned group_lines = 16;

// Which lines of a group are used, in the lower sixteen bits, and above them where its bytes begin.
using LineGroup = std::uint64_t;

LABELTREE_INLINE std::uint32_t used_lines(LineGroup group) {
  return static_cast<std::uint32_t>(group) & 0xffffu;
}
LABELTREE_INLINE std::uint64_t begin_of(LineGroup group) { return group >> 16; }

// Asks for the groups of up to `most` features.
LABELTREE_INLINE void prefetch_groups(const LineGroup* groups, Address at, const Example& x,
                                      std::size_t begin) {
  const std::size_t end = std::min(begin + FoundLines::most, x.size);
  for (std::size_t i = begin; i < end; ++i) {
    __builtin_prefetch(groups + at.line(x.key[i]) / group_lines);
  }
}

// Calls note(n, group, before, value) for up to `most` features, where n counts those of used lines: what
// is noted for one that is not used is overwritten by the next. `before` are the used lines of the group
// before this one, as bits. No branch: whether a line is used is hard to guess.
template <class Note>
LABELTREE_INLINE std::size_t visit_used(const LineGroup* groups, Address at, const Example& x,
                                        std::size_t begin, Note note) {
  const std::size_t end = std::min(begin + FoundLines::most, x.size);
  std::size_t n = 0;
  for (std::size_t i = begin; i < end; ++i) {
    const std::size_t line = at.line(x.key[i]);
    const LineGroup group = groups[line / group_lines];
    const std::uint32_t bit = 1u << (line % group_lines);
    const std::uint8_t* bytes = note(n, group, used_lines(group) & (bit - 1), x.value[i]);
    const std::uintptr_t is_used = (used_lines(group) & bit) != 0;
    __builtin_prefetch(reinterpret_cast<const void*>(  // else of what is near: no bytes are wanted then
        (reinterpret_cast<std::uintptr_t>(bytes) & (0 - is_used)) |
        (reinterpret_cast<std::uintptr_t>(groups) & (is_used - 1))));
    n += is_used;
  }
  return n;
}

}  // namespace labeltree
