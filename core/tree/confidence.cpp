#include "tree/confidence.hpp"

#include <algorithm>

#include "tree/log_odds.hpp"

namespace labeltree {
namespace {

// A copy of numbers, filled up to a multiple of eight.
void copy_padded(std::span<const float> numbers, std::vector<float>& copy) {
  copy.assign(numbers.begin(), numbers.end());
  copy.resize((numbers.size() + 7) / 8 * 8, no_share);
}

}  // namespace

void Confidence::note(std::span<const LabelId> candidates, std::span<const float> scores,
                      std::span<const LabelId> labels, float weight, std::vector<float>& memory) {
  if (scores.empty()) return;
  if (!exclusive_) {
    for (std::size_t c = 0; c < scores.size(); ++c) {
      others_.note(slope_ * scores[c] + shift_, contains(labels, candidates[c]), weight);
    }
    others_.end_example();
    return;
  }
  std::size_t best = 0;
  for (std::size_t c = 1; c < scores.size(); ++c) {
    if (better({scores[c], candidates[c]}, {scores[best], candidates[best]})) best = c;
  }
  copy_padded(scores, memory);
  to_log_odds_of_shares(memory.data(), memory.size(), best);
  for (std::size_t c = 0; c < scores.size(); ++c) {
    (c == best ? best_ : others_).note(memory[c], contains(labels, candidates[c]), weight);
  }
  best_.end_example();
  others_.end_example();
}

void Confidence::weigh(std::span<ScoredLabel> scored, std::size_t candidates, std::size_t labels,
                       std::vector<float>& memory) const {
  if (exclusive_) return weigh_shares(scored, candidates, labels, memory);
  memory.assign((scored.size() + 7) / 8 * 8, 0.0f);
  for (std::size_t i = 0; i < scored.size(); ++i) memory[i] = slope_ * scored[i].score + shift_;
  others_.to_probabilities(memory.data(), memory.size());
  for (std::size_t i = 0; i < scored.size(); ++i) {
    scored[i].score = i == 0 ? memory[0] : std::min(memory[i], scored[i - 1].score);
  }
}

// No label is less probable than those of which nothing is known, which share alike what is left.
void Confidence::weigh_shares(std::span<ScoredLabel> scored, std::size_t candidates,
                              std::size_t labels, std::vector<float>& memory) const {
  memory.assign((candidates + 7) / 8 * 8, no_share);
  for (std::size_t i = 0; i < candidates; ++i) memory[i] = scored[i].score;
  to_log_odds_of_shares(memory.data(), memory.size(), 0);
  float best[8] = {memory[0]};
  best_.to_probabilities(best, 8);
  others_.to_probabilities(memory.data(), memory.size());
  const double more_than_equal = std::min(1.0, 1.001 / static_cast<double>(labels));
  const double first = std::max(more_than_equal, double{best[0]});
  auto most = static_cast<float>(0.999 * first);  // less, so that the order shows
  double sum = 0.0;
  for (std::size_t i = 1; i < candidates; ++i) {
    most = std::min(most, memory[i]);
    scored[i].score = most;
    sum += most;
  }
  scored[0].score = static_cast<float>(first);
  const double factor = sum > 1.0 - first ? (1.0 - first) / sum : 1.0;
  for (std::size_t i = 1; i < candidates; ++i) {
    scored[i].score = static_cast<float>(scored[i].score * factor);
  }
  double left = 1.0;
  std::size_t i = 0;
  while (i < candidates && scored[i].score * static_cast<double>(labels - i) > left) {
    left -= scored[i++].score;
  }
  if (i == scored.size()) return;
  const auto least = static_cast<float>(std::max(left, 0.0) / static_cast<double>(labels - i));
  for (; i < scored.size(); ++i) scored[i].score = least;
}

void Confidence::visit_state(StateVisitor& state, bool learns) {
  if (exclusive_) best_.visit_state(state, "best_", learns);
  others_.visit_state(state, "others_", learns);
}

}  // namespace labeltree
