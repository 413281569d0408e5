#include "linear/dense_weights.hpp"

#include <algorithm>

#include "linear/simd.hpp"
#include "linear/trace.hpp"

namespace labeltree {

using simd::f32x8;
using simd::load;
using simd::load_shared;
using simd::load_shared1;
using simd::store_shared;
using simd::store_shared1;

namespace kernel {

LABELTREE_CLONES float dot(const float* w, const float* x, std::size_t n) {
  f32x8 even{}, odd{};
  for (std::size_t i = 0; i < n; i += 16) {
    even += load_shared(w + i) * load(x + i);
    odd += load_shared(w + i + 8) * load(x + i + 8);
  }
  return simd::sum(even + odd);
}

// Eight rows, `stride` apart, in one sweep over x: eight sums that do not wait for each other.
LABELTREE_CLONES void dot8(const float* w, std::size_t stride, const float* x, std::size_t n,
                           float* p) {
  const float* v = w + 4 * stride;
  f32x8 a{}, b{}, c{}, d{}, e{}, f{}, g{}, h{};
  for (std::size_t i = 0; i < n; i += 8) {
    const f32x8 value = load(x + i);
    a += load_shared(w + i) * value;
    b += load_shared(w + i + stride) * value;
    c += load_shared(w + i + 2 * stride) * value;
    d += load_shared(w + i + 3 * stride) * value;
    e += load_shared(v + i) * value;
    f += load_shared(v + i + stride) * value;
    g += load_shared(v + i + 2 * stride) * value;
    h += load_shared(v + i + 3 * stride) * value;
  }
  simd::store(p, simd::sums({a, b, c, d, e, f, g, h}));
}

LABELTREE_CLONES float accumulate(float* g, const float* x, std::size_t n, float hg2) {
  f32x8 kappa{};
  for (std::size_t i = 0; i < n; i += 8) {
    const f32x8 v = load(x + i);
    const f32x8 squares = v * v;
    const f32x8 sums = load_shared(g + i) + hg2 * squares;
    store_shared(g + i, sums);
    kappa += squares * simd::inverse_sqrt(sums);
  }
  return simd::sum(kappa);
}

LABELTREE_CLONES void step(float* w, const float* g, const float* x, std::size_t n, float u) {
  for (std::size_t i = 0; i < n; i += 8) {
    store_shared(w + i, load_shared(w + i) +
                            u * (load(x + i) * simd::inverse_sqrt(load_shared(g + i))));
  }
}

LABELTREE_CLONES void add(float* w, const float* x, std::size_t n, float u) {
  for (std::size_t i = 0; i < n; i += 8) {
    store_shared(w + i, load_shared(w + i) + u * load(x + i));
  }
}

}  // namespace kernel

DenseWeights::DenseWeights(std::size_t features) : stride_(padded(features)) {}

void DenseWeights::resize(std::size_t models) {
  const std::size_t block = 8 * row_size();  // whole blocks, so that dot8 never reads past the end
  const std::size_t needed = (models + 7) / 8 * block;
  if (needed > table_.size()) {
    const std::size_t more = table_.size() * 3 / 2 / block * block;
    table_.grow(std::max(needed, more));
  }
}

float DenseWeights::dot(std::size_t model, const Example& x) const {
  const float* w = weights(model);
  if (x.key == nullptr) {
    LABELTREE_TOUCH(model * row_size(), x.size);
    return kernel::dot(w, x.value, x.size);
  }
  float p = 0.0f;
  for (std::size_t i = 0; i < x.size; ++i) {
    LABELTREE_TOUCH(model * row_size() + x.key[i], 1);
    p += load_shared1(w + x.key[i]) * x.value[i];
  }
  return p;
}

void DenseWeights::dot8(std::size_t block, const Example& x, float* p) const {
  const float* w = weights(8 * block);
  if (x.key == nullptr) {
    for (std::size_t lane = 0; lane < 8; ++lane) {
      LABELTREE_TOUCH((8 * block + lane) * row_size(), x.size);
    }
    kernel::dot8(w, row_size(), x.value, x.size, p);
  } else {
    for (std::size_t lane = 0; lane < 8; ++lane) p[lane] = dot(8 * block + lane, x);
  }
}

float DenseWeights::accumulate(std::size_t model, const Example& x, float hg2) {
  float* g = sums(model);
  if (x.key == nullptr) {
    LABELTREE_TOUCH(model * row_size() + stride_, x.size);
    return kernel::accumulate(g, x.value, x.size, hg2);
  }
  float kappa = 0.0f;
  for (std::size_t i = 0; i < x.size; ++i) {
    LABELTREE_TOUCH(model * row_size() + stride_ + x.key[i], 1);
    const float square = x.value[i] * x.value[i];
    const float sum = load_shared1(g + x.key[i]) + hg2 * square;
    store_shared1(g + x.key[i], sum);
    kappa += square * simd::inverse_sqrt(sum);
  }
  return kappa;
}

void DenseWeights::step(std::size_t model, const Example& x, float u) {
  float* w = weights(model);
  const float* g = sums(model);
  if (x.key == nullptr) return kernel::step(w, g, x.value, x.size, u);
  for (std::size_t i = 0; i < x.size; ++i) {
    const float change = u * (x.value[i] * simd::inverse_sqrt(load_shared1(g + x.key[i])));
    store_shared1(w + x.key[i], load_shared1(w + x.key[i]) + change);
  }
}

void DenseWeights::add(std::size_t model, const Example& x, float u) {
  float* w = weights(model);
  if (x.key == nullptr) return kernel::add(w, x.value, x.size, u);
  for (std::size_t i = 0; i < x.size; ++i) {
    store_shared1(w + x.key[i], load_shared1(w + x.key[i]) + u * x.value[i]);
  }
}

void DenseWeights::accumulate8(std::size_t block, const Example& x, const float* hg2, float* kappa) {
  for (std::size_t lane = 0; lane < 8; ++lane) {
    if (hg2[lane] > 0.0f) kappa[lane] = accumulate(8 * block + lane, x, hg2[lane]);
  }
}

void DenseWeights::step8(std::size_t block, const Example& x, const float* u) {
  for (std::size_t lane = 0; lane < 8; ++lane) {
    if (u[lane] != 0.0f) step(8 * block + lane, x, u[lane]);
  }
}

void DenseWeights::add8(std::size_t block, const Example& x, const float* u) {
  for (std::size_t lane = 0; lane < 8; ++lane) {
    if (u[lane] != 0.0f) add(8 * block + lane, x, u[lane]);
  }
}

}  // namespace labeltree
