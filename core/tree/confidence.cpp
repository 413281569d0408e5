#include "tree/confidence.hpp"

#include <algorithm>
#include <cmath>

#include "tree/log_odds.hpp"

namespace labeltree {
namespace {

double logistic(double log_odds) { return 1.0 / (1.0 + std::exp(-log_odds)); }

// The log-odds of a share exp(score) of a total; `rest` is the total without it.
float log_odds_of(double score, double rest) {
  constexpr double most = surest;
  return static_cast<float>(std::clamp(score - std::log(std::max(rest, 1e-30)), -most, most));
}

}  // namespace

void Confidence::note(std::span<const LabelId> candidates, std::span<const float> scores,
                      std::span<const LabelId> labels, float weight) {
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
  double behind = 0.0;  // the others' part of the total, where the best has 1
  for (std::size_t c = 0; c < scores.size(); ++c) {
    if (c != best) behind += std::exp(double{scores[c]} - scores[best]);
  }
  for (std::size_t c = 0; c < scores.size(); ++c) {
    const double score = double{scores[c]} - scores[best];
    const double rest = c == best ? behind : 1.0 + behind - std::exp(score);
    (c == best ? best_ : others_)
        .note(log_odds_of(score, rest), contains(labels, candidates[c]), weight);
  }
  best_.end_example();
  others_.end_example();
}

void Confidence::weigh(std::span<ScoredLabel> scored, std::size_t candidates,
                       std::size_t labels) const {
  if (exclusive_) return weigh_shares(scored, candidates, labels);
  float most = 1.0f;
  for (std::size_t i = 0; i < scored.size(); ++i) {
    const double p = logistic(others_.log_odds(slope_ * scored[i].score + shift_));
    scored[i].score = std::min(most, static_cast<float>(p));
    if (i + 1 >= candidates) most = scored[i].score;
  }
}

// No label is less probable than those of which nothing is known, which share alike what is left.
void Confidence::weigh_shares(std::span<ScoredLabel> scored, std::size_t candidates,
                              std::size_t labels) const {
  const float largest = scored[0].score;
  constexpr std::size_t few = 64;
  double part[few];  // of the first ones in the total, where the best has 1
  double behind = 0.0;  // and of all others
  for (std::size_t i = 1; i < candidates; ++i) {
    const double own = std::exp(double{scored[i].score} - largest);
    if (i < few) part[i] = own;
    behind += own;
  }
  const double more_than_equal = std::min(1.0, 1.001 / static_cast<double>(labels));
  const double first =
      std::max(more_than_equal, logistic(best_.log_odds(log_odds_of(0.0, behind))));
  const double less = 0.999 * first;  // so that the order shows
  double sum = 0.0;
  for (std::size_t i = 1; i < candidates; ++i) {
    const double score = double{scored[i].score} - largest;
    const double own = i < few ? part[i] : std::exp(score);
    const float odds = log_odds_of(score, 1.0 + behind - own);
    scored[i].score = static_cast<float>(std::min(less, logistic(others_.log_odds(odds))));
    sum += scored[i].score;
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
