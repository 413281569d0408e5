#include "linear/bank.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <functional>
#include <stdexcept>
#include <string>

#include "linear/dual.hpp"
#include "relaxed.hpp"

namespace labeltree {
namespace {

// Size of the table for the indicators of layouts that are not hashed.
constexpr unsigned indicator_bits = 22;

// More features than this share slots in the hashed layout.
constexpr std::uint64_t most_slots = std::uint64_t{1} << 28;

// Of all models together, in any layout.
constexpr std::uint64_t most_weights = std::uint64_t{1} << LineWeights::largest_bits;

// Learners number models by 32 bits. In the hashed layout numbers are not used again.
constexpr std::uint64_t most_models = std::uint64_t{1} << 32;

// h g^2, or 0 if nothing is to be learned: the loss is flat, or the numbers are out of all bounds.
float learnable(float p, float y, float weight, const Example& x, const Rule& rule) {
  const float g = gradient(rule.loss, p, y);
  if (std::abs(g) <= rule.min_gradient) return 0.0f;
  const float hg2 = weight * g * g;
  return hg2 * x.squared_norm < largest_learnable ? hg2 : 0.0f;
}

template <class Weights>
void set_zero(Weights& weights, std::size_t model, std::uint64_t key) {
  if (weights.is_zero(model, key)) return;
  const WeightRef w = weights.at(model, key);
  w.weight = 0.0f;
  if (w.gradient_sum != nullptr) *w.gradient_sum = 0.0f;
}

}  // namespace

Bank::Bank(const BankParams& params)
    : params_(params),
      slots_(params.layout == Layout::hashed
                 ? std::min({params.features, std::uint64_t{1} << params.bits, most_slots})
                 : params.features),
      // Few of so many features are ever seen, and these lie anywhere.
      largest_(slots_ + 1, slots_ > std::size_t{1} << 22 ? Pages::small : Pages::huge),
      weights_(DenseWeights(0)) {
  largest_.data()[slots_] = 1.0f;  // the constant feature
  if (params.scale == Scale::idf) {
    documents_.emplace(static_cast<unsigned>(std::bit_width(std::max<std::size_t>(slots_, 2) - 1)));
  }
  const bool dense = params.layout == Layout::dense, hashed = params.layout == Layout::hashed;
  const LineMap map = hashed ? LineMap::hashed(params.bits) : LineMap::exact(slots_ + 1);
  const LineMap indicator_map = LineMap::hashed(indicator_bits);
  if (params.frozen) {
    if (dense) {
      weights_.emplace<FrozenDenseWeights>(slots_ + 1);
    } else {
      weights_.emplace<FrozenLineWeights>(map);
    }
    if (!hashed && params.indicators) frozen_indicator_weights_.emplace(indicator_map);
  } else {
    if (dense) {
      weights_.emplace<DenseWeights>(slots_ + 1);
    } else {
      weights_.emplace<LineWeights>(map, params.gradient_sums);
    }
    if (!hashed && params.indicators) indicator_weights_.emplace(indicator_map, true);
  }
}

// Every feature of every model has a weight, in whole blocks of models, but for the hashed layout.
void Bank::require_room(std::uint64_t models) const {
  const std::uint64_t most =
      params_.layout == Layout::hashed ? most_weights : most_weights / (slots_ + 1) / 8 * 8;
  if (models > most) {
    throw std::length_error(std::to_string(models) + " linear models of " +
                            std::to_string(slots_) + " features have more than 2^" +
                            std::to_string(LineWeights::largest_bits) +
                            " weights; choose the hashed layout, or fewer features (of text, fewer "
                            "--hash-bits)");
  }
  if (models > most_models) {
    throw std::length_error("more than 2^32 linear models were made in the life of this learner; "
                            "start another one");
  }
}

void Bank::resize(std::size_t models) {
  if (models <= models_) return;
  require_room(models);
  visit_learning([&](auto& weights) { weights.resize(models); });
  if (params_.step_counts) steps_.resize(models, 0.0);
  models_ = models;
}

void Bank::reserve(std::size_t models) {
  require_room(models);
  visit_learning([&](auto& weights) { weights.resize(models); });
}

std::size_t Bank::add_block() {
  if (!spare_.empty()) {
    const std::uint32_t block = spare_.back();
    spare_.pop_back();
    return block;
  }
  const std::size_t block = (models() + 7) / 8;
  resize(8 * (block + 1));
  return block;
}

void Bank::give_up(std::span<const std::uint32_t> models, std::span<const std::uint32_t> blocks) {
  std::vector<std::size_t> observed;
  visit_observed([&](std::size_t feature) { observed.push_back(feature); });
  visit_learning([&](auto& weights) {
    const auto zero = [&](std::size_t model) {
      for (const std::size_t feature : observed) set_zero(weights, model, weights.key(feature));
      if (params_.step_counts) steps_[model] = 0.0;
    };
    for (const std::uint32_t model : models) zero(model);
    for (const std::uint32_t block : blocks) {
      for (std::size_t lane = 0; lane < 8; ++lane) zero(8 * std::size_t{block} + lane);
    }
  });
  spare_.insert(spare_.end(), blocks.begin(), blocks.end());
}

std::size_t Bank::bytes_of_model() const {
  if (params_.layout == Layout::hashed) return 0;
  return (slots_ + 1) * sizeof(float) * (params_.gradient_sums ? 2 : 1);
}

std::size_t Bank::add_below(std::size_t parent, bool right) {
  if (params_.layout != Layout::hashed) {  // where a block that is not full would cost memory
    resize(models() + 1);
    return models() - 1;
  }
  const std::size_t place = parent % 8;  // as in a heap: 1, then 2 and 3, then 4 to 7
  if (parent == no_model || place >= 4) return 8 * add_block() + 1;
  return parent + place + right;  // 2 place + right of the same block
}

// Calls visit(weights) if they lie in lines.
template <class Visit>
void Bank::visit_lines(Visit visit) const {
  if (const auto* lines = std::get_if<LineWeights>(&weights_)) visit(*lines);
  if (const auto* lines = std::get_if<FrozenLineWeights>(&weights_)) visit(*lines);
}

void Bank::prefetch(std::size_t block, const Example& x) const {
  visit_lines([&](const auto& weights) { weights.prefetch(block, x); });
}

float Bank::predict(std::size_t model, const Example& x) const {
  const float p = std::visit([&](const auto& weights) { return weights.dot(model, x); }, weights_);
  if (x.indicators == 0) return p;
  return p + (params_.frozen ? frozen_indicator_weights_->dot(model, indicators(x))
                             : indicator_weights_->dot(model, indicators(x)));
}

void Bank::predict8(std::size_t block, const Example& x, float* p) const {
  if (const auto* dense = std::get_if<DenseWeights>(&weights_)) dense->dot8(block, x, p);
  if (const auto* dense = std::get_if<FrozenDenseWeights>(&weights_)) dense->dot8(block, x, p);
  visit_lines([&](const auto& weights) {
    FoundLines found;
    weights.prefetch(block, x);
    weights.find(block, x, found);
    weights.dot8(block, x, found, p);
  });
  add_indicators(block, x, p);
}

void Bank::add_indicators(std::size_t block, const Example& x, float* p) const {
  if (x.indicators == 0) return;
  float more[8];
  const Example only = indicators(x);
  FoundLines found;
  const auto dot8 = [&](const auto& weights) {
    weights.find(block, only, found);
    weights.dot8(block, only, found, more);
  };
  if (params_.frozen) {
    dot8(*frozen_indicator_weights_);
  } else {
    dot8(*indicator_weights_);
  }
  std::transform(p, p + 8, more, p, std::plus());
}

// eta h, or eta h / t^power where t counts the weight of the examples shown to the model.
float Bank::step_size(std::size_t model, float weight, const Rule& rule) {
  const float step = std::min(rule.step * weight, largest_learnable);  // else weights are not finite
  if (rule.power == 0.0f || rule.update != Update::sgd) return step;
  const double shown =
      weight + std::atomic_ref(steps_[model]).fetch_add(weight, std::memory_order_relaxed);
  return std::min(step * static_cast<float>(std::pow(shown, -rule.power)), largest_learnable);
}

// As if rows had length one on average, so that one C serves rows of any units.
float Bank::weighed_C(float weight, const Rule& rule) const {
  const double total = read_relaxed(total_weight_);  // others may observe rows meanwhile
  const double length = total > 0.0 ? read_relaxed(total_norm_) / total - 1.0 : 1.0;
  return rule.C * rule.shards * weight / static_cast<float>(std::max(length, 1e-6));
}

void Bank::learn(std::size_t model, const Example& x, float p, float y, float weight,
                 const Rule& rule, float* alpha) {
  if (rule.update == Update::dual) {
    if (!(x.squared_norm < largest_learnable)) return;
    const float before = alpha == nullptr ? 0.0f : rule.shards * *alpha;
    const float after = dual_step(before, y * p, x.squared_norm, weighed_C(weight, rule));
    if (alpha != nullptr) *alpha = after / rule.shards;
    visit_learning([&](auto& weights) { weights.add(model, x, (after - before) * y); });
    return;
  }
  const float step = step_size(model, weight, rule);
  const float hg2 = learnable(p, y, weight, x, rule);
  if (hg2 == 0.0f) return;
  visit_learning([&](auto& weights) {
    const Example more = indicators(x);
    if (rule.update == Update::sgd) {
      const float u = importance_aware_step(rule.loss, p, y, x.squared_norm, step);
      weights.add(model, x, u);
      if (more.size > 0) indicator_weights_->add(model, more, u);
    } else {
      float kappa = weights.accumulate(model, x, hg2);
      if (more.size > 0) kappa += indicator_weights_->accumulate(model, more, hg2);
      const float u = x.rate * importance_aware_step(rule.loss, p, y, x.rate * kappa, step);
      weights.step(model, x, u);
      if (more.size > 0) indicator_weights_->step(model, more, u);
    }
  });
}

void Bank::learn8(std::size_t block, const Example& x, const float* p, const float* y,
                  float weight, const Rule& rule, unsigned active, float* alpha) {
  if (rule.update == Update::dual) {
    if (!(x.squared_norm < largest_learnable)) return;
    const float C = weighed_C(weight, rule);
    float u[8] = {};
    bool moving = false;
    for (unsigned lane = 0; lane < 8; ++lane) {
      if (!(active >> lane & 1)) continue;
      const float before = alpha == nullptr ? 0.0f : rule.shards * alpha[lane];
      const float after = dual_step(before, y[lane] * p[lane], x.squared_norm, C);
      if (alpha != nullptr) alpha[lane] = after / rule.shards;
      u[lane] = (after - before) * y[lane];
      moving |= u[lane] != 0.0f;
    }
    if (moving) visit_learning([&](auto& weights) { weights.add8(block, x, u); });
    return;
  }
  float hg2[8] = {};
  float step[8];
  bool moving = false;
  for (unsigned lane = 0; lane < 8; ++lane) {
    if (!(active >> lane & 1)) continue;
    step[lane] = step_size(8 * block + lane, weight, rule);
    hg2[lane] = learnable(p[lane], y[lane], weight, x, rule);
    moving |= hg2[lane] > 0.0f;
  }
  if (!moving) return;
  visit_learning([&](auto& weights) {
    float u[8] = {};
    if (rule.update == Update::sgd) {
      for (unsigned lane = 0; lane < 8; ++lane) {
        if (hg2[lane] == 0.0f) continue;
        u[lane] =
            importance_aware_step(rule.loss, p[lane], y[lane], x.squared_norm, step[lane]);
      }
      weights.add8(block, x, u);
    } else {
      float kappa[8];
      weights.accumulate8(block, x, hg2, kappa);
      for (unsigned lane = 0; lane < 8; ++lane) {
        if (hg2[lane] == 0.0f) continue;
        u[lane] = x.rate * importance_aware_step(rule.loss, p[lane], y[lane],
                                                 x.rate * kappa[lane], step[lane]);
      }
      weights.step8(block, x, u);
    }
  });
}

void Bank::zero(std::size_t model) {
  visit_learning([&](auto& weights) {
    visit_observed([&](std::size_t feature) { set_zero(weights, model, weights.key(feature)); });
  });
  if (params_.step_counts) steps_[model] = 0.0;
}

void Bank::copy(std::size_t from, std::size_t to) {
  visit_learning([&](auto& weights) {
    visit_observed([&](std::size_t feature) {
      const std::uint64_t key = weights.key(feature);
      if (weights.is_zero(from, key)) return set_zero(weights, to, key);
      const WeightRef source = weights.at(from, key);
      const WeightRef target = weights.at(to, key);
      target.weight = source.weight;
      if (target.gradient_sum != nullptr) *target.gradient_sum = *source.gradient_sum;
    });
  });
  if (params_.step_counts) steps_[to] = steps_[from];
}

}  // namespace labeltree
