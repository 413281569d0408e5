// What is saved of a bank, and how it is restored; in the form that learns, and in that for prediction.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "linear/bank.hpp"

namespace labeltree {

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
    weights.visit_state(state, prefix + "weights");
  });
  if (indicator_weights_) indicator_weights_->visit_state(state, prefix + "indicator_weights");
}

void Bank::exchange_weights(Bank& other) {
  const BankParams &mine = params_, &others = other.params_;
  const bool alike = mine.layout == others.layout && mine.bits == others.bits &&
                     mine.features == others.features && mine.indicators == others.indicators &&
                     mine.frozen == others.frozen && mine.gradient_sums == others.gradient_sums;
  StateVisitor::require(alike, "the weights are of a learner with other parameters");
  const std::size_t models = std::max(models_, other.models_);
  resize(models);
  other.resize(models);
  std::swap(weights_, other.weights_);
  std::swap(indicator_weights_, other.indicator_weights_);
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
  StateVisitor::require(seen.empty() || seen.back() < largest_.size(),
                        "the saved array " + prefix + "seen has a feature that does not exist");
  for (std::size_t i = 0; i < seen.size(); ++i) {
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
