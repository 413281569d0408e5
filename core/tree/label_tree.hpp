// labeltree's own learner: trees and an index propose candidates, one scorer a label decides.
//
// The most probable labels of one or more choice trees, and the labels whose rows resemble the
// example most, are its candidates. The score of a candidate is
//
//   tree_weight . mean over trees of logit P_tree(y | x)  +  index_weight . similarity  +  w_y . x
//
// and only the scorers w of candidates, and of the true label, learn: what trees and index leave
// unexplained. Scorers and trees that learn by the dual rule each solve a problem of their own. The
// cost of an example is that of a few paths and a few dozen scorers, whatever the number of labels.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "relaxed.hpp"
#include "short_lock.hpp"
#include "tree/choice_tree.hpp"
#include "tree/confidence.hpp"
#include "tree/kept_candidates.hpp"
#include "tree/label_index.hpp"
#include "tree/regrowth.hpp"
#include "tree/reservoir.hpp"
#include "tree/tree_learner.hpp"

namespace labeltree {

struct LabelTreeParams {
  Rule tree;
  Rule scorer;
  std::size_t trees = 1;
  std::size_t tree_candidates = 10;   // of each tree
  std::size_t beam = 10;              // nodes expanded on each level
  float improbable = 0.0f;            // nodes below this share of the best are not expanded
  float alpha = 0.8f;                 // of the trees
  float tree_weight = 0.5f;
  std::size_t index_length = 0;       // labels kept for a feature; 0: no index
  std::size_t index_candidates = 15;
  float index_weight = 10.0f;
  float slope = 1.0f;  // from predictions to log-odds, of scorers and of the nodes of trees
  float shift = 0.0f;  // added to the log-odds of labels of a set
  // Candidates whose evidence is so far behind that of the best are not scored to predict.
  float hopeless = std::numeric_limits<float>::infinity();
  bool scorers = true;     // without them, trees and index decide
  bool exclusive = true;   // rows have one label each: candidates compete in a softmax
  bool calibrated = true;  // whether probabilities are learned from those stated before
  std::size_t replay = 0;  // bytes for rows of a stream that are learned again; 0: none
  bool regrow = false;     // whether the trees of a stream are grown anew from these rows
  bool stamps = false;     // whether it is known when a label was last seen
  std::uint64_t seed = 0;
};

class LabelTree : public TreeLearner {
 public:
  LabelTree(const BankParams& bank, const LabelTreeParams& params);

  // Builds the trees from clusters of labels, where all rows are known. Nothing may be learned yet.
  void organize(const Matrix& X, const LabelSets& y);

  // Forgets labels, each given once, and all that was learned of them. The ids of those that stay move
  // up, in their order, unless they are to be kept.
  void forget(std::span<const LabelId> gone, bool keep_ids);
  // An estimate of the bytes that grow with labels and rows: of trees, index, models in use, and rows
  // that are kept; not of tables and arrays that are as large as the features.
  std::size_t grown_bytes() const;
  // The n labels longest unseen, in the order of their ids, without some; with `stamps` only.
  std::vector<LabelId> longest_unseen(std::size_t n, std::span<const LabelId> without) const;

  void learn(const Matrix& X, const LabelSets& y, const float* weight, const std::int64_t* order,
             std::size_t n, std::size_t threads, LabelId* predicted, float* probability,
             const StopRequested& stop) override;
  void visit_state(StateVisitor& state) override;
  // By the dual update rows are from now on those of one of so many shards.
  void set_shards(std::size_t shards) { params_.scorer.shards = static_cast<float>(shards); }
  // What is known of rows that come again, and is no part of the state of a model that is saved between
  // passes, as it can be found again.
  void visit_rows(StateVisitor& state);
  TreeView view() const override;

  // P(label | x) by the trees alone, the geometric mean of several, of one label for each row; 0 if
  // it was never learned.
  void label_probability(const Matrix& X, const LabelId* labels, float* probability) const;

  // The share of the labels of examples that were among their candidates before they were learned.
  double recall() const { return (read_relaxed(found_) + 1.0) / (read_relaxed(sought_) + 2.0); }

 protected:
  void start_pass(bool again, std::size_t rows, bool more) override;
  void set_labels(std::size_t labels) override;
  void learn_set(std::span<const LabelId> y, float weight, bool ranked, Scratch& scratch) override;
  std::size_t rows_at_once(std::size_t threads) const override;
  void before_rows(const Matrix& X, const LabelSets& y, const float* weight,
                   std::span<const std::int64_t> rows, std::size_t first, Scratch& scratch) override;
  void after_row(const Matrix& X, std::size_t row, std::span<const LabelId> y, float weight,
                 Scratch& scratch) override;
  void rank(std::size_t k, Scratch& scratch) const override;
  void all_probabilities(Scratch& scratch, float* p) const override;
  void trace(Scratch& scratch) const override;
  bool learns_together() const override { return true; }
  std::size_t ranks_together(std::size_t k) const override;

 private:
  static constexpr std::uint32_t none = 0xffffffffu;
  static constexpr std::size_t usual = 5;    // labels asked for: fewer take the same search
  static constexpr std::uint64_t joining = 2;  // passes before late rows are learned
  static constexpr std::size_t looked_up_together = 64;  // rows; Python cuts passes between them
  static constexpr int replays = 2;            // of old rows, for each new one of a stream

  bool is_late(std::size_t row) const;
  bool is_held_back(std::size_t row) const { return more_ && again_ < joining && is_late(row); }
  bool is_new(std::size_t row) const { return !again_ || (again_ <= joining && is_late(row)); }
  // Whether rows are looked up that will come again, by trees and an index that no longer change.
  bool keeps_candidates() const { return again_ && kept_.rows() > 0 && params_.scorers; }
  void gather(std::size_t k, std::span<const LabelId> without, float weight,
              Scratch& scratch) const;
  void search(std::size_t k, Scratch& scratch) const;
  void look_up(std::size_t k, std::size_t example, std::span<const LabelId> without, float weight,
               Scratch& scratch) const;
  // Whether a wider search finds the same of a label as a narrow one: the tree decides alone.
  bool finds_the_same() const {
    return !params_.exclusive && !params_.scorers && trees_.size() == 1 &&
           params_.index_length == 0;
  }
  void widen(std::size_t k, Scratch& scratch) const;
  std::shared_lock<ShortLock> lock_index() const;
  float prior(LabelId label, float unfound, const Similar& similar) const;
  void count_found(std::span<const LabelId> y, float weight, const Scratch& scratch);
  void add_missed(std::span<const LabelId> y, Candidates& candidates, const Similar& similar) const;
  void learn_again(const Reservoir::Row& row, Scratch& scratch);
  std::vector<ChoiceTree> make_trees() const;
  bool regrows() const;
  // Whether models have weights of their own, which can be made zero and used again.
  bool reuses_models() const { return bank_.params().layout != Layout::hashed; }
  void regrow(std::size_t cols, Scratch& scratch);
  void score(Scratch& scratch) const;
  void train_scorers(std::span<const LabelId> y, float weight, Scratch& scratch);
  void train_trees(std::span<const LabelId> y, float weight, Scratch& scratch);
  std::size_t most_candidates() const {
    return trees_.size() * params_.tree_candidates + params_.index_candidates + 1;
  }
  bool is_dual() const { return params_.scorer.update == Update::dual; }
  void learn_pairs(std::span<const LabelId> y, float weight, bool settled, Scratch& scratch);
  bool has_places(std::span<const LabelId> y, const Scratch& scratch) const;
  void make_places(std::span<const LabelId> y, std::shared_lock<std::shared_mutex>& shared,
                   Scratch& scratch);
  void add_places(std::span<const LabelId> y, Scratch& scratch);
  void add_scorer(LabelId label);
  void note_confidence(std::span<const LabelId> y, float weight, Scratch& scratch);

  LabelTreeParams params_;
  std::vector<ChoiceTree> trees_;
  LabelIndex index_;
  mutable ShortLock index_lock_;  // threads that learn find labels in it, or add one
  std::vector<std::uint32_t> scorer_;  // a label's model in the bank; none before it is needed
  std::uint32_t next_scorer_ = 0;      // the model of the next scorer; a multiple of 8: none left
  std::vector<std::uint32_t> spare_scorers_;  // of labels that were forgotten, of zero weights
  std::vector<std::uint64_t> last_seen_;  // of each label: the number of the example, from 1; 0: never
  Confidence confidence_;
  mutable ShortLock confidence_lock_;  // threads that learn note what they said
  double sought_ = 0.0;
  double found_ = 0.0;
  std::uint64_t again_ = 0;            // how often the rows were learned before
  std::uint64_t more_ = 0;             // whether rows will come once more
  KeptCandidates kept_;                // of the rows, in a later pass
  KeptPairs pairs_;                    // dual: of the rows
  Reservoir reservoir_;                // of the rows of a stream
  Regrowth regrowth_;
  std::mutex reservoir_mutex_;  // of both
};

}  // namespace labeltree
