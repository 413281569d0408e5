// The lists of a label index for prediction only. They may lie in a file that is mapped into memory.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "labels.hpp"
#include "linear/bfloat16.hpp"
#include "shared_array.hpp"
#include "state.hpp"
#include "used_bits.hpp"

namespace labeltree {

// For each feature slot that has any, labels and how typical it is of each, one list after the other in
// the order of their slots. Labels have two bytes where that is enough. What is typical has one, a
// whole number whose cube it is by a scale, or two, a bfloat16.
class FrozenPostings {
 public:
  explicit FrozenPostings(std::size_t slots) : used_(slots) {}

  // Lists of the given slots, which end at `end` in labels and typical; two bytes each if keep is 1.
  void set(std::vector<std::uint64_t> slots, std::vector<std::uint64_t> end,
           std::span<const LabelId> labels, std::span<const float> typical, std::size_t n_labels,
           float keep);

  static constexpr std::size_t no_list = ~std::size_t{0};
  std::size_t list(std::size_t slot) const {
    const UsedBits::Group group = used_.groups()[slot / 32];
    return UsedBits::has(group, slot) ? UsedBits::place(group, slot) : no_list;
  }
  std::size_t size(std::size_t list) const {
    return static_cast<std::size_t>(end_[list] - (list == 0 ? 0 : end_[list - 1]));
  }
  // Asks for a list, as far as it fits into a page, while another is read.
  void prefetch(std::size_t list) const;
  void prefetch_end(std::size_t list) const { __builtin_prefetch(&end_[list]); }

  // Calls visit(label, typical) for the labels of a list.
  template <class Visit>
  void visit(std::size_t list, Visit visit) const {
    if (wide_labels_.size() > 0) {
      visit_labels(list, wide_labels_.data(), visit);
    } else {
      visit_labels(list, labels_.data(), visit);
    }
  }

  void visit_state(StateVisitor& state, std::size_t n_labels);

 private:
  // Labels are checked here: to check all of a mapped file when it is opened would read all of it.
  template <class Label, class Visit>
  void visit_labels(std::size_t list, const Label* labels, Visit visit) const {
    const std::uint64_t begin = list == 0 ? 0 : end_[list - 1], end = end_[list];
    if (codes_.size() > 0) {
      for (std::uint64_t i = begin; i < end; ++i) {
        if (labels[i] < n_labels_) visit(labels[i], typical_[codes_[i]]);
      }
    } else {
      for (std::uint64_t i = begin; i < end; ++i) {
        if (labels[i] < n_labels_) visit(labels[i], to_float(wide_codes_[i]));
      }
    }
  }

  UsedBits used_;
  std::vector<std::uint64_t> slots_;  // that are used
  std::vector<std::uint64_t> end_;
  std::size_t n_labels_ = 0;
  SharedArray<std::uint16_t> labels_;  // one of the two
  SharedArray<LabelId> wide_labels_;
  SharedArray<std::uint8_t> codes_;  // one of the two
  SharedArray<bfloat16> wide_codes_;
  float scale_ = 1.0f;
  std::array<float, 256> typical_{};  // what a code of one byte stands for, derived
};

}  // namespace labeltree
