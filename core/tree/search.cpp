#include "tree/search.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "linear/simd.hpp"

namespace labeltree {
namespace kernel {

// How many of n numbers, a multiple of eight, reach a bound.
LABELTREE_INLINE std::size_t count_from(const float* values, std::size_t n, float bound) {
  simd::i32x8 count{};
  for (std::size_t i = 0; i < n; i += 8) count -= simd::load(values + i) >= bound;
  std::uint64_t pairs[4];  // two counts in each
  std::memcpy(pairs, &count, sizeof pairs);
  const std::uint64_t sum = (pairs[0] + pairs[1]) + (pairs[2] + pairs[3]);
  return (sum >> 32) + (sum & 0xffffffffu);
}

}  // namespace kernel

// Found by halving.
LABELTREE_CLONES float bound_of_best(const float* values, std::size_t size, std::size_t n, float low,
                                     float high) {
  for (int step = 0; step < 16; ++step) {
    const float middle = low + (high - low) / 2;
    const std::size_t reach = kernel::count_from(values, size, middle);
    if (reach == n) return middle;
    (reach > n ? low : high) = middle;
  }
  return low;
}

void keep_best(std::vector<Reached>& reached, std::size_t n) {
  if (reached.size() <= n) return;
  constexpr std::size_t few = 256;
  if (reached.size() <= few) {  // quicker than to go by the order of each two
    alignas(32) float values[few];
    float low = 0.0f, high = -std::numeric_limits<float>::infinity();
    for (std::size_t i = 0; i < reached.size(); ++i) {
      values[i] = reached[i].log_probability;
      low = std::min(low, values[i]);
      high = std::max(high, values[i]);
    }
    const std::size_t padded = (reached.size() + 7) / 8 * 8;
    std::fill(values + reached.size(), values + padded, -std::numeric_limits<float>::infinity());
    const float bound = bound_of_best(values, padded, n, low, high);
    std::size_t kept = 0;
    for (std::size_t i = 0; i < reached.size(); ++i) {
      reached[kept] = reached[i];
      kept += values[i] >= bound;
    }
    reached.resize(kept);
    if (kept <= n) return;
  }
  std::nth_element(reached.begin(), reached.begin() + static_cast<std::ptrdiff_t>(n), reached.end(),
                   more_probable);
  reached.resize(n);
}

}  // namespace labeltree
