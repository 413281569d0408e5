// What all tree learners share: one example at a time, one label each.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <utility>
#include <vector>

#include "learner.hpp"
#include "linear/block_predictions.hpp"
#include "pool.hpp"
#include "relaxed.hpp"
#include "short_lock.hpp"
#include "tree/candidates.hpp"
#include "tree/dual_pairs.hpp"
#include "tree/forgotten.hpp"
#include "tree/label_index.hpp"
#include "tree/reservoir.hpp"
#include "tree/scored_label.hpp"
#include "tree/search.hpp"
#include "tree/walk.hpp"

namespace labeltree {

// A tree as one looks at it. Several trees have several roots.
struct TreeView {
  std::vector<std::uint32_t> parent;  // no_node for a root
  std::vector<LabelId> label;         // of a leaf, or the most frequent one; no_label if none
  std::vector<double> weight;         // of the examples that reached the node
  std::vector<std::uint32_t> distinct;  // labels at or below the node
};

class TreeLearner : public Learner {
 public:
  explicit TreeLearner(const BankParams& params) : bank_(params) {}

  std::size_t labels() const override { return counts_.size(); }
  std::size_t learned_labels() const override { return learned_labels_; }
  std::uint64_t examples() const override { return read_relaxed(examples_); }
  const Bank& bank() const override { return bank_; }
  Bank& bank() override { return bank_; }
  void visit_state(StateVisitor& state) override;

  // One thread learns, whatever `threads` says, unless the learner allows for more: every example
  // may change the tree.
  void learn(const Matrix& X, const LabelSets& y, const float* weight, const std::int64_t* order,
             std::size_t n, std::size_t threads, LabelId* predicted, float* probability,
             const StopRequested& stop) override;

  // The k best labels of each row, best first, with their scores; missing ones are `no_label`.
  void predict_topk(const Matrix& X, std::size_t k, std::size_t threads, LabelId* labels,
                    float* scores, const StopRequested& stop) const;

  // The probability of every label for each row, in rows of labels(), as by all nodes of the tree; for
  // learners that know it. `p` is all zeros before.
  void predict_all(const Matrix& X, std::size_t threads, float* p, const StopRequested& stop) const;

  virtual TreeView view() const = 0;

  // The nodes that a row passes on the way to its best label, root first; tree after tree.
  std::vector<std::uint32_t> path(const Matrix& X, std::size_t row) const;

 protected:
  void start_pass(bool again, std::size_t rows, bool more) override;
  void set_labels(std::size_t labels) override { counts_.resize(labels, 0.0); }
  // Forgets the counts of labels; all else is up to the learner.
  void forget_counts(const Forgotten& forgotten);

  // Memory that one thread uses and uses again.
  struct Scratch {
    std::size_t row = 0;  // the number of the row that is learned, the same in every pass
    ExampleBuffer examples;
    std::vector<ScoredLabel> ranked;
    std::vector<Reached> open;
    Beam beam;
    BlockPredictions blocks;
    std::vector<std::uint32_t> path;
    Walk walk;
    std::vector<float> values;
    std::vector<float> reach;
    std::vector<Candidates> candidates;  // of each example
    std::vector<Candidates> few;         // where more are looked for
    std::vector<std::pair<std::size_t, std::size_t>> own;
    RowPairs pairs;
    Reservoir::Row replayed;
    std::vector<std::uint32_t> order;
    Above above;
    Similar similar;
  };

  // Whether several threads may learn, each an example of its own. learn_set then takes growth_
  // for itself: shared, or exclusive to add nodes, models or labels. Weights are read and written
  // without a lock: an update may be lost, and no two runs are quite alike.
  virtual bool learns_together() const { return false; }

  // Learns an example with the given labels, at least one. `ranked` tells whether rank(1, scratch)
  // was called for it just before.
  virtual void learn_set(std::span<const LabelId> y, float weight, bool ranked, Scratch& scratch);

  // Learns an example of one label. `seen` tells whether the label was learned before.
  virtual void learn_one(LabelId /*y*/, float /*weight*/, bool /*seen*/, Scratch& /*scratch*/) {}

  // How many rows a thread learns one after the other before it takes others.
  virtual std::size_t rows_at_once(std::size_t threads) const { return threads == 1 ? 1 : 8; }

  // Called before a thread learns these rows; `first` is the place of the first in the order that is
  // learned now.
  virtual void before_rows(const Matrix& /*X*/, const LabelSets& /*y*/, const float* /*weight*/,
                           std::span<const std::int64_t> /*rows*/, std::size_t /*first*/,
                           Scratch& /*scratch*/) {}

  // Called after a row was learned.
  virtual void after_row(const Matrix& /*X*/, std::size_t /*row*/, std::span<const LabelId> /*y*/,
                         float /*weight*/, Scratch& /*scratch*/) {}

  // Counts an example of a label, in any thread; returns whether there was one before.
  bool count(LabelId y, float weight);

  // How many examples `rank` takes at once.
  virtual std::size_t ranks_together(std::size_t /*k*/) const { return 1; }

  // Appends the k best labels of each example in scratch.examples to scratch.ranked, best first;
  // `missing` stands for those that are not there, and may be left out after the last.
  virtual void rank(std::size_t k, Scratch& scratch) const = 0;

  // Leaves the nodes on the way of the one example that was ranked to its best label in scratch.path,
  // unless rank did.
  virtual void trace(Scratch& /*scratch*/) const {}

  // P(y | x) of all labels y, for all examples in scratch.examples.
  virtual void all_probabilities(Scratch& scratch, float* p) const;

  // P(y | x) for the example in scratch.examples, where the learner knows it.
  virtual float probability_of(LabelId /*y*/, Scratch& /*scratch*/) const { return 0.0f; }

  // Of a row, the same in every pass; `at` is its place in the order that is learned now.
  std::size_t number(const Matrix& X, std::size_t row, std::size_t at) const {
    if (X.numbers != nullptr) return static_cast<std::size_t>(X.numbers[row]);
    return one_matrix_ ? row : passed_ + at;
  }

  Bank bank_;
  std::vector<double> counts_;  // weight of the examples of each label
  mutable Pool<Scratch> scratch_;
  std::shared_mutex growth_;
  bool together_ = false;  // whether several threads learn at this moment
  ShortLock observing_;
  bool one_matrix_ = false;   // whether passes go over one matrix, whose rows have numbers
  std::uint64_t passed_ = 0;  // rows learned in this pass

 private:
  void learn_row(const Matrix& X, const LabelSets& y, std::size_t row, std::size_t number,
                 float weight, LabelId* predicted, float* probability, Scratch& scratch);

  std::atomic<std::size_t> learned_labels_ = 0;
  std::uint64_t examples_ = 0;
};

}  // namespace labeltree
