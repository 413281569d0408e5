// How the label tree forgets labels.
//
// What is found by label is looked up; what is not, as the index and the rows that are kept, is gone
// through once for all labels that are forgotten. Whoever forgets many should therefore forget them
// together.
#include <algorithm>
#include <numeric>
#include <utility>

#include "tree/label_tree.hpp"

namespace labeltree {

// In a hashed table a label that comes anew gets a scorer of another number, whose lines it shares
// with others no more than any other scorer; the old weights stay where they are, and mean nothing.
void LabelTree::forget(std::span<const LabelId> gone, bool keep_ids) {
  const Forgotten forgotten(gone, labels(), keep_ids);
  GivenUp given_up;
  for (ChoiceTree& tree : trees_) tree.forget(forgotten, reuses_models(), given_up);
  regrowth_.forget(forgotten, reuses_models(), given_up);
  for (const LabelId label : gone) {
    if (scorer_[label] == none) continue;
    given_up.models.push_back(scorer_[label]);
    if (reuses_models()) spare_scorers_.push_back(scorer_[label]);
  }
  given_up.sort();
  regrowth_.set_rows_learned(reservoir_.forget(forgotten, given_up, regrowth_.rows_learned()));
  pairs_.forget(given_up);
  kept_.reset(kept_.rows(), most_candidates());
  index_.forget(forgotten);  // which has lengths of labels even where it is not used
  forgotten.apply_to_entries(scorer_, none);
  if (params_.stamps) forgotten.apply_to_entries(last_seen_, std::uint64_t{0});
  if (reuses_models()) bank_.give_up(given_up.models, given_up.blocks);
  forget_counts(forgotten);
}

std::size_t LabelTree::grown_bytes() const {
  std::size_t bytes = regrowth_.bytes() + reservoir_.bytes() + pairs_.bytes();
  for (const ChoiceTree& tree : trees_) bytes += tree.bytes();
  if (params_.index_length > 0) bytes += index_.bytes() + labels() * sizeof(float);  // to add up in
  bytes += labels() * (sizeof counts_[0] + sizeof scorer_[0]) +
           last_seen_.size() * sizeof last_seen_[0];
  const std::size_t used = bank_.models() - bank_.spare_models() - spare_scorers_.size();
  return bytes + used * bank_.bytes_of_model();
}

std::vector<LabelId> LabelTree::longest_unseen(std::size_t n,
                                               std::span<const LabelId> without) const {
  std::vector<LabelId> order(labels());
  std::iota(order.begin(), order.end(), LabelId{0});
  std::erase_if(order, [&](LabelId label) { return contains(without, label); });
  n = std::min(n, order.size());
  const auto middle = order.begin() + static_cast<std::ptrdiff_t>(n);
  std::nth_element(order.begin(), middle, order.end(), [&](LabelId a, LabelId b) {
    return last_seen_[a] != last_seen_[b] ? last_seen_[a] < last_seen_[b] : a < b;
  });
  order.erase(middle, order.end());
  std::sort(order.begin(), order.end());
  return order;
}

}  // namespace labeltree
