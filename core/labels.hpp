// The labels of some rows, borrowed from the caller.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

namespace labeltree {

using LabelId = std::uint32_t;

// "No label": what is predicted before any label has been seen.
constexpr LabelId no_label = 0xffffffffu;

// One set of label ids per row, as in CSR; a multi-class row has exactly one. Whoever makes a
// LabelSets has checked that every id is below the number of labels.
struct LabelSets {
  const std::int64_t* offset = nullptr;
  const LabelId* id = nullptr;

  std::span<const LabelId> operator[](std::size_t row) const {
    return {id + offset[row], static_cast<std::size_t>(offset[row + 1] - offset[row])};
  }
};

inline bool contains(std::span<const LabelId> labels, LabelId label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

}  // namespace labeltree
