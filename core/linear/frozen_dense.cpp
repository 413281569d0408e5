#include "linear/frozen_dense.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "linear/simd.hpp"
#include "linear/weight_codes.hpp"

namespace labeltree {

using simd::f32x8;

namespace {

constexpr float largest_byte = 127.0f;

// Models in whole blocks, as where they learn.
std::size_t whole_blocks(std::size_t models) { return (models + 7) / 8 * 8; }

// Weights of two bytes lie in such an order that parting them gives those of eight features each.
std::size_t place(std::size_t feature, bfloat16) {
  return feature / 16 * 16 + feature % 8 * 2 + feature / 8 % 2;
}
// And bytes so that four words of them shifted to the left do.
std::size_t place(std::size_t feature, std::uint8_t) {
  return feature / 16 * 16 + feature % 4 * 4 + feature / 4 % 4;
}

float decoded(bfloat16 code) { return to_float(code); }
float decoded(std::uint8_t code) { return static_cast<float>(static_cast<std::int8_t>(code)); }

}  // namespace

namespace kernel {

// Sixteen weights, eight and eight.
LABELTREE_INLINE simd::Parted<f32x8> load16(const bfloat16* w) { return simd::part16(w); }
LABELTREE_INLINE simd::Parted<f32x8> load16(const std::uint8_t* w) {
  using simd::i32x8;
  using i32x4 = std::int32_t __attribute__((vector_size(16)));
  i32x4 words;
  std::memcpy(&words, w, sizeof words);
  const i32x8 twice = __builtin_shufflevector(words, words, 0, 1, 2, 3, 0, 1, 2, 3);
  const i32x8 first = twice << i32x8{24, 24, 24, 24, 16, 16, 16, 16};
  const i32x8 second = twice << i32x8{8, 8, 8, 8, 0, 0, 0, 0};
  return {__builtin_convertvector(first >> 24, f32x8),
          __builtin_convertvector(second >> 24, f32x8)};
}

LABELTREE_INLINE simd::Parted<f32x8> load16(const float* w) {
  return {simd::load(w), simd::load(w + 8)};
}

template <class Code>
LABELTREE_INLINE float dot1(const Code* w, const float* x, std::size_t n) {
  f32x8 first{}, second{};
  for (std::size_t i = 0; i < n; i += 16) {
    const auto weights = load16(w + i);
    first += weights.even * simd::load(x + i);
    second += weights.odd * simd::load(x + i + 8);
  }
  return simd::sum(first + second);
}

// Four rows, `stride` apart, in one sweep over x: eight sums that do not wait for each other.
template <class Code>
LABELTREE_INLINE void dot4(const Code* w, std::size_t stride, const float* x, std::size_t n,
                           f32x8* sums) {
  simd::Parted<f32x8> a{}, b{}, c{}, d{};
  for (std::size_t i = 0; i < n; i += 16) {
    const f32x8 first = simd::load(x + i), second = simd::load(x + i + 8);
    const auto add = [&](simd::Parted<f32x8>& sums, std::size_t row) {
      const auto weights = load16(w + i + row * stride);
      sums.even += weights.even * first;
      sums.odd += weights.odd * second;
    };
    add(a, 0);
    add(b, 1);
    add(c, 2);
    add(d, 3);
  }
  sums[0] = a.even + a.odd;
  sums[1] = b.even + b.odd;
  sums[2] = c.even + c.odd;
  sums[3] = d.even + d.odd;
}

// Eight rows.
template <class Code>
LABELTREE_INLINE void dot8(const Code* w, std::size_t stride, const float* x, std::size_t n,
                           float* p) {
  f32x8 sums[8];
  dot4(w, stride, x, n, sums);
  dot4(w + 4 * stride, stride, x, n, sums + 4);
  simd::store(p, simd::sums(sums));
}

LABELTREE_CLONES float frozen_dot(const bfloat16* w, const float* x, std::size_t n) {
  return dot1(w, x, n);
}
LABELTREE_CLONES float frozen_dot(const float* w, const float* x, std::size_t n) {
  return dot1(w, x, n);
}
LABELTREE_CLONES float frozen_dot(const std::uint8_t* w, const float* x, std::size_t n) {
  return dot1(w, x, n);
}
LABELTREE_CLONES void frozen_dot8(const bfloat16* w, std::size_t stride, const float* x,
                                  std::size_t n, float* p) {
  dot8(w, stride, x, n, p);
}
LABELTREE_CLONES void frozen_dot8(const std::uint8_t* w, std::size_t stride, const float* x,
                                  std::size_t n, float* p) {
  dot8(w, stride, x, n, p);
}
LABELTREE_CLONES void frozen_dot8(const float* w, std::size_t stride, const float* x, std::size_t n,
                                  float* p) {
  dot8(w, stride, x, n, p);
}

LABELTREE_CLONES void unpack16(const bfloat16* w, float* weights) {
  const auto both = load16(w);
  simd::store(weights, both.even);
  simd::store(weights + 8, both.odd);
}
LABELTREE_CLONES void unpack16(const std::uint8_t* w, float* weights) {
  const auto both = load16(w);
  simd::store(weights, both.even);
  simd::store(weights + 8, both.odd);
}

}  // namespace kernel

FrozenDenseWeights::FrozenDenseWeights(std::size_t features)
    : stride_(padded(features)), used_(0) {}

FrozenDenseWeights::FrozenDenseWeights(std::size_t features, const DenseWeights& weights,
                                       std::size_t models, float keep)
    : FrozenDenseWeights(features) {
  code_size_ = keep < 1.0f ? 1 : sizeof(bfloat16);
  const auto learned = [&](std::size_t model) {
    return weights.table().data() + model * weights.row_size();
  };
  used_ = UsedBits(whole_blocks(models));
  weights.table().visit_rows(weights.row_size(), [&](std::size_t model) {
    const float* w = learned(model);
    if (model < models && std::any_of(w, w + stride_, [](float v) { return v != 0.0f; })) {
      used_.use(model);
    }
  });
  const std::size_t rows = used_.count();
  AlignedArray<std::uint8_t> bytes(code_size_ == 1 ? stride_ * rows : 0);
  AlignedArray<bfloat16> bfloats(code_size_ == 1 ? 0 : stride_ * rows);
  AlignedArray<float> scales(code_size_ == 1 ? rows : 0);
  for (std::size_t model = 0; model < models; ++model) {
    if (!used_.has(model)) continue;
    const float* w = learned(model);
    const std::size_t row = used_.place(model);
    if (code_size_ != 1) {
      for (std::size_t i = 0; i < stride_; ++i) {
        bfloats.data()[row * stride_ + place(i, bfloat16{})] = to_bfloat16(w[i]);
      }
      continue;
    }
    float largest = 0.0f;
    for (std::size_t i = 0; i < stride_; ++i) largest = std::max(largest, std::abs(w[i]));
    const float scale = std::max(largest / largest_byte, 1e-37f);
    scales.data()[row] = scale;
    for (std::size_t i = 0; i < stride_; ++i) {
      bytes.data()[row * stride_ + place(i, std::uint8_t{})] =
          static_cast<std::uint8_t>(static_cast<std::int8_t>(std::round(w[i] / scale)));
    }
  }
  bytes_ = SharedArray<std::uint8_t>(std::move(bytes));
  bfloats_ = SharedArray<bfloat16>(std::move(bfloats));
  scale_ = SharedArray<float>(std::move(scales));
}

// Of n rows, one after the other.
template <class Code>
void FrozenDenseWeights::dot_rows(const SharedArray<Code>& table, std::size_t row, std::size_t n,
                                  const Example& x, float* p) const {
  const Code* w = table.data() + row * stride_;
  if (x.key != nullptr) {
    for (std::size_t j = 0; j < n; ++j, w += stride_) {
      p[j] = 0.0f;
      for (std::size_t i = 0; i < x.size; ++i) {
        p[j] += decoded(w[place(x.key[i], Code{})]) * x.value[i];
      }
    }
    return;
  }
  dot_dense(w, n, x, p);
}

template <class Weight>
void FrozenDenseWeights::dot_dense(const Weight* w, std::size_t n, const Example& x,
                                   float* p) const {
  if (n == 8) return kernel::frozen_dot8(w, stride_, x.value, x.size, p);
  for (std::size_t j = 0; j < n; ++j) p[j] = kernel::frozen_dot(w + j * stride_, x.value, x.size);
}

float FrozenDenseWeights::dot(std::size_t model, const Example& x) const {
  if (!used_.has(model)) return 0.0f;
  const std::size_t row = used_.place(model);
  float p;
  if (code_size_ == 1) {
    dot_rows(bytes_, row, 1, x, &p);
    p *= scale_[row];
  } else {
    dot_rows(bfloats_, row, 1, x, &p);
  }
  return finite(p);
}

void FrozenDenseWeights::dot8(std::size_t block, const Example& x, float* p) const {
  const std::size_t row = used_.place(8 * block);
  const auto n = static_cast<std::size_t>(std::popcount(lanes(block)));
  float of_row[8];
  if (code_size_ == 1) {
    dot_rows(bytes_, row, n, x, of_row);
  } else {
    dot_rows(bfloats_, row, n, x, of_row);
  }
  put_lanes(block, of_row, p);
}

// From the sums of the rows there are, one after the other, to those of eight lanes.
void FrozenDenseWeights::put_lanes(std::size_t block, const float* of_row, float* p) const {
  const unsigned used = lanes(block);
  std::size_t row = used_.place(8 * block);
  if (used == 0xff) {  // as nearly always
    const f32x8 sums = simd::load(of_row);
    return simd::store(p, finite(code_size_ == 1 ? sums * simd::load(scale_.data() + row) : sums));
  }
  for (std::size_t lane = 0; lane < 8; ++lane) {
    if (!(used >> lane & 1)) {
      p[lane] = 0.0f;
      continue;
    }
    p[lane] = finite(code_size_ == 1 ? *of_row * scale_[row] : *of_row);
    ++of_row;
    ++row;
  }
}

template <class Code>
void FrozenDenseWeights::unpack_rows(const SharedArray<Code>& table, std::size_t row, std::size_t n,
                                     float* rows) const {
  const Code* code = table.data() + row * stride_;
  for (std::size_t i = 0; i < n * stride_; i += 16) kernel::unpack16(code + i, rows + i);
}

void FrozenDenseWeights::unpack(std::size_t block, AlignedFloats& rows) const {
  if (rows.size() < 8 * stride_) rows = AlignedFloats(8 * stride_);
  const std::size_t row = used_.place(8 * block);
  const auto n = static_cast<std::size_t>(std::popcount(lanes(block)));
  if (code_size_ == 1) {
    unpack_rows(bytes_, row, n, rows.data());
  } else {
    unpack_rows(bfloats_, row, n, rows.data());
  }
}

void FrozenDenseWeights::dot8_unpacked(std::size_t block, const AlignedFloats& rows,
                                       std::span<const Example> x, float* const* p) const {
  if (x[0].key != nullptr) return dot8(block, x[0], p[0]);
  const auto n = static_cast<std::size_t>(std::popcount(lanes(block)));
  float of_row[8];
  dot_dense(rows.data(), n, x[0], of_row);
  put_lanes(block, of_row, p[0]);
}

void FrozenDenseWeights::visit_state(StateVisitor& state, const std::string& name,
                                     std::size_t models) {
  const auto require = StateVisitor::require;
  state.value(name + "_code_size", code_size_);
  require(code_size_ == 1 || code_size_ == sizeof(bfloat16),
          "the saved array " + name + " has codes of an unknown size");
  if (code_size_ == 1) {
    state.shared(name, bytes_);
    state.shared(name + "_scale", scale_);
  } else {
    state.shared(name, bfloats_);
  }
  if (state.restoring()) used_ = UsedBits(whole_blocks(models));
  const std::size_t rows = used_.visit_state(state, name + "_used");
  require(rows * stride_ == (code_size_ == 1 ? bytes_.size() : bfloats_.size()) &&
              scale_.size() == (code_size_ == 1 ? rows : 0),
          "the saved array " + name + " is not of the size of its models");
}

}  // namespace labeltree
