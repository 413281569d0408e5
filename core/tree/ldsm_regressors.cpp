#include "tree/ldsm_regressors.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>
#include <type_traits>

#include "hash.hpp"
#include "linear/loss.hpp"
#include "linear/simd.hpp"

namespace labeltree {
namespace {

// GCC drops the attribute where the size depends on a template's parameter.
template <std::size_t lanes> struct Vector;
template <> struct Vector<2> {
  typedef float Float __attribute__((vector_size(8)));
  typedef std::int32_t Int __attribute__((vector_size(8)));
};
template <> struct Vector<4> {
  typedef float Float __attribute__((vector_size(16)));
  typedef std::int32_t Int __attribute__((vector_size(16)));
};
template <> struct Vector<8> {
  using Float = simd::f32x8;
  using Int = simd::i32x8;
};

template <std::size_t lanes>
LABELTREE_INLINE typename Vector<lanes>::Float load(const float* p) {
  typename Vector<lanes>::Float v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

template <class Float>
LABELTREE_INLINE void store(float* p, Float v) {
  std::memcpy(p, &v, sizeof v);
}

// Calls f with the number of lanes as a constant.
template <class F>
LABELTREE_INLINE void with_lanes(std::size_t lanes, F f) {
  switch (lanes) {
    case 2: f(std::integral_constant<std::size_t, 2>()); break;
    case 4: f(std::integral_constant<std::size_t, 4>()); break;
    default: f(std::integral_constant<std::size_t, 8>()); break;
  }
}

// The sum of the weights at the given places, times the values; four sums at a time, because an
// addition waits for the one before.
template <std::size_t n>
LABELTREE_INLINE typename Vector<n>::Float dot(const float* weights, const std::uint32_t* place,
                                               const float* value, std::size_t size) {
  typename Vector<n>::Float a{}, b{}, c{}, d{};
  std::size_t i = 0;
  for (; i + 4 <= size; i += 4) {
    a += load<n>(weights + n * place[i]) * value[i];
    b += load<n>(weights + n * place[i + 1]) * value[i + 1];
    c += load<n>(weights + n * place[i + 2]) * value[i + 2];
    d += load<n>(weights + n * place[i + 3]) * value[i + 3];
  }
  for (; i < size; ++i) a += load<n>(weights + n * place[i]) * value[i];
  return (a + b) + (c + d);
}

LABELTREE_CLONES
void look_up_scores(const FeatureIndex& features, const float* weights, std::size_t lanes,
                    const LdsmExample& x, float* p) {
  with_lanes(lanes, [&](auto n) {
    constexpr std::size_t block = 64;  // all places first, then all weights: no load waits
    std::uint32_t place[block];
    typename Vector<n>::Float sum{};
    for (std::size_t i = 0; i < x.feature.size(); i += block) {
      const std::size_t size = std::min(block, x.feature.size() - i);
      features.find_all(x.feature.data() + i, size, place);
      sum += dot<n>(weights, place, x.value.data() + i, size);  // place 0 has weights of zero
    }
    store(p, sum);
  });
}

LABELTREE_CLONES
void local_scores(const float* weights, std::size_t lanes, const LdsmLocalRow& x, float* p) {
  with_lanes(lanes, [&](auto n) {
    store(p, dot<n>(weights, x.feature, x.value, x.size));
  });
}

// w += u x.
LABELTREE_CLONES
void add(float* weights, std::size_t lanes, const LdsmLocalRow& x, const float* u) {
  with_lanes(lanes, [&](auto n) {
    const auto by = load<n>(u);
    for (std::size_t i = 0; i < x.size; ++i) {
      float* w = weights + n * x.feature[i];
      store(w, load<n>(w) + by * x.value[i]);
    }
  });
}

// 1 - exp(-t).
float saturation(float t) {
  if (t < 0.05f) return t * (1.0f - t * (0.5f - t * (1.0f / 6.0f - t / 24.0f)));
  return -std::expm1(-t);
}

}  // namespace

std::size_t LdsmRegressors::lanes_for(std::size_t arity) { return std::bit_ceil(arity); }

LdsmRegressors::LdsmRegressors(std::size_t arity, std::vector<std::uint32_t> features,
                               std::span<const float> weights)
    : lanes_(lanes_for(arity)),
      features_(std::move(features)),
      weights_(lanes_ + weights.size(), 0.0f) {
  std::copy(weights.begin(), weights.end(), weights_.begin() + lanes_);
}

Scores LdsmRegressors::scores(const LdsmExample& x) const {
  Scores p{};
  look_up_scores(features_, weights_.data(), lanes_, x, p.data());
  return p;
}

void LdsmRegressors::learn(const LdsmExample& x, const Scores& p, unsigned s, float step) {
  Scores u{};
  for (std::size_t m = 0; m < lanes_; ++m) {
    u[m] = importance_aware_step(Loss::squared, p[m], static_cast<float>(s >> m & 1),
                                 x.squared_norm, step * x.weight);
  }
  for (std::size_t i = 0; i < x.feature.size(); ++i) {
    const std::uint32_t place = features_.add(x.feature[i]);
    weights_.resize((features_.size() + 1) * lanes_);
    for (std::size_t m = 0; m < lanes_; ++m) weights_[place * lanes_ + m] += u[m] * x.value[i];
  }
}

unsigned route(const Scores& p, unsigned allowed) {
  unsigned sent = 0;
  unsigned best = std::countr_zero(allowed);
  for (unsigned m = best; allowed >> m != 0; ++m) {
    if (!(allowed >> m & 1)) continue;
    if (p[m] > 0.5f) sent |= 1u << m;
    if (p[m] > p[best]) best = m;
  }
  return sent != 0 ? sent : 1u << best;
}

LdsmTrainer::LdsmTrainer(const LdsmParams& params)
    : params_(params),
      lanes_(LdsmRegressors::lanes_for(params.arity)),
      objective_(params.arity, params.lambda1, params.lambda2) {}

// Copies the examples, their labels and the features that enough of them have numbered within the
// node, in sorted order.
void LdsmTrainer::gather(std::span<const LdsmExample> examples,
                         std::span<const std::uint32_t> ids) {
  static constexpr std::uint32_t unseen = 0xffffffffu;
  // Counts values, in an array over all of them, and lists those that occur.
  const auto note = [](std::span<const std::uint32_t> values, std::vector<std::uint32_t>& local,
                       std::vector<std::uint32_t>& list) {
    for (const std::uint32_t value : values) {
      if (value >= local.size()) local.resize(value + 1, unseen);
      if (local[value] == unseen) {
        local[value] = 0;
        list.push_back(value);
      }
      ++local[value];
    }
  };
  const auto number = [](std::vector<std::uint32_t>& list, std::vector<std::uint32_t>& local,
                         std::size_t least) {
    std::erase_if(list, [&](std::uint32_t value) {
      if (local[value] >= least) return false;
      local[value] = unseen;
      return true;
    });
    std::sort(list.begin(), list.end());
    for (std::uint32_t i = 0; i < list.size(); ++i) local[list[i]] = i;
  };
  features_.clear();
  labels_.clear();
  for (const std::uint32_t id : ids) {
    note(examples[id].feature, local_feature_, features_);
    note(examples[id].labels, local_label_, labels_);
  }
  number(features_, local_feature_, params_.min_feature_rows);
  number(labels_, local_label_, 1);
  rows_.clear();
  row_feature_.clear();
  row_value_.clear();
  row_label_.clear();
  for (const std::uint32_t id : ids) {
    const LdsmExample& x = examples[id];
    Row row{static_cast<std::uint32_t>(row_feature_.size()), 0,
            static_cast<std::uint32_t>(row_label_.size()), 0, x.weight, 0.0f};
    for (std::size_t i = 0; i < x.feature.size(); ++i) {
      if (local_feature_[x.feature[i]] == unseen) continue;
      row_feature_.push_back(local_feature_[x.feature[i]]);
      row_value_.push_back(x.value[i]);
      row.squared_norm += x.value[i] * x.value[i];
    }
    for (const LabelId label : x.labels) row_label_.push_back(local_label_[label]);
    row.feature_end = static_cast<std::uint32_t>(row_feature_.size());
    row.label_end = static_cast<std::uint32_t>(row_label_.size());
    rows_.push_back(row);
  }
  for (const std::uint32_t feature : features_) local_feature_[feature] = unseen;
  for (const LabelId label : labels_) local_label_[label] = unseen;
  weights_.assign(features_.size() * lanes_, 0.0f);
  label_sent_.assign(labels_.size() * params_.arity, 0.0);
}

bool LdsmTrainer::train(std::span<const LdsmExample> examples, std::span<const std::uint32_t> ids,
                        float rate, std::uint64_t seed, const StopRequested& stop) {
  gather(examples, ids);
  nag_.begin(features_.size(), lanes_);
  const bool plain = params_.update == LdsmUpdate::plain;
  const float step = params_.step * rate * rate;
  order_.resize(rows_.size());
  std::iota(order_.begin(), order_.end(), 0u);
  const std::size_t M = params_.arity;
  double seen = 0.0;   // weight of the examples
  Sent sent{};         // C_v P_m
  double total = 0.0;  // C_v
  const auto view = [&](const Row& row) -> LdsmLocalRow {
    return {row_feature_.data() + row.feature_begin, row_value_.data() + row.feature_begin,
            row.feature_end - row.feature_begin};
  };
  for (std::size_t epoch = 0; epoch < params_.epochs; ++epoch) {
    if (stop()) return false;
    if (epoch > 0 && params_.reorder) shuffle(std::span(order_), seed);
    for (const std::uint32_t i : order_) {
      const Row& row = rows_[i];
      if (row.label_begin == row.label_end) continue;
      const LdsmLocalRow x = view(row);
      const std::span<const std::uint32_t> y{row_label_.data() + row.label_begin,
                                             row.label_end - row.label_begin};
      const double mass = double{row.weight} * static_cast<double>(y.size());
      total += mass;
      objective_.begin(sent, total, mass);
      for (const std::uint32_t k : y) objective_.add_label(&label_sent_[k * M], row.weight);
      const unsigned s = objective_.best();

      // Train w_m with (x, s_m); a plain step takes the prediction to p_m + norm u_m.
      Scores p{}, u{};
      if (plain) {
        seen += row.weight;
        const float eta = step * row.weight / static_cast<float>(std::sqrt(seen));
        const float share = saturation(2.0f * eta * row.squared_norm);
        local_scores(weights_.data(), lanes_, x, p.data());
        for (std::size_t m = 0; m < M; ++m) {
          const float moved = (static_cast<float>(s >> m & 1) - p[m]) * share;
          u[m] = moved / row.squared_norm;
          p[m] += moved;
        }
        add(weights_.data(), lanes_, x, u.data());
      } else {
        nag_.learn(weights_, x, s, row.weight, params_.step);
        local_scores(weights_.data(), lanes_, x, p.data());
      }

      for (std::size_t m = 0; m < M; ++m) {
        const double pred = std::clamp(p[m], 0.0f, 1.0f);
        sent[m] += mass * pred;
        for (const std::uint32_t k : y) label_sent_[k * M + m] += row.weight * pred;
      }
    }
  }
  sent_.clear();
  for (const Row& row : rows_) {
    Scores p{};
    local_scores(weights_.data(), lanes_, view(row), p.data());
    sent_.push_back(route(p, (1u << M) - 1));
  }
  return true;
}

LdsmRegressors LdsmTrainer::regressors(const LdsmScale* scale) const {
  std::vector<float> weights = weights_;
  for (std::size_t i = 0; scale != nullptr && i < weights.size(); ++i) {
    weights[i] *= (*scale)[features_[i / lanes_]];
  }
  return {params_.arity, features_, weights};
}

}  // namespace labeltree
