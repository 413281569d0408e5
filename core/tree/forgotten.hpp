// Labels that are forgotten: which, what ids the others have afterwards, and what nobody needs then.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "labels.hpp"

namespace labeltree {

class Forgotten {
 public:
  // The labels that stay move up, in their order, unless all `keep_ids`.
  Forgotten(std::span<const LabelId> gone, std::size_t labels, bool keep_ids) : id_(labels, 0) {
    for (const LabelId label : gone) id_[label] = no_label;
    LabelId next = 0;
    for (std::size_t label = 0; label < labels; ++label) {
      if (id_[label] != no_label) id_[label] = keep_ids ? static_cast<LabelId>(label) : next++;
    }
    labels_ = keep_ids ? labels : next;
  }

  std::size_t labels() const { return labels_; }                 // that there is room for then
  bool has(LabelId label) const { return id_[label] == no_label; }
  LabelId id(LabelId label) const { return id_[label]; }         // afterwards, of one that stays

  // Where a walk through the labels goes on that has come to `next`.
  std::size_t position(std::size_t next) const {
    while (next < id_.size() && id_[next] == no_label) ++next;
    return next < id_.size() ? id_[next] : labels_;
  }

  // Takes forgotten labels out of a list.
  void apply(std::vector<LabelId>& labels) const {
    std::erase_if(labels, [this](LabelId label) { return has(label); });
    for (LabelId& label : labels) label = id(label);
  }

  // Of an array with an entry for each label; those without a label become `nothing`.
  template <class T>
  void apply_to_entries(std::vector<T>& entries, T nothing) const {
    std::vector<T> left(labels_, nothing);
    for (std::size_t label = 0; label < id_.size(); ++label) {
      if (id_[label] != no_label) left[id_[label]] = entries[label];
    }
    entries = std::move(left);
  }

 private:
  std::vector<LabelId> id_;
  std::size_t labels_;
};

// Models of the bank that no tree and no label has any more.
struct GivenUp {
  std::vector<std::uint32_t> blocks;  // of eight models
  std::vector<std::uint32_t> models;  // in blocks of which others are still needed

  void sort() {
    std::sort(blocks.begin(), blocks.end());
    std::sort(models.begin(), models.end());
  }
  bool has(std::uint32_t model) const {  // once they are sorted
    return std::binary_search(models.begin(), models.end(), model) ||
           std::binary_search(blocks.begin(), blocks.end(), model / 8);
  }
};

}  // namespace labeltree
