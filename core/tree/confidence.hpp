// How probable candidates are, given their scores.
//
// Scores rank; what they are worth is learned from what they said of examples before these were
// learned. Labels of a set have log-odds, a line of their score, and one curve makes them true. Labels
// that exclude each other have shares of a softmax; one curve is for the best of an example and one
// for all others, since the best of many was also the luckiest. What the candidates leave of
// the probability is for the labels that are none: little where the best is sure, much where it is not.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "calibration.hpp"
#include "labels.hpp"
#include "state.hpp"
#include "tree/scored_label.hpp"

namespace labeltree {

class Confidence {
 public:
  Confidence(bool exclusive, float slope, float shift)
      : exclusive_(exclusive), slope_(slope), shift_(shift) {}

  // Learns from the scores that the candidates of an example had before it was learned. Labels of it
  // that are no candidates say nothing. `memory` is to be used again.
  void note(std::span<const LabelId> candidates, std::span<const float> scores,
            std::span<const LabelId> labels, float weight, std::vector<float>& memory);

  // Turns scores, best first, into probabilities. The first ones are those of candidates; those of other
  // labels, if any, come after them, and none of these is more probable than a candidate. There are
  // so many labels in all.
  void weigh(std::span<ScoredLabel> scored, std::size_t candidates, std::size_t labels,
             std::vector<float>& memory) const;

  void visit_state(StateVisitor& state, bool learns);

 private:
  void weigh_shares(std::span<ScoredLabel> scored, std::size_t candidates, std::size_t labels,
                    std::vector<float>& memory) const;

  bool exclusive_;
  float slope_, shift_;  // from scores to log-odds, of labels of a set
  Calibration best_;     // of labels that exclude each other
  Calibration others_;   // or all, of a set
};

}  // namespace labeltree
