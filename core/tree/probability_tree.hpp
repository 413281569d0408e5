// The conditional probability tree (Beygelzimer, Langford, Lifshits, Sorkin & Strehl 2009).
//
// Every label is a leaf. The probability of a label is the product, along its path, of the
// probabilities that its nodes give to the next child. A node of `arity` k estimates them with
// PECOC: k - 1 regressors, each asking whether the child is in one half of the children as the
// Hadamard code divides them (section 3.2); k = 2 is the plain tree with one regressor a node.
#pragma once

#include <cstdint>
#include <vector>

#include "tree/tree_learner.hpp"

namespace labeltree {

// Where a new label goes: by Algorithm 3, to a random child, or to the child with fewest leaves.
enum class TreeShape { online, random, balanced };

// What a node makes of formula (4), which may be negative: probabilities that sum to one, none of them
// zero; none of them zero; or nothing, as printed.
enum class Estimates { shares, clipped, formula };

struct ProbabilityTreeParams {
  Rule rule;
  TreeShape shape = TreeShape::online;
  float alpha = 0.6f;             // Algorithm 3: 1 balances the tree, 0 follows the regressors
  std::size_t arity = 2;          // a power of two
  std::size_t search_budget = 0;  // nodes expanded per label asked for; 0: no limit
  bool copy_leaves = false;       // Algorithm 3's copy of a split leaf's regressor, for arity 2
  std::uint64_t seed = 0;         // of the random shape
  bool greedy = false;            // the best label is where the likeliest children lead
  // The filter tree (Beygelzimer, Langford & Ravikumar 2009): a node learns from an example only
  // if all nodes below it on the label's path would have sent the example to the label.
  bool filter = false;
  Estimates estimates = Estimates::shares;
};

class ProbabilityTree : public TreeLearner {
 public:
  ProbabilityTree(const BankParams& bank, const ProbabilityTreeParams& params);

  void visit_state(StateVisitor& state) override;

  // P(label | x) of one label for each row, in time proportional to its depth; 0 if never learned.
  void label_probability(const Matrix& X, const LabelId* labels, float* probability) const;

  TreeView view() const override;
  std::size_t nodes() const { return parent_.size(); }

 protected:
  void set_labels(std::size_t labels) override;
  void learn_one(LabelId y, float weight, bool seen, Scratch& scratch) override;
  void rank(std::size_t k, Scratch& scratch) const override;
  void all_probabilities(Scratch& scratch, float* p) const override;
  float probability_of(LabelId y, Scratch& scratch) const override;

 private:
  static constexpr std::uint32_t none = 0xffffffffu;

  std::uint32_t add_node(std::uint32_t parent, std::size_t slot, LabelId label);
  std::uint32_t* children(std::uint32_t node) { return &child_[node * params_.arity]; }
  const std::uint32_t* children(std::uint32_t node) const { return &child_[node * params_.arity]; }
  bool is_leaf(std::uint32_t node) const { return label_[node] != no_label; }
  std::size_t models_per_node() const { return params_.arity == 2 ? 1 : params_.arity; }
  void add_regressors(std::uint32_t node);
  std::size_t model(std::uint32_t node, std::size_t row) const;
  void prefetch(std::uint32_t node, const Example& x) const;
  void ask(std::uint32_t node, const Example& x, float* p) const;
  void child_probabilities(std::uint32_t node, const Example& x, float* p) const;
  void train(std::uint32_t node, std::size_t child, const Example& x, float weight);
  std::size_t likeliest_child(std::uint32_t node, const Example& x, Scratch& scratch) const;
  std::size_t choose_child(std::uint32_t node, const Example& x, Scratch& scratch);
  void rank_by_formula(Scratch& scratch, std::size_t begin) const;
  void insert(LabelId y, const Example& x, float weight, Scratch& scratch);

  ProbabilityTreeParams params_;
  std::uint64_t random_;               // state of the random shape
  std::vector<std::uint32_t> parent_;  // of each node; none for the root
  std::vector<std::uint32_t> slot_;    // which child of its parent a node is
  std::vector<std::uint32_t> child_;   // arity children a node; none where there is none
  std::vector<std::uint32_t> label_;   // of a leaf; no_label for inner nodes
  std::vector<std::uint32_t> leaves_;  // below a node
  std::vector<std::uint32_t> leaf_;    // of each label; none if it was never learned
  std::vector<std::uint32_t> regressor_;  // a node's first model in the bank; none if it has none
};

}  // namespace labeltree
