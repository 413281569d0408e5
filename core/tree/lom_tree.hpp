// The LOMtree (Choromanska & Langford 2015), Algorithm 1.
//
// A binary tree of at most T inner nodes that splits its examples in a pure and balanced way: each
// node's regressor learns to send a label to the side of the average score on which the label's
// own average score lies. A leaf predicts the label it has seen most. Once T is reached, the
// least visited leaf and its parent are recycled for a leaf that needs them more.
#pragma once

#include <cstdint>
#include <vector>

#include "shared_array.hpp"
#include "tree/histogram.hpp"
#include "tree/node_tops.hpp"
#include "tree/tree_learner.hpp"

namespace labeltree {

struct LomTreeParams {
  Rule rule;
  std::size_t max_nodes = 0;     // T; 0: 16 for each label learned so far
  float swap_resistance = 4.0f;  // R_S, at least 1: a leaf cannot be recycled for itself
};

class LomTree : public TreeLearner {
 public:
  LomTree(const BankParams& bank, const LomTreeParams& params);

  void visit_state(StateVisitor& state) override;

  TreeView view() const override;
  std::size_t nodes() const { return parent_.size(); }

  // How well each inner node splits its labels, by what has reached its children: the objective
  // J, the impurity and the balance of section 2; leaves have zeros.
  struct Splits {
    std::vector<double> objective, purity, balance;
  };
  Splits splits() const;
  // How often the most recycled node was recycled: for a fixed T, R_S >= 4 and examples of weight
  // 1 at most log2 of their number (Lemma 3).
  std::uint32_t most_recycled() const;

 protected:
  void learn_one(LabelId y, float weight, bool seen, Scratch& scratch) override;
  void rank(std::size_t k, Scratch& scratch) const override;
  void trace(Scratch& scratch) const override { scratch.path = scratch.walk.paths[0]; }
  std::size_t ranks_together(std::size_t /*k*/) const override { return 1024; }

 private:
  static constexpr std::uint32_t none = 0xffffffffu;
  static constexpr std::size_t kept_labels = 16;  // the best labels that a leaf remembers

  bool is_leaf(std::uint32_t node) const { return left_[node] == none; }
  std::uint32_t add_node();
  void set_node(std::uint32_t v);
  void add_regressor(std::uint32_t v);
  void take(std::size_t model);
  void adopt(std::uint32_t parent, std::uint32_t left, std::uint32_t right);
  void update_c(std::uint32_t v);
  void swap(std::uint32_t v);
  std::vector<std::uint32_t> nodes_by_serial() const;
  std::vector<std::uint32_t> distinct() const;
  struct Shown {
    SharedArray<std::uint32_t> distinct;
    SharedArray<double> objective, purity, balance;
  };
  Shown shown() const;
  void visit_counts(StateVisitor& state);
  void visit_frozen(StateVisitor& state);
  void forget_recycled();
  bool are_regressors() const;
  bool is_tree() const;
  bool may_add() const;
  bool wants_split(std::uint32_t j) const;
  bool train(std::uint32_t j, std::uint32_t index, const Example& x, float weight);

  LomTreeParams params_;
  std::uint32_t root_ = 0;
  std::uint32_t inner_ = 0;  // t: inner nodes
  std::vector<std::uint32_t> parent_, left_, right_;
  std::vector<std::uint32_t> regressor_;  // a model in the bank; none before the first split
  std::vector<bool> taken_;               // whether a model is some node's regressor
  std::vector<std::uint32_t> serial_;    // names a node in node_labels_; new when it is recycled
  std::vector<std::uint32_t> recycled_;  // how often
  std::vector<double> smallest_;         // C: weight of the smallest leaf below
  std::vector<double> total_;            // weight of the examples that reached the node
  std::vector<double> score_sum_;        // sum of m over all labels; with score_weight_ it gives E
  std::vector<double> score_weight_;     // sum of n
  NodeTops top_;                         // the largest l(y)
  std::uint32_t serials_ = 0;
  std::uint32_t swaps_ = 0;  // since the last forget_recycled

  NodeLabels node_labels_;               // of (serial, label)
  std::vector<double> reached_;          // l: weight of the label's examples that reached the node
  std::vector<double> label_score_sum_;  // m
  std::vector<double> label_score_weight_;  // n
  // Of a model that only predicts, and has not what they are made from.
  Shown shown_;
};

}  // namespace labeltree
