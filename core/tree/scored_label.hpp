// A label and what speaks for it.
#pragma once

#include <limits>

#include "labels.hpp"

namespace labeltree {

struct ScoredLabel {
  float score;
  LabelId label;
};

// The order of labels: best first, the smaller of two alike.
inline bool better(const ScoredLabel& a, const ScoredLabel& b) {
  return a.score != b.score ? a.score > b.score : a.label < b.label;
}

inline constexpr ScoredLabel missing{-std::numeric_limits<float>::infinity(), no_label};

}  // namespace labeltree
