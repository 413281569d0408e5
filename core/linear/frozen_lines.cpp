#include "linear/frozen_lines.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "linear/line_packer.hpp"
#include "linear/pruning.hpp"
#include "linear/simd.hpp"
#include "linear/weight_codes.hpp"
#include "linear/whole_lines.hpp"

namespace labeltree {

using simd::f32x8;
using simd::i32x8;
using Group = LineGroup;

namespace {

constexpr std::size_t margin = LinePacker<Cube>::margin;

// For each set of lanes, how its codes become those of eight lanes. A number for each lane says in which
// four bytes of the codes its own is, times 32, and by how many bits they are to be shifted to the left so
// that it is in the highest place. A lane that is not in the set gets zeros from behind the codes.
using Spread = std::array<std::int32_t, 8>;

template <class Code>
constexpr std::array<Spread, 256> spreads() {
  constexpr std::int32_t in_word = 4 / sizeof(Code), bits = 8 * sizeof(Code);
  std::array<Spread, 256> all{};
  for (unsigned lanes = 0; lanes < 256; ++lanes) {
    std::int32_t next = 0;
    for (unsigned lane = 0; lane < 8; ++lane) {
      const std::int32_t place = lanes >> lane & 1 ? next++ : 8;
      all[lanes][lane] = place / in_word * 32 + (32 - bits) - place % in_word * bits;
    }
  }
  return all;
}
template <class Code>
alignas(32) constexpr std::array<Spread, 256> spread_of = spreads<Code>();

std::size_t shortest(std::span<const Example> x) {
  std::size_t size = x[0].size;
  for (const Example& one : x) size = std::min(size, one.size);
  return size;
}

// Counts a line among the used ones, if it is, and its codes.
template <class Code>
void count_codes(const Code* code, std::size_t& used, std::size_t& codes) {
  const auto own = 8 - static_cast<std::size_t>(std::count(code, code + 8, Code{}));
  codes += own;
  used += own > 0;
}

}  // namespace

namespace kernel {

LABELTREE_INLINE std::uint64_t load64(const std::uint8_t* p) {
  std::uint64_t v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

// Finds the used lines of up to `most` features, and asks for them.
LABELTREE_INLINE void find(const Group* groups, const std::uint8_t* bytes, Address at,
                           const Example& x, std::size_t begin, FoundLines& found) {
  found.size = visit_used(groups, at, x, begin,
                          [&](std::size_t n, Group group, std::uint32_t before, float value) {
                            found.used[n] = used_lines(group);
                            found.before[n] = before;
                            found.value[n] = value;
                            const std::uint8_t* run = bytes + begin_of(group);
                            found.at[n] = run;
                            return run;
                          });
}

// How many of the first `bytes` bytes' bits are set; of at most eight.
LABELTREE_INLINE int bits_in(const std::uint8_t* p, int bytes) {
  const std::uint64_t all = load64(p);
  return std::popcount(bytes < 8 ? all & ((std::uint64_t{1} << (8 * bytes)) - 1) : all);
}

// From codes in the highest places to the weights they stand for, but for the scale.
LABELTREE_INLINE f32x8 decoded(i32x8 lanes, Cube /*code*/) {
  const f32x8 q = __builtin_convertvector(lanes >> 24, f32x8);
  return q * q * q;
}
LABELTREE_INLINE f32x8 decoded(i32x8 lanes, bfloat16 /*code*/) {
  return reinterpret_cast<f32x8>(lanes & static_cast<std::int32_t>(0xffff0000u));
}

// The weights of a line, but for the scale; zero in lanes that it does not have.
template <class Code>
LABELTREE_INLINE f32x8 weights_of(const FoundLines& found, std::size_t i) {
  using u64x4 = std::uint64_t __attribute__((vector_size(32)));
  const auto* run = static_cast<const std::uint8_t*>(found.at[i]);
  const int place = std::popcount(found.before[i]);
  const int codes_before = bits_in(run, place) + bits_in(run + 8, std::max(place - 8, 0));
  const std::uint8_t* codes =
      run + std::popcount(found.used[i]) + static_cast<int>(sizeof(Code)) * codes_before;
  u64x4 words{load64(codes)};
  if constexpr (sizeof(Code) == 2) words[1] = load64(codes + 8);
  i32x8 spread;
  std::memcpy(&spread, spread_of<Code>[run[place]].data(), sizeof spread);
  const i32x8 lanes = simd::permute(reinterpret_cast<i32x8>(words), spread >> 5);
  return decoded(lanes << (spread & 31), Code{});
}

// `found` are the lines of the first features, and is used for those of the others.
template <class Code>
LABELTREE_INLINE void line_dot8(const Group* groups, const std::uint8_t* bytes, Address at,
                                const Example& x, FoundLines& found, float scale, float* p) {
  f32x8 sum{};
  for (std::size_t begin = 0;;) {
    for (std::size_t i = 0; i < found.size; ++i) sum += found.value[i] * weights_of<Code>(found, i);
    begin += FoundLines::most;
    if (begin >= x.size) break;
    prefetch_groups(groups, at, x, begin);
    find(groups, bytes, at, x, begin, found);
  }
  simd::store(p, finite(scale * sum));
}

LABELTREE_CLONES void packed_find(const Group* groups, const std::uint8_t* bytes, Address at,
                                  const Example& x, std::size_t begin, FoundLines& found) {
  find(groups, bytes, at, x, begin, found);
}

// Of several examples, which take turns: no sum waits for that of another one. The sum of one is made in
// the same order as where its lines are found one by one.
LABELTREE_CLONES void unpacked_dot8(const float* lines, std::span<const Example> x, float scale,
                                    float* const* p) {
  constexpr std::size_t most = FrozenLineWeights::together;
  f32x8 sums[most]{};
  std::size_t begin = 0;
  const auto add = [&](std::size_t i, std::size_t feature) {
    sums[i] += x[i].value[feature] * simd::load(lines + 8 * x[i].key[feature]);
  };
  if (x.size() == most) {
    for (std::size_t all = shortest(x); begin < all; ++begin) {
      for (std::size_t i = 0; i < most; ++i) add(i, begin);
    }
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    for (std::size_t feature = begin; feature < x[i].size; ++feature) add(i, feature);
    simd::store(p[i], finite(scale * sums[i]));
  }
}

// Of n features from the first on.
template <class Code>
LABELTREE_INLINE void unpack(const Group* groups, const std::uint8_t* bytes, Address at,
                             std::size_t n, float* lines) {
  FoundLines found;
  for (std::size_t feature = 0; feature < n; ++feature) {
    const std::uint64_t key = feature;
    const float one = 1.0f;
    const Example x{&key, nullptr, &one, 1, 0.0f, 0.0f, nullptr, nullptr, 0};
    find(groups, bytes, at, x, 0, found);
    simd::store(lines + 8 * feature, found.size > 0 ? weights_of<Code>(found, 0) : f32x8{});
  }
}

LABELTREE_CLONES void cube_dot8(const Group* groups, const std::uint8_t* bytes, Address at,
                                const Example& x, FoundLines& found, float scale, float* p) {
  line_dot8<Cube>(groups, bytes, at, x, found, scale, p);
}

LABELTREE_CLONES void cube_unpack(const Group* groups, const std::uint8_t* bytes, Address at,
                                  std::size_t n, float* lines) {
  unpack<Cube>(groups, bytes, at, n, lines);
}

LABELTREE_CLONES void bfloat16_unpack(const Group* groups, const std::uint8_t* bytes, Address at,
                                      std::size_t n, float* lines) {
  unpack<bfloat16>(groups, bytes, at, n, lines);
}

LABELTREE_CLONES void bfloat16_dot8(const Group* groups, const std::uint8_t* bytes, Address at,
                                    const Example& x, FoundLines& found, float scale, float* p) {
  line_dot8<bfloat16>(groups, bytes, at, x, found, scale, p);
}

}  // namespace kernel

FrozenLineWeights::FrozenLineWeights(const LineWeights& weights, std::size_t models, float keep)
    : FrozenLineWeights(weights.map()) {
  code_size_ = keep < 1.0f ? sizeof(Cube) : sizeof(bfloat16);
  if (code_size_ == sizeof(Cube)) {
    pack<Cube>(weights, map_.lines(models), keep);
  } else {
    pack<bfloat16>(weights, map_.lines(models), keep);
  }
}

template <class Code>
void FrozenLineWeights::pack(const LineWeights& weights, std::size_t lines, float keep) {
  const LineTable& table = weights.table();
  const auto sum = [&](const float* line, std::size_t lane) {
    return weights.has_sums() ? line[8 + lane] : 0.0f;
  };
  Pruning pruning;
  table.visit([&](std::size_t number) {
    const float* line = table.row(number);
    for (std::size_t lane = 0; lane < 8; ++lane) pruning.note(line[lane], sum(line, lane));
  });
  pruning.settle(keep);
  const auto visit_kept = [&](auto visit) {  // zero for weights that are left out
    table.visit([&](std::size_t number) {
      if (number >= lines) return;
      const float* line = table.row(number);
      float kept[8];
      for (std::size_t lane = 0; lane < 8; ++lane) {
        kept[lane] = pruning.keeps(line[lane], sum(line, lane)) ? line[lane] : 0.0f;
      }
      visit(number, kept);
    });
  };
  float largest = 0.0f;
  std::size_t used = 0, codes = 0;
  visit_kept([&](std::size_t, const float* kept) {
    for (std::size_t lane = 0; lane < 8; ++lane) largest = std::max(largest, std::abs(kept[lane]));
  });
  scale_ = sizeof(Code) == 1 ? cube_scale(largest) : 1.0f;
  const auto visit_codes = [&](auto visit) {
    visit_kept([&](std::size_t number, const float* kept) {
      Code code[8];
      for (std::size_t lane = 0; lane < 8; ++lane) {
        code[lane] = kept[lane] == 0.0f ? Code{} : encoded<Code>(kept[lane], scale_);
      }
      visit(number, code);
    });
  };
  visit_codes([&](std::size_t, const Code* code) { count_codes(code, used, codes); });
  LinePacker<Code> packer(lines, used, codes);
  visit_codes([&](std::size_t number, const Code* code) { packer.add(number, code); });
  std::tie(groups_, bytes_) = std::move(packer).finish();
}

// From lines in few bytes to whole ones, which are found and read in less time.
void FrozenLineWeights::make_whole() {
  std::size_t used = 0;
  groups_.visit_rows(1, [&](std::size_t i) { used += std::popcount(used_lines(groups_.data()[i])); });
  AlignedArray<std::uint8_t> lines(whole_lines::bytes * (used + 1));  // one that may be read behind them
  std::uint8_t* line = lines.data();
  groups_.visit_rows(1, [&](std::size_t i) {
    Group& group = groups_.data()[i];
    const int size = std::popcount(used_lines(group));
    const std::uint8_t* lanes = bytes_.data() + begin_of(group);
    const std::uint8_t* code = lanes + size;
    group = used_lines(group) | static_cast<Group>(line - lines.data()) << 16;
    for (int next = 0; next < size; ++next, line += whole_lines::bytes) {
      for (unsigned lane = 0; lane < 8; ++lane) {
        if (lanes[next] >> lane & 1) line[whole_lines::place(lane)] = *code++;
      }
    }
  });
  bytes_ = SharedArray<std::uint8_t>(std::move(lines));
  are_whole_ = true;
}

// And back, to be saved.
FrozenLineWeights FrozenLineWeights::packed(std::size_t lines) const {
  const auto visit_lines = [&](auto visit) {
    groups_.visit_rows(1, [&](std::size_t i) {
      const Group group = groups_.data()[i];
      const std::uint8_t* line = bytes_.data() + begin_of(group);
      for (std::uint32_t left = used_lines(group); left != 0; left &= left - 1) {
        Cube code[8];
        for (std::size_t lane = 0; lane < 8; ++lane) {
          code[lane] = static_cast<Cube>(line[whole_lines::place(lane)]);
        }
        visit(group_lines * i + static_cast<unsigned>(std::countr_zero(left)), code);
        line += whole_lines::bytes;
      }
    });
  };
  std::size_t used = 0, codes = 0;
  visit_lines([&](std::size_t, const Cube* line) { count_codes(line, used, codes); });
  LinePacker<Cube> packer(lines, used, codes);
  visit_lines([&](std::size_t number, const Cube* line) { packer.add(number, line); });
  FrozenLineWeights out(map_);
  out.scale_ = scale_;
  std::tie(out.groups_, out.bytes_) = std::move(packer).finish();
  return out;
}

void FrozenLineWeights::prefetch(std::size_t block, const Example& x) const {
  prefetch_groups(groups_.data(), map_.address(block), x, 0);
}

void FrozenLineWeights::find(std::size_t block, const Example& x, FoundLines& found) const {
  const auto find = are_whole_ ? whole_lines::find : kernel::packed_find;
  find(groups_.data(), bytes_.data(), map_.address(block), x, 0, found);
}

float FrozenLineWeights::dot(std::size_t model, const Example& x) const {
  FoundLines found;
  float p[8];
  prefetch(model / 8, x);
  find(model / 8, x, found);
  dot8(model / 8, x, found, p);
  return p[model % 8];
}

void FrozenLineWeights::dot8(std::size_t block, const Example& x, FoundLines& found,
                             float* p) const {
  const auto dot8 = are_whole_                      ? whole_lines::dot8
                    : code_size_ == sizeof(Cube) ? kernel::cube_dot8
                                                 : kernel::bfloat16_dot8;
  dot8(groups_.data(), bytes_.data(), map_.address(block), x, found, scale_, p);
}

// Whole lines are unpacked one after the other, which is quicker than to look up a third of them.
bool FrozenLineWeights::is_worth_unpacking(std::size_t look_ups) const {
  return map_.is_exact() && (are_whole_ ? 3 : 1) * look_ups >= map_.lines(1);
}

void FrozenLineWeights::unpack(std::size_t block, AlignedFloats& lines) const {
  const std::size_t features = map_.lines(1);
  if (lines.size() < 8 * features) lines = AlignedFloats(8 * features);
  const auto unpack = are_whole_                      ? whole_lines::unpack
                      : code_size_ == sizeof(Cube) ? kernel::cube_unpack
                                                   : kernel::bfloat16_unpack;
  unpack(groups_.data(), bytes_.data(), map_.address(block), features, lines.data());
}

void FrozenLineWeights::dot8_unpacked(std::size_t /*block*/, const AlignedFloats& lines,
                                      std::span<const Example> x, float* const* p) const {
  kernel::unpacked_dot8(lines.data(), x, scale_, p);
}

void FrozenLineWeights::visit_state(StateVisitor& state, const std::string& name,
                                    std::size_t models) {
  if (are_whole_ && !state.restoring()) {
    return packed(map_.lines(models)).visit_state(state, name, models);
  }
  state.value(name + "_code_size", code_size_);
  state.value(name + "_scale", scale_);
  state.shared(name, bytes_);
  visit_groups(state, name, map_.lines(models));
  if (state.restoring() && !state.borrowing() && code_size_ == sizeof(Cube)) make_whole();
}

// Of each group which lines are used, and how many codes these have. Of a table that is nearly empty only
// the groups that have a used line, with their numbers.
void FrozenLineWeights::visit_groups(StateVisitor& state, const std::string& name,
                                     std::size_t lines) {
  const std::size_t groups = (lines + group_lines - 1) / group_lines;
  std::vector<std::uint64_t> number;
  SharedArray<std::uint16_t> used;
  SharedArray<std::uint8_t> codes;
  const auto runs = [&](std::size_t i) { return number.empty() ? i : number[i]; };
  if (!state.restoring()) {
    groups_.visit_rows(1, [&](std::size_t i) {
      if (groups_.data()[i] != 0) number.push_back(i);
    });
    if (4 * number.size() >= groups) number.clear();
    const std::size_t n = number.empty() ? groups : number.size();
    AlignedArray<std::uint16_t> bits(n);
    AlignedArray<std::uint8_t> counts(n);
    std::uint64_t end = bytes_.size() - margin;
    for (std::size_t i = n; i-- > 0;) {
      const Group group = groups_.data()[runs(i)];
      if (group == 0) continue;
      bits.data()[i] = static_cast<std::uint16_t>(group);
      const std::uint64_t begin = (group >> 16) + std::popcount(group & 0xffff);
      counts.data()[i] = static_cast<std::uint8_t>((end - begin) / code_size_);
      end = group >> 16;
    }
    used = SharedArray<std::uint16_t>(std::move(bits));
    codes = SharedArray<std::uint8_t>(std::move(counts));
  }
  state.ascending(name + "_group", number);
  state.shared(name + "_used", used);
  state.shared(name + "_codes", codes);
  if (!state.restoring()) return;
  const auto require = StateVisitor::require;
  require(code_size_ == sizeof(Cube) || code_size_ == sizeof(bfloat16),
          "the saved array " + name + " has codes of an unknown size");
  require((used.size() == number.size() || (number.empty() && used.size() == groups)) &&
              used.size() == codes.size() && bytes_.size() >= margin,
          "the saved arrays of " + name + " differ in length");
  require(number.empty() || number.back() < groups,
          "the saved array " + name + "_group has a group too many");
  groups_ = AlignedArray<Group>(groups, Pages::small);
  std::uint64_t end = 0;
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (used[i] == 0) continue;
    groups_.data()[runs(i)] = end << 16 | used[i];
    end += std::popcount(used[i]) + code_size_ * codes[i];
  }
  require(end + margin == bytes_.size(),
          "the saved array " + name + " is not of the size of its groups");
}

}  // namespace labeltree
