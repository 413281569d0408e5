// Labels that may be those of an example.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "labels.hpp"

namespace labeltree {

struct Candidates {
  std::vector<LabelId> labels;
  std::vector<float> evidence;  // for each
  float unfound = 0.0f;         // of a label that no tree found
  std::vector<float> scores;    // of each, or of the first ones
  std::size_t hopeful = 0;      // how many, the first ones, may be among the best

  // Of a label, which becomes a candidate if it is none.
  std::size_t place(LabelId label) {
    const auto at =
        static_cast<std::size_t>(std::find(labels.begin(), labels.end(), label) - labels.begin());
    if (at == labels.size()) append(label, 0.0f);
    return at;
  }

  // Makes a label a candidate that is none.
  void append(LabelId label, float its_evidence) {
    labels.push_back(label);
    evidence.push_back(its_evidence);
  }

  // Adds the labels of another that are not here, with their evidence.
  void add(const Candidates& other) {
    for (std::size_t c = 0; c < other.labels.size(); ++c) {
      const std::size_t before = labels.size(), at = place(other.labels[c]);
      if (at == before) evidence[at] = other.evidence[c];
    }
  }

  // Puts first the k labels with the most evidence, and all whose evidence is not further behind the
  // best than `margin`. None may have a score yet. `memory` is to be used again.
  void put_hopeful_first(std::size_t k, float margin, std::vector<float>& memory) {
    hopeful = labels.size();
    if (k == 0 || labels.size() <= k) return;
    memory = evidence;
    const auto last = memory.begin() + static_cast<std::ptrdiff_t>(k) - 1;
    std::nth_element(memory.begin(), last, memory.end(), std::greater());
    const float bound = std::min(*last, *std::max_element(memory.begin(), last + 1) - margin);
    hopeful = 0;
    for (std::size_t c = 0; c < labels.size(); ++c) {
      if (evidence[c] < bound) continue;
      std::swap(labels[c], labels[hopeful]);
      std::swap(evidence[c], evidence[hopeful++]);
    }
  }

  void clear() {
    labels.clear();
    evidence.clear();
    scores.clear();
    unfound = 0.0f;
    hopeful = 0;
  }
};

}  // namespace labeltree
