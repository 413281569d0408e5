#include "linear/bank.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <functional>
#include <stdexcept>
#include <string>

#include "linear/dual.hpp"

namespace labeltree {
namespace {

// Numbers beyond this are not learned from: a few more of them, and a sum would be infinite.
constexpr float largest_learnable = 1e30f;

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

}  // namespace

Bank::Bank(const BankParams& params)
    : params_(params),
      slots_(params.layout == Layout::hashed
                 ? std::min({params.features, std::uint64_t{1} << params.bits, most_slots})
                 : params.features),
      largest_(slots_ + 1),
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

// Calls visit(weights) with weights that can learn.
template <class Visit>
void Bank::visit_learning(Visit visit) {
  if (auto* dense = std::get_if<DenseWeights>(&weights_)) return visit(*dense);
  if (auto* lines = std::get_if<LineWeights>(&weights_)) return visit(*lines);
  throw std::logic_error("a frozen bank cannot learn");
}

// Every feature of every model has a weight, in whole blocks of models, but for the hashed layout.
void Bank::require_room(std::uint64_t models) const {
  const std::uint64_t most =
      params_.layout == Layout::hashed ? most_weights : most_weights / (slots_ + 1) / 8 * 8;
  if (models > most) {
    throw std::length_error(std::to_string(models) + " linear models of " +
                            std::to_string(slots_) + " features have more than 2^" +
                            std::to_string(LineWeights::largest_bits) +
                            " weights; choose the hashed layout");
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
      for (const std::size_t feature : observed) {
        const WeightRef w = weights.at(model, weights.key(feature));
        w.weight = 0.0f;
        if (w.gradient_sum != nullptr) *w.gradient_sum = 0.0f;
      }
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

std::size_t Bank::slot(std::uint64_t feature) const {
  return params_.features <= slots_ ? feature : mix64(feature) % slots_;
}

template <class Visit>
void Bank::visit_entries(const Matrix& X, std::size_t row, Visit visit) const {
  if (X.dense()) {
    const float* values = X.values + row * X.cols;
    for (std::size_t i = 0; i < X.cols; ++i) {
      if (values[i] != 0.0f) visit(slot(i), values[i]);
    }
  } else {
    for (std::int64_t i = X.indptr[row]; i < X.indptr[row + 1]; ++i) {
      visit(slot(X.indices[i]), X.values[i]);
    }
  }
}

template <class Visit>
void Bank::visit_observed(Visit visit) const {
  largest_.visit_rows(1, [&](std::size_t i) {
    if (largest_.data()[i] > 0.0f) visit(i);
  });
}

void Bank::look_ahead(const Matrix& X, const float* weight) {
  if (!weighs_rows()) return;
  std::vector<std::uint32_t> seen;
  for (std::size_t row = 0; row < X.rows; ++row) {
    if (weight != nullptr && !(weight[row] > 0.0f)) continue;
    note_largest(X, row);
    if (!documents_) continue;
    seen.clear();
    visit_entries(X, row, [&](std::size_t slot, float /*value*/) {
      if (largest_.data()[slot] > 0.0f) seen.push_back(static_cast<std::uint32_t>(slot));
    });
    documents_->count(seen);
    ++counted_ahead_;
  }
}

void Bank::note_largest(const Matrix& X, std::size_t row) {
  float* largest = largest_.data();
  visit_entries(X, row, [&](std::size_t slot, float value) {
    largest[slot] = std::max(largest[slot], std::abs(value));
  });
}

void Bank::begin_pass(bool again) {
  counting_ = !again;
  counted_ahead_ = 0;
}

void Bank::observe(const Matrix& X, std::size_t row, float weight, ExampleBuffer& out) {
  note_largest(X, row);
  encode(X, row, out);
  ExampleBuffer::Entry& entry = out.entries_.back();
  if (entry.squared_norm < largest_learnable) {
    total_weight_ += weight;
    total_norm_ += double{weight} * entry.squared_norm;
  }
  entry.rate = rate();
  if (!documents_ || !counting_) return;
  if (counted_ahead_ > 0) {
    --counted_ahead_;
  } else {
    documents_->count({out.slots_.data() + entry.key_begin, entry.size - 1});
  }
}

float Bank::rate() const {
  return total_norm_ > 0.0 ? static_cast<float>(std::sqrt(total_weight_ / total_norm_)) : 1.0f;
}

void Bank::encode_again(const Matrix& X, std::size_t row, ExampleBuffer& out) const {
  encode(X, row, out);
  out.entries_.back().rate = rate();
}

// Weighs and scales the features of the example that is being encoded, without the constant.
void Bank::weigh(ExampleBuffer& out, ExampleBuffer::Entry& entry) const {
  const std::span<float> values(out.values_.data() + entry.value_begin, entry.size);
  if (documents_) documents_->weigh({out.slots_.data() + entry.key_begin, entry.size}, values);
  double squares = 0.0;
  for (const float value : values) squares += double{value} * value;
  const double scale = squares > 0.0 ? 1.0 / std::sqrt(squares) : 0.0;
  entry.squared_norm = 1.0f;
  for (float& value : values) {
    value = static_cast<float>(value * scale);
    entry.squared_norm += value * value;
  }
}

void Bank::encode(const Matrix& X, std::size_t row, ExampleBuffer& out) const {
  const bool dense = X.dense() && params_.layout == Layout::dense && !documents_;
  const bool scaled = params_.scale == Scale::max;
  const float* largest = largest_.data();
  ExampleBuffer::Entry entry{out.keys_.size(), out.values_.size(), 0, 1.0f, 1.0f, dense};
  if (dense) {
    entry.size = padded(slots_ + 1);
    out.values_.resize(entry.value_begin + entry.size, 0.0f);
    float* value = out.values_.data() + entry.value_begin;
    const float* values = X.values + row * X.cols;
    for (std::size_t i = 0; i < slots_; ++i) {
      value[i] = largest[i] > 0.0f ? (scaled ? values[i] / largest[i] : values[i]) : 0.0f;
      entry.squared_norm += value[i] * value[i];
    }
    if (weighs_rows()) weigh(out, entry);
    value[slots_] = 1.0f;
  } else {
    std::visit(
        [&](const auto& weights) {
          const auto append = [&](std::size_t slot, float value) {
            if (largest[slot] == 0.0f) return;
            if (scaled) value /= largest[slot];
            out.keys_.push_back(weights.key(slot));
            out.slots_.push_back(static_cast<std::uint32_t>(slot));
            out.values_.push_back(value);
            entry.squared_norm += value * value;
          };
          visit_entries(X, row, append);
          entry.size = out.keys_.size() - entry.key_begin;
          if (weighs_rows()) weigh(out, entry);
          out.keys_.push_back(weights.key(slots_));
          out.slots_.push_back(static_cast<std::uint32_t>(slots_));
          out.values_.push_back(1.0f);
          ++entry.size;
        },
        weights_);
  }
  out.entries_.push_back(entry);
}

void Bank::add_indicator(std::uint64_t number, ExampleBuffer& out) const {
  ExampleBuffer::Entry& entry = out.entries_.back();
  entry.squared_norm += 1.0f;
  if (params_.layout != Layout::hashed) {
    out.indicators_.push_back(LineMap::hash(number));
    out.ones_.push_back(1.0f);
  } else {
    out.keys_.push_back(LineMap::hash(slots_ + 1 + number));
    out.values_.push_back(1.0f);
    ++entry.size;
  }
}

void Bank::remove_indicators(const Example& before, ExampleBuffer& out) const {
  ExampleBuffer::Entry& entry = out.entries_.back();
  entry.squared_norm = before.squared_norm;
  out.indicators_.resize(before.indicators);
  out.ones_.resize(before.indicators);
  if (!entry.dense) {
    out.keys_.resize(entry.key_begin + before.size);
    out.values_.resize(entry.value_begin + before.size);
    entry.size = before.size;
  }
}

// The indicators of an example as an example of their own.
Example Bank::indicators(const Example& x) {
  return {x.indicator, nullptr, x.indicator_value, x.indicators, 0.0f, x.rate, nullptr, nullptr, 0};
}

void Bank::prefetch(std::size_t block, const Example& x) const {
  if (const auto* weights = std::get_if<LineWeights>(&weights_)) weights->prefetch(block, x);
  if (const auto* weights = std::get_if<FrozenLineWeights>(&weights_)) weights->prefetch(block, x);
}

float Bank::predict(std::size_t model, const Example& x) const {
  const float p = std::visit([&](const auto& weights) { return weights.dot(model, x); }, weights_);
  if (x.indicators == 0) return p;
  return p + (params_.frozen ? frozen_indicator_weights_->dot(model, indicators(x))
                             : indicator_weights_->dot(model, indicators(x)));
}

void Bank::predict8(std::size_t block, const Example& x, float* p) const {
  std::visit([&](const auto& weights) { weights.dot8(block, x, p); }, weights_);
  add_indicators(block, x, p);
}

bool Bank::unpack(std::size_t block, std::size_t values, AlignedFloats& unpacked) const {
  const auto* lines = std::get_if<FrozenLineWeights>(&weights_);
  return lines != nullptr && lines->unpack(block, values, unpacked);
}

void Bank::predict8(std::size_t block, const AlignedFloats& unpacked, const Example& x,
                    float* p) const {
  std::get<FrozenLineWeights>(weights_).dot8_unpacked(unpacked, x, p);
  add_indicators(block, x, p);
}

void Bank::add_indicators(std::size_t block, const Example& x, float* p) const {
  if (x.indicators == 0) return;
  float more[8];
  if (params_.frozen) {
    frozen_indicator_weights_->dot8(block, indicators(x), more);
  } else {
    indicator_weights_->dot8(block, indicators(x), more);
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
  const double length = total_weight_ > 0.0 ? total_norm_ / total_weight_ - 1.0 : 1.0;
  return rule.C * weight / static_cast<float>(std::max(length, 1e-6));
}

void Bank::learn(std::size_t model, const Example& x, float p, float y, float weight,
                 const Rule& rule, float* alpha) {
  if (rule.update == Update::dual) {
    if (!(x.squared_norm < largest_learnable)) return;
    const float before = alpha == nullptr ? 0.0f : *alpha;
    const float after = dual_step(before, y * p, x.squared_norm, weighed_C(weight, rule));
    if (alpha != nullptr) *alpha = after;
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
      const float before = alpha == nullptr ? 0.0f : alpha[lane];
      const float after = dual_step(before, y[lane] * p[lane], x.squared_norm, C);
      if (alpha != nullptr) alpha[lane] = after;
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
    visit_observed([&](std::size_t feature) {
      const WeightRef w = weights.at(model, weights.key(feature));
      w.weight = 0.0f;
      if (w.gradient_sum != nullptr) *w.gradient_sum = 0.0f;
    });
  });
  if (params_.step_counts) steps_[model] = 0.0;
}

void Bank::copy(std::size_t from, std::size_t to) {
  visit_learning([&](auto& weights) {
    visit_observed([&](std::size_t feature) {
      const std::uint64_t key = weights.key(feature);
      const WeightRef source = weights.at(from, key);
      const WeightRef target = weights.at(to, key);
      target.weight = source.weight;
      if (target.gradient_sum != nullptr) *target.gradient_sum = *source.gradient_sum;
    });
  });
  if (params_.step_counts) steps_[to] = steps_[from];
}

void Bank::visit_state(StateVisitor& state, const std::string& prefix) {
  state.value(prefix + "total_weight", total_weight_);
  state.value(prefix + "total_norm", total_norm_);
  if (params_.frozen || state.freezing()) {
    visit_seen(state, prefix);
    visit_documents(state, prefix);
    visit_frozen(state, prefix, state.freezing().value_or(1.0f));
    return;
  }
  state.table(prefix + "largest", largest_, 1);
  visit_documents(state, prefix);
  if (state.restoring() && !state.has(prefix + "n_models")) {  // as all models were saved once
    state.array(prefix + "steps", steps_);
    models_ = steps_.size();
    if (!params_.step_counts) steps_ = {};
  } else if (params_.step_counts) {
    state.array(prefix + "steps", steps_);
    models_ = steps_.size();
  } else {
    state.value(prefix + "n_models", models_);
  }
  state.optional(prefix + "spare", spare_);
  if (state.restoring()) {
    require_room(models_);
    for (const std::uint32_t block : spare_) {
      StateVisitor::require((std::size_t{block} + 1) * 8 <= models_,
                            "the saved model has a spare model that does not exist");
    }
  }
  visit_learning([&](auto& weights) {
    if (state.restoring()) weights.resize(models());
    state.table(prefix + "weights", weights.table(), weights.row_size());
  });
  if (indicator_weights_) {
    state.table(prefix + "indicator_weights", indicator_weights_->table(),
                indicator_weights_->row_size());
  }
}

// The features that were seen, for prediction: how large their values were matters only if they are divided
// by that.
void Bank::visit_seen(StateVisitor& state, const std::string& prefix) {
  std::vector<std::uint64_t> seen;
  std::vector<float> largest;
  const bool scaled = params_.scale == Scale::max;
  if (!state.restoring()) {
    visit_observed([&](std::size_t slot) {
      seen.push_back(slot);
      if (scaled) largest.push_back(largest_.data()[slot]);
    });
  }
  state.ascending(prefix + "seen", seen);
  if (scaled) state.array(prefix + "largest", largest);
  if (!state.restoring()) return;
  StateVisitor::require(!scaled || seen.size() == largest.size(),
                        "the saved arrays " + prefix + "seen and " + prefix +
                            "largest differ in length");
  for (std::size_t i = 0; i < seen.size(); ++i) {
    StateVisitor::require(seen[i] < largest_.size(), "the saved array " + prefix +
                                                         "seen has a feature that does not exist");
    largest_.data()[seen[i]] = scaled ? largest[i] : 1.0f;
  }
}

void Bank::visit_documents(StateVisitor& state, const std::string& prefix) {
  if (!documents_) return;
  std::uint64_t documents = documents_->documents();
  std::vector<std::uint32_t> places, counts;
  if (!state.restoring()) documents_->used(places, counts);
  state.value(prefix + "documents", documents);
  state.array(prefix + "document_places", places);
  state.array(prefix + "document_counts", counts);
  if (state.restoring()) documents_->add(documents, places, counts);
  if (params_.frozen || state.freezing()) return;
  std::uint64_t counting = counting_;
  state.value(prefix + "counting", counting);
  if (state.restoring()) counting_ = counting != 0;
}

// The weights in the form for prediction, whichever form they have here.
void Bank::visit_frozen(StateVisitor& state, const std::string& prefix, float keep) {
  state.value(prefix + "models", models_);
  require_room(models_);
  const std::string name = prefix + "weights";
  if (const auto* dense = std::get_if<DenseWeights>(&weights_)) {
    FrozenDenseWeights(slots_ + 1, *dense, models_, keep).visit_state(state, name, models_);
  } else if (const auto* lines = std::get_if<LineWeights>(&weights_)) {
    FrozenLineWeights(*lines, models_, keep).visit_state(state, name, models_);
  } else if (auto* frozen = std::get_if<FrozenDenseWeights>(&weights_)) {
    frozen->visit_state(state, name, models_);
  } else {
    std::get<FrozenLineWeights>(weights_).visit_state(state, name, models_);
  }
  if (indicator_weights_) {
    FrozenLineWeights(*indicator_weights_, models_, keep)
        .visit_state(state, prefix + "indicator_weights", models_);
  } else if (frozen_indicator_weights_) {
    frozen_indicator_weights_->visit_state(state, prefix + "indicator_weights", models_);
  }
}

}  // namespace labeltree
