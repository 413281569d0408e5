// How the label tree learns a stream: rows of its past again, and trees anew.
#include "tree/label_tree.hpp"

namespace labeltree {

// In a stream two rows of the past are learned again after each new one, which takes as long as three passes.
void LabelTree::after_row(const Matrix& X, std::size_t row, std::span<const LabelId> y,
                          float weight, Scratch& scratch) {
  if (!reservoir_.is_kept()) return;
  if (again_ || more_ || one_matrix_) return regrowth_.count_elsewhere();
  Reservoir::Row& old = scratch.replayed;
  bool regrowing;
  {
    const std::lock_guard lock(reservoir_mutex_);
    reservoir_.add(X, row, y, weight, is_dual() ? scratch.pairs.all() : std::span<const DualPair>());
    regrowing = regrows() && (regrowth_.is_running() ||
                              regrowth_.is_due(learned_labels(), reservoir_));
  }
  for (int i = 0; i < replays; ++i) {
    std::size_t place;
    {
      const std::lock_guard lock(reservoir_mutex_);
      if (reservoir_.empty()) return;
      place = reservoir_.draw(old);
    }
    {
      const std::lock_guard lock(observing_);
      scratch.examples.clear();
      bank_.encode_again(old.content->matrix(X.cols), 0, scratch.examples);
    }
    learn_again(old, scratch);
    if (!is_dual()) continue;
    const std::lock_guard lock(reservoir_mutex_);
    reservoir_.keep_pairs(place, old, scratch.pairs.all());
  }
  if (regrowing) regrow(X.cols, scratch);
}

// As in a later pass: the index knows the row, and nothing is counted.
void LabelTree::learn_again(const Reservoir::Row& old, Scratch& scratch) {
  const Reservoir::Content& row = *old.content;
  std::shared_lock lock(growth_);
  gather(0, row.labels, row.weight, scratch);
  add_missed(row.labels, scratch.candidates[0], scratch.similar);
  make_places(row.labels, lock, scratch);
  if (is_dual()) {
    scratch.pairs.assign(old.pairs);
    return learn_pairs(row.labels, row.weight, false, scratch);
  }
  if (params_.scorers) train_scorers(row.labels, row.weight, scratch);
  if (params_.index_length == 0) train_trees(row.labels, row.weight, scratch);
}

// Beside an index new trees gained nothing. Rows weighed by idf change while trees are shaped.
bool LabelTree::regrows() const {
  return params_.regrow && !trees_.empty() && params_.index_length == 0 && !is_dual() &&
         bank_.params().scale != Scale::idf;
}

void LabelTree::regrow(std::size_t cols, Scratch& scratch) {
  const std::scoped_lock lock(growth_, reservoir_mutex_, observing_);
  if (!regrowth_.is_running()) {
    if (!regrowth_.is_due(learned_labels(), reservoir_)) return;
    return regrowth_.start(make_trees(), learned_labels(), cols, reservoir_, bank_, params_.seed);
  }
  regrowth_.step(reservoir_, counts_, cols, params_.tree, bank_, scratch.examples, scratch.above,
                 scratch.blocks);
  if (!regrowth_.is_ready()) return;
  regrowth_.exchange(trees_, bank_);
  Regrowth::place(trees_, counts_, 0, labels(), scratch.examples[0], bank_);  // the newest
}

}  // namespace labeltree
