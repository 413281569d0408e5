#include "linear/whole_lines.hpp"

#include <bit>
#include <cstring>

#include "linear/simd.hpp"
#include "linear/weight_codes.hpp"

namespace labeltree::whole_lines {
namespace {

using simd::f32x8;
using simd::i32x8;

// The weights of a line, but for the scale: the cubes of its codes. The two words of the line, four
// times, have each code in a lane of its own (`place`), from which a shift brings it to the highest place.
LABELTREE_INLINE f32x8 weights_of(const void* line) {
  using u64x4 = std::uint64_t __attribute__((vector_size(32)));
  std::uint64_t codes;
  std::memcpy(&codes, line, sizeof codes);
  const auto words = reinterpret_cast<i32x8>(u64x4{codes, codes, codes, codes});
  const i32x8 lanes = words << i32x8{24, 24, 16, 16, 8, 8, 0, 0};
  const f32x8 q = __builtin_convertvector(lanes >> 24, f32x8);
  return q * q * q;
}

LABELTREE_INLINE void find_here(const LineGroup* groups, const std::uint8_t* lines, Address at,
                                const Example& x, std::size_t begin, FoundLines& found) {
  found.size = visit_used(groups, at, x, begin,
                          [&](std::size_t n, LineGroup group, std::uint32_t before, float value) {
                            found.value[n] = value;
                            const auto place = static_cast<unsigned>(std::popcount(before));
                            const std::uint8_t* line = lines + begin_of(group) + bytes * place;
                            found.at[n] = line;
                            return line;
                          });
}

}  // namespace

LABELTREE_CLONES void find(const LineGroup* groups, const std::uint8_t* lines, Address at,
                           const Example& x, std::size_t begin, FoundLines& found) {
  find_here(groups, lines, at, x, begin, found);
}

LABELTREE_CLONES void dot8(const LineGroup* groups, const std::uint8_t* lines, Address at,
                           const Example& x, FoundLines& found, float scale, float* p) {
  f32x8 sum{};
  for (std::size_t begin = 0;;) {
    for (std::size_t i = 0; i < found.size; ++i) sum += found.value[i] * weights_of(found.at[i]);
    begin += FoundLines::most;
    if (begin >= x.size) break;
    prefetch_groups(groups, at, x, begin);
    find_here(groups, lines, at, x, begin, found);
  }
  simd::store(p, finite(scale * sum));
}

LABELTREE_CLONES void unpack(const LineGroup* groups, const std::uint8_t* lines, Address at,
                             std::size_t n, float* weights) {
  for (std::size_t feature = 0; feature < n; ++feature, weights += 8) {
    const std::size_t line = at.line(feature);
    const LineGroup group = groups[line / group_lines];
    const auto place = static_cast<unsigned>(line % group_lines);
    const int before = std::popcount(used_lines(group) & ((1u << place) - 1));
    const std::uint8_t* own = lines + begin_of(group) + bytes * static_cast<unsigned>(before);
    const auto is_used = static_cast<float>(used_lines(group) >> place & 1);  // no branch on it
    simd::store(weights, is_used * weights_of(own));
  }
}

}  // namespace labeltree::whole_lines
