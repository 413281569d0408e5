#include "linear/frozen_weights.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "linear/simd.hpp"

namespace labeltree {

using simd::f32x8;
using Group = UsedBits::Group;

namespace {

bfloat16 frozen(float weight, float drop) {
  return std::abs(weight) <= drop ? bfloat16{0} : to_bfloat16(weight);
}

// A mapped file may be damaged: what comes of it is a number all the same.
float finite(float p) { return std::isfinite(p) ? p : 0.0f; }

bool any_above(const float* weights, std::size_t n, float drop) {
  return std::any_of(weights, weights + n, [&](float w) { return std::abs(w) > drop; });
}

// What is exact keeps rows or lines of zeros in their places unless so many times fewer are used.
constexpr std::size_t sparse_from = 16;

// Models in whole blocks, as where they learn.
std::size_t whole_blocks(std::size_t models) { return (models + 7) / 8 * 8; }

// Weights of dense rows lie in such an order that parting them gives those of eight features each.
std::size_t place(std::size_t feature) {
  return feature / 16 * 16 + feature % 8 * 2 + feature / 8 % 2;
}

}  // namespace

namespace kernel {

LABELTREE_CLONES float dot(const bfloat16* w, const float* x, std::size_t n) {
  f32x8 first{}, second{};
  for (std::size_t i = 0; i < n; i += 16) {
    const auto weights = simd::part16(w + i);
    first += weights.even * simd::load(x + i);
    second += weights.odd * simd::load(x + i + 8);
  }
  return simd::sum(first + second);
}

// Four rows, `stride` apart, in one sweep over x: eight sums that do not wait for each other.
LABELTREE_CLONES void dot4(const bfloat16* w, std::size_t stride, const float* x, std::size_t n,
                           float* p) {
  simd::Parted<f32x8> a{}, b{}, c{}, d{};
  for (std::size_t i = 0; i < n; i += 16) {
    const f32x8 first = simd::load(x + i), second = simd::load(x + i + 8);
    const auto add = [&](simd::Parted<f32x8>& sums, std::size_t row) {
      const auto weights = simd::part16(w + i + row * stride);
      sums.even += weights.even * first;
      sums.odd += weights.odd * second;
    };
    add(a, 0);
    add(b, 1);
    add(c, 2);
    add(d, 3);
  }
  p[0] = simd::sum(a.even + a.odd);
  p[1] = simd::sum(b.even + b.odd);
  p[2] = simd::sum(c.even + c.odd);
  p[3] = simd::sum(d.even + d.odd);
}

// The used lines of up to `tile` features, and the values of these features.
constexpr std::size_t tile = 64;
struct Found {
  std::size_t offset[tile];
  float value[tile];
  std::size_t size = 0;
};

// Asks for all lines before the first is read: their misses overlap. Without groups, every line has
// its place.
LABELTREE_INLINE void find(const Group* groups, const bfloat16* lines, Address at,
                           const Example& x, std::size_t begin, Found& found) {
  const std::size_t end = std::min(begin + tile, x.size);
  std::size_t n = 0;
  if (groups == nullptr) {
    for (std::size_t i = begin; i < end; ++i, ++n) {
      found.offset[n] = 8 * at.line(x.key[i]);
      found.value[n] = x.value[i];
      __builtin_prefetch(lines + found.offset[n]);
    }
  } else {
    for (std::size_t i = begin; i < end; ++i) __builtin_prefetch(groups + at.line(x.key[i]) / 32);
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t line = at.line(x.key[i]);
      const Group group = groups[line / 32];
      const std::size_t offset = 8 * UsedBits::place(group, line);
      const std::size_t used = UsedBits::has(group, line);
      found.offset[n] = offset;
      found.value[n] = x.value[i];
      n += used;  // no branch: whether a line is used is hard to guess
      __builtin_prefetch(lines + (offset & -used));  // the first line if it is not used
    }
  }
  found.size = n;
}

LABELTREE_CLONES float line_dot(const Group* groups, const bfloat16* lines, Address at,
                                std::size_t lane, const Example& x) {
  Found found;
  float p = 0.0f;
  for (std::size_t begin = 0; begin < x.size; begin += tile) {
    find(groups, lines, at, x, begin, found);
    for (std::size_t i = 0; i < found.size; ++i) {
      p += found.value[i] * to_float(lines[found.offset[i] + lane]);
    }
  }
  return p;
}

LABELTREE_CLONES void line_dot8(const Group* groups, const bfloat16* lines, Address at,
                                const Example& x, float* p) {
  Found found;
  simd::f32x4 even{}, odd{};  // models
  for (std::size_t begin = 0; begin < x.size; begin += tile) {
    find(groups, lines, at, x, begin, found);
    for (std::size_t i = 0; i < found.size; ++i) {
      const auto weights = simd::part8(lines + found.offset[i]);
      even += found.value[i] * weights.even;
      odd += found.value[i] * weights.odd;
    }
  }
  for (int i = 0; i < 4; ++i) {
    p[2 * i] = even[i];
    p[2 * i + 1] = odd[i];
  }
}

}  // namespace kernel

FrozenDenseWeights::FrozenDenseWeights(std::size_t features)
    : stride_(padded(features)), used_(0) {}

FrozenDenseWeights::FrozenDenseWeights(std::size_t features, const DenseWeights& weights,
                                       std::size_t models, float drop)
    : FrozenDenseWeights(features) {
  const std::size_t rows = whole_blocks(models);
  UsedBits used(rows);
  weights.table().visit_rows(weights.row_size(), [&](std::size_t model) {
    const float* from = weights.table().data() + model * weights.row_size();
    if (model < rows && any_above(from, stride_, drop)) used.use(model);
  });
  const std::size_t n_used = used.count();
  const bool all = sparse_from * n_used >= rows;
  AlignedArray<bfloat16> table(stride_ * (all ? rows : n_used));
  for (std::size_t model = 0; model < rows; ++model) {
    if (!used.has(model)) continue;
    const float* from = weights.table().data() + model * weights.row_size();
    bfloat16* to = table.data() + (all ? model : used.place(model)) * stride_;
    for (std::size_t i = 0; i < stride_; ++i) to[place(i)] = frozen(from[i], drop);
  }
  table_ = SharedArray<bfloat16>(std::move(table));
  if (!all) used_ = std::move(used);
}

// Null for a model whose weights are all zero, where such are left out.
const bfloat16* FrozenDenseWeights::row(std::size_t model) const {
  if (used_.size() == 0) return table_.data() + model * stride_;
  return used_.has(model) ? table_.data() + used_.place(model) * stride_ : nullptr;
}

float FrozenDenseWeights::dot(std::size_t model, const Example& x) const {
  const bfloat16* w = row(model);
  if (w == nullptr) return 0.0f;
  if (x.key == nullptr) return finite(kernel::dot(w, x.value, x.size));
  float p = 0.0f;
  for (std::size_t i = 0; i < x.size; ++i) p += to_float(w[place(x.key[i])]) * x.value[i];
  return finite(p);
}

void FrozenDenseWeights::dot8(std::size_t block, const Example& x, float* p) const {
  if (x.key == nullptr && used_.size() == 0) {
    const bfloat16* w = row(8 * block);
    kernel::dot4(w, stride_, x.value, x.size, p);
    kernel::dot4(w + 4 * stride_, stride_, x.value, x.size, p + 4);
    std::transform(p, p + 8, p, finite);
  } else {
    for (std::size_t lane = 0; lane < 8; ++lane) p[lane] = dot(8 * block + lane, x);
  }
}

void FrozenDenseWeights::visit_state(StateVisitor& state, const std::string& name,
                                     std::size_t models) {
  state.shared(name, table_);
  const std::size_t rows = whole_blocks(models);
  if (table_.size() == rows * stride_) return;
  if (state.restoring()) used_ = UsedBits(rows);
  const std::size_t used = used_.visit_state(state, name + "_used");
  StateVisitor::require(used * stride_ == table_.size(),
                        "the saved array " + name + " is not of the size of its models");
}

FrozenLineWeights::FrozenLineWeights(const LineWeights& weights, std::size_t models, float drop)
    : FrozenLineWeights(weights.map()) {
  const std::size_t count = map_.lines(models);
  const auto line = [&](std::size_t i) { return weights.table().data() + i * weights.row_size(); };
  UsedBits used(count);
  weights.table().visit_rows(weights.row_size(), [&](std::size_t i) {
    if (i < count && any_above(line(i), 8, drop)) used.use(i);
  });
  const std::size_t n_used = used.count();
  const bool all = (map_.is_exact() ? sparse_from : 2) * n_used >= count;
  const float drop_single = map_.is_exact() ? drop : 0.0f;
  AlignedArray<bfloat16> lines(8 * (all ? count : n_used));
  weights.table().visit_rows(weights.row_size(), [&](std::size_t i) {
    if (i >= count || !used.has(i)) return;
    bfloat16* to = lines.data() + 8 * (all ? i : used.place(i));
    std::transform(line(i), line(i) + 8, to, [&](float w) { return frozen(w, drop_single); });
  });
  lines_ = SharedArray<bfloat16>(std::move(lines));
  if (!all) used_ = std::move(used);
}

void FrozenLineWeights::prefetch(std::size_t block, const Example& x) const {
  const Address at = map_.address(block);
  for (std::size_t i = 0; i < std::min(kernel::tile, x.size); ++i) {
    const std::size_t line = at.line(x.key[i]);
    if (used_.size() == 0) {
      __builtin_prefetch(lines_.data() + 8 * line);
    } else {
      __builtin_prefetch(used_.groups() + line / 32);
    }
  }
}

float FrozenLineWeights::dot(std::size_t model, const Example& x) const {
  return finite(kernel::line_dot(used_.groups(), lines_.data(), map_.address(model / 8), model % 8,
                                 x));
}

void FrozenLineWeights::dot8(std::size_t block, const Example& x, float* p) const {
  kernel::line_dot8(used_.groups(), lines_.data(), map_.address(block), x, p);
  std::transform(p, p + 8, p, finite);
}

void FrozenLineWeights::visit_state(StateVisitor& state, const std::string& name,
                                    std::size_t models) {
  state.shared(name, lines_);
  const std::size_t count = map_.lines(models);
  if (lines_.size() == 8 * count) return;
  if (state.restoring()) used_ = UsedBits(count);
  const std::size_t used = used_.visit_state(state, name + "_used");
  StateVisitor::require(8 * used == lines_.size(),
                        "the saved array " + name + " has not as many lines as are used");
}

}  // namespace labeltree
