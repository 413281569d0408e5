#include "linear/line_weights.hpp"

#include <algorithm>

#include "linear/simd.hpp"
#include "linear/trace.hpp"

namespace labeltree {

using simd::f32x8;
using simd::load;
using simd::load_shared;
using simd::load_shared1;
using simd::store;
using simd::store_shared;
using simd::store_shared1;

namespace kernel {

LABELTREE_INLINE std::size_t tile_end(const Example& x, std::size_t begin) {
  return std::min(begin + FoundLines::most, x.size);
}

// Finds the lines of up to `most` features, and asks for them.
LABELTREE_INLINE void find(const LineTable& table, Address at, const Example& x, std::size_t begin,
                           FoundLines& found) {
  const std::size_t end = tile_end(x, begin);
  for (std::size_t i = begin; i < end; ++i) {
    const float* row = table.row(at.line(x.key[i]));
    found.at[i - begin] = row;
    __builtin_prefetch(row, 1);
    LABELTREE_TOUCH(table.offset(row), table.row_size());
  }
  found.size = end - begin;
}

LABELTREE_INLINE void prefetch_places(const LineTable& table, Address at, const Example& x,
                                      std::size_t begin) {
  const std::size_t end = tile_end(x, begin);
  for (std::size_t i = begin; i < end; ++i) table.prefetch_place(at.line(x.key[i]));
}

LABELTREE_INLINE void prefetch_direct(const LineTable& table, Address at, const Example& x) {
  for (std::size_t i = 0; i < tile_end(x, 0); ++i) {
    __builtin_prefetch(table.direct_row(at.line(x.key[i])));
  }
}

// The sum of term(i) for n features: four sums that do not wait for each other.
template <class Term>
LABELTREE_INLINE void add_terms(std::size_t n, Term term, f32x8 (&sums)[4]) {
  std::size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    sums[0] += term(i);
    sums[1] += term(i + 1);
    sums[2] += term(i + 2);
    sums[3] += term(i + 3);
  }
  if (i < n) sums[0] += term(i++);
  if (i < n) sums[1] += term(i++);
  if (i < n) sums[2] += term(i);
}

LABELTREE_INLINE void store_sum(const f32x8 (&sums)[4], float* p) {
  store(p, (sums[0] + sums[1]) + (sums[2] + sums[3]));
}

LABELTREE_CLONES void direct_dot8(const LineTable& table, Address at, const Example& x, float* p) {
  f32x8 sums[4]{};
  add_terms(x.size, [&](std::size_t i) {
    const float* row = table.direct_row(at.line(x.key[i]));
    LABELTREE_TOUCH(table.offset(row), table.row_size());
    return x.value[i] * load_shared(row);
  }, sums);
  store_sum(sums, p);
}

// The same where features are numbers of lines, after the first of the block.
LABELTREE_CLONES void exact_dot8(const LineTable& table, std::size_t first, const Example& x,
                                 float* p) {
  const float* begin = table.direct_row(first);
  const std::size_t row_size = table.row_size();
  const std::uint32_t* slot = x.slot;
  const float* value = x.value;
  f32x8 sums[4]{};
  add_terms(x.size, [&](std::size_t i) {
    const float* row = begin + row_size * slot[i];
    LABELTREE_TOUCH(table.offset(row), row_size);
    return value[i] * load_shared(row);
  }, sums);
  store_sum(sums, p);
}

// `found` are the lines of the first features, and is used for those of the others.
LABELTREE_CLONES void line_dot8(const LineTable& table, Address at, const Example& x,
                                FoundLines& found, float* p) {
  f32x8 sums[4]{};
  for (std::size_t begin = 0;;) {
    const float* value = x.value + begin;
    add_terms(found.size, [&](std::size_t i) {
      return value[i] * load_shared(static_cast<const float*>(found.at[i]));
    }, sums);
    begin += FoundLines::most;
    if (begin >= x.size) break;
    prefetch_places(table, at, x, begin);
    find(table, at, x, begin, found);
  }
  store_sum(sums, p);
}

// From here on the lines are in the cache: the example has just been predicted.

LABELTREE_CLONES void line_accumulate8(LineTable& table, Address at, const Example& x,
                                       const float* hg2, float* kappa) {
  const f32x8 scale = load(hg2);
  f32x8 total{};
  for (std::size_t i = 0; i < x.size; ++i) {
    float* g = table.write(at.line(x.key[i])) + 8;
    const float square = x.value[i] * x.value[i];
    const f32x8 sums = load_shared(g) + square * scale;
    store_shared(g, sums);
    total += square * simd::inverse_sqrt(sums);
  }
  store(kappa, total);
}

LABELTREE_CLONES void line_step8(LineTable& table, Address at, const Example& x, const float* u) {
  const f32x8 scale = load(u);
  for (std::size_t i = 0; i < x.size; ++i) {
    float* w = table.write(at.line(x.key[i]));
    const f32x8 change = x.value[i] * (scale * simd::inverse_sqrt(load_shared(w + 8)));
    store_shared(w, load_shared(w) + change);
  }
}

LABELTREE_CLONES void line_add8(LineTable& table, Address at, const Example& x, const float* u) {
  const f32x8 scale = load(u);
  for (std::size_t i = 0; i < x.size; ++i) {
    float* w = table.write(at.line(x.key[i]));
    store_shared(w, load_shared(w) + x.value[i] * scale);
  }
}

}  // namespace kernel

LineWeights::LineWeights(LineMap map, bool gradient_sums)
    : map_(map), table_(map.lines(0), gradient_sums ? 16 : 8) {}

void LineWeights::resize(std::size_t models) {
  const std::size_t needed = map_.lines(models);
  if (needed > table_.lines()) table_.grow(std::max(needed, table_.lines() * 3 / 2));
}

void LineWeights::prefetch(std::size_t block, const Example& x) const {
  const Address at = map_.address(block);
  if (table_.is_direct()) return kernel::prefetch_direct(table_, at, x);
  kernel::prefetch_places(table_, at, x, 0);
}

void LineWeights::find(std::size_t block, const Example& x, FoundLines& found) const {
  if (!table_.is_direct()) kernel::find(table_, map_.address(block), x, 0, found);
}

float LineWeights::dot(std::size_t model, const Example& x) const {
  const Address at = map_.address(model / 8);
  FoundLines found;
  float p = 0.0f;
  for (std::size_t begin = 0; begin < x.size; begin += FoundLines::most) {
    if (!table_.is_direct()) kernel::prefetch_places(table_, at, x, begin);
    kernel::find(table_, at, x, begin, found);
    for (std::size_t i = 0; i < found.size; ++i) {
      p += x.value[begin + i] * load_shared1(static_cast<const float*>(found.at[i]) + model % 8);
    }
  }
  return p;
}

void LineWeights::dot8(std::size_t block, const Example& x, FoundLines& found, float* p) const {
  if (table_.is_direct()) {
    const Address at = map_.address(block);
    if (map_.is_exact() && x.slot != nullptr) return kernel::exact_dot8(table_, at.first, x, p);
    return kernel::direct_dot8(table_, at, x, p);
  }
  kernel::line_dot8(table_, map_.address(block), x, found, p);
}

float LineWeights::accumulate(std::size_t model, const Example& x, float hg2) {
  const Address at = map_.address(model / 8);
  float kappa = 0.0f;
  for (std::size_t i = 0; i < x.size; ++i) {
    const float square = x.value[i] * x.value[i];
    float* at_sum = table_.write(at.line(x.key[i])) + 8 + model % 8;
    const float sum = load_shared1(at_sum) + hg2 * square;
    store_shared1(at_sum, sum);
    kappa += square * simd::inverse_sqrt(sum);
  }
  return kappa;
}

void LineWeights::step(std::size_t model, const Example& x, float u) {
  const Address at = map_.address(model / 8);
  for (std::size_t i = 0; i < x.size; ++i) {
    float* w = table_.write(at.line(x.key[i])) + model % 8;
    const float change = u * (x.value[i] * simd::inverse_sqrt(load_shared1(w + 8)));
    store_shared1(w, load_shared1(w) + change);
  }
}

void LineWeights::add(std::size_t model, const Example& x, float u) {
  const Address at = map_.address(model / 8);
  for (std::size_t i = 0; i < x.size; ++i) {
    float* w = table_.write(at.line(x.key[i])) + model % 8;
    store_shared1(w, load_shared1(w) + u * x.value[i]);
  }
}

void LineWeights::accumulate8(std::size_t block, const Example& x, const float* hg2,
                              float* kappa) {
  kernel::line_accumulate8(table_, map_.address(block), x, hg2, kappa);
}

void LineWeights::step8(std::size_t block, const Example& x, const float* u) {
  kernel::line_step8(table_, map_.address(block), x, u);
}

void LineWeights::add8(std::size_t block, const Example& x, const float* u) {
  kernel::line_add8(table_, map_.address(block), x, u);
}

}  // namespace labeltree
