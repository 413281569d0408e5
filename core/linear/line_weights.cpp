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

// Lines are asked for this many at a time before the first is read: their misses overlap.
constexpr std::size_t tile = 64;

LABELTREE_INLINE std::size_t prefetch(const float* table, std::size_t row, Address at,
                                      const Example& x, std::size_t begin, std::size_t* offset) {
  const std::size_t n = std::min(tile, x.size - begin);
  for (std::size_t i = 0; i < n; ++i) {
    offset[i] = row * at.line(x.key[begin + i]);
    __builtin_prefetch(table + offset[i], 1);
    LABELTREE_TOUCH(offset[i], row);
  }
  return n;
}

LABELTREE_CLONES void line_dot8(const float* table, std::size_t row, Address at, const Example& x,
                                float* p) {
  f32x8 even{}, odd{};
  const auto term = [&](std::size_t i) {
    const std::size_t offset = row * at.line(x.key[i]);
    LABELTREE_TOUCH(offset, row);
    return x.value[i] * load_shared(table + offset);
  };
  std::size_t i = 0;
  for (; i + 2 <= x.size; i += 2) {
    even += term(i);
    odd += term(i + 1);
  }
  if (i < x.size) even += term(i);
  store(p, even + odd);
}

// From here on the lines are in the cache: the example has just been predicted.

LABELTREE_CLONES void line_accumulate8(float* table, Address at, const Example& x,
                                       const float* hg2, float* kappa) {
  const f32x8 scale = load(hg2);
  f32x8 total{};
  for (std::size_t i = 0; i < x.size; ++i) {
    float* g = table + 16 * at.line(x.key[i]) + 8;
    const float square = x.value[i] * x.value[i];
    const f32x8 sums = load_shared(g) + square * scale;
    store_shared(g, sums);
    total += square * simd::inverse_sqrt(sums);
  }
  store(kappa, total);
}

LABELTREE_CLONES void line_step8(float* table, Address at, const Example& x, const float* u) {
  const f32x8 scale = load(u);
  for (std::size_t i = 0; i < x.size; ++i) {
    float* w = table + 16 * at.line(x.key[i]);
    const f32x8 change = x.value[i] * (scale * simd::inverse_sqrt(load_shared(w + 8)));
    store_shared(w, load_shared(w) + change);
  }
}

LABELTREE_CLONES void line_add8(float* table, std::size_t row, Address at, const Example& x,
                                const float* u) {
  const f32x8 scale = load(u);
  for (std::size_t i = 0; i < x.size; ++i) {
    float* w = table + row * at.line(x.key[i]);
    store_shared(w, load_shared(w) + x.value[i] * scale);
  }
}

}  // namespace kernel

LineWeights::LineWeights(LineMap map, bool gradient_sums)
    : map_(map), row_size_(gradient_sums ? 16 : 8), table_(row_size_ * map.lines(0)) {}

void LineWeights::resize(std::size_t models) {
  const std::size_t needed = row_size() * map_.lines(models);
  if (needed > table_.size()) table_.grow(std::max(needed, table_.size() * 3 / 2 / row_size_ * row_size_));
}

void LineWeights::prefetch(std::size_t block, const Example& x) const {
  const Address at = map_.address(block);
  for (std::size_t i = 0; i < std::min(kernel::tile, x.size); ++i) {
    __builtin_prefetch(table_.data() + row_size_ * at.line(x.key[i]));
  }
}

float LineWeights::dot(std::size_t model, const Example& x) const {
  const float* lane = table_.data() + model % 8;
  const Address at = map_.address(model / 8);
  std::size_t offset[kernel::tile];
  float p = 0.0f;
  for (std::size_t begin = 0; begin < x.size; begin += kernel::tile) {
    const std::size_t n = kernel::prefetch(table_.data(), row_size_, at, x, begin, offset);
    for (std::size_t i = 0; i < n; ++i) {
      p += x.value[begin + i] * load_shared1(lane + offset[i]);
    }
  }
  return p;
}

void LineWeights::dot8(std::size_t block, const Example& x, float* p) const {
  kernel::line_dot8(table_.data(), row_size_, map_.address(block), x, p);
}

float LineWeights::accumulate(std::size_t model, const Example& x, float hg2) {
  float* sums = table_.data() + model % 8 + 8;
  const Address at = map_.address(model / 8);
  float kappa = 0.0f;
  for (std::size_t i = 0; i < x.size; ++i) {
    const float square = x.value[i] * x.value[i];
    float* at_sum = sums + 16 * at.line(x.key[i]);
    const float sum = load_shared1(at_sum) + hg2 * square;
    store_shared1(at_sum, sum);
    kappa += square * simd::inverse_sqrt(sum);
  }
  return kappa;
}

void LineWeights::step(std::size_t model, const Example& x, float u) {
  float* lane = table_.data() + model % 8;
  const Address at = map_.address(model / 8);
  for (std::size_t i = 0; i < x.size; ++i) {
    float* w = lane + 16 * at.line(x.key[i]);
    const float change = u * (x.value[i] * simd::inverse_sqrt(load_shared1(w + 8)));
    store_shared1(w, load_shared1(w) + change);
  }
}

void LineWeights::add(std::size_t model, const Example& x, float u) {
  float* lane = table_.data() + model % 8;
  const Address at = map_.address(model / 8);
  for (std::size_t i = 0; i < x.size; ++i) {
    float* w = lane + row_size_ * at.line(x.key[i]);
    store_shared1(w, load_shared1(w) + u * x.value[i]);
  }
}

void LineWeights::accumulate8(std::size_t block, const Example& x, const float* hg2,
                              float* kappa) {
  kernel::line_accumulate8(table_.data(), map_.address(block), x, hg2, kappa);
}

void LineWeights::step8(std::size_t block, const Example& x, const float* u) {
  kernel::line_step8(table_.data(), map_.address(block), x, u);
}

void LineWeights::add8(std::size_t block, const Example& x, const float* u) {
  kernel::line_add8(table_.data(), row_size_, map_.address(block), x, u);
}

}  // namespace labeltree
