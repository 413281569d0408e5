// A probability tree of eight-way choices for label sets.
//
// Every label is a leaf. Each child of a node has one regressor that asks whether any label of the
// example lies below the child, given that one lies below the node. The probability of a label is
// the product of the answers along its path; of rows with one label each the answers at a node
// are made to sum to one. The eight regressors of a node lie side by side in the bank and cost
// about as much as one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "labels.hpp"
#include "linear/bank.hpp"
#include "linear/block_predictions.hpp"
#include "state.hpp"
#include "tree/clusters.hpp"
#include "tree/dual_pairs.hpp"
#include "tree/forgotten.hpp"
#include "tree/search.hpp"

namespace labeltree {

class ChoiceTree {
 public:
  static constexpr std::size_t width = 8;
  static constexpr std::uint32_t no_block = 0xffffffffu;

  // `alpha`: how much balance counts when a new label is placed (Algorithm 3 of the conditional
  // probability tree). `exclusive`: rows have one label each.
  // `slope`: a child is chosen with the logistic function of so many times its prediction.
  ChoiceTree(float alpha, bool exclusive, float slope, std::uint64_t seed)
      : alpha_(alpha), exclusive_(exclusive), slope_(slope), random_(seed) {}

  void resize(std::size_t labels) { leaf_.resize(labels, none); }

  // Builds the tree top-down from clusters; it must be empty. Its inner nodes have no models yet.
  Steps organize(LabelClusters& clusters);
  void set_block(std::size_t inner, std::uint32_t block) { block_[inner] = block; }
  // The models of the inner nodes.
  const std::vector<std::uint32_t>& blocks() const { return block_; }

  // How many inner nodes, of eight models each, it makes for so many labels.
  static std::size_t inner_nodes(std::size_t labels);

  // Makes a leaf of a label that has none.
  void insert(LabelId label, const Example& x, Bank& bank);

  // Removes leaves, nodes without any below, and those with one child, which takes their place. Slots
  // that lost their child take another one if models can be given up (`reuse`): of zero weights.
  void forget(const Forgotten& forgotten, bool reuse, GivenUp& given_up);

  // Trains the nodes above the labels of a set, which all have leaves, with the one example there is.
  // `above` and `blocks` are memory to be used again.
  void learn(std::span<const LabelId> labels, const ExampleBuffer& example, float weight,
             const Rule& rule, Bank& bank, Above& above, BlockPredictions& blocks) const;

  // Adds what these nodes ask of the example, to be learned by the dual rule.
  void add_pairs(std::span<const LabelId> labels, Above& above, RowPairs& pairs) const;

  // Leaves the leaves found for each example in beam.leaves, the most probable first, with their
  // log-probabilities: level by level, expanding the most probable nodes of each. Labels of count
  // zero are passed over. `beam` and `blocks` are memory to be used again.
  void search(const ExampleBuffer& examples, const Breadth& breadth, const Bank& bank,
              const std::vector<double>& counts, Beam& beam, BlockPredictions& blocks) const;

  // log P(label | x), for a label that has a leaf.
  float log_probability(LabelId label, const Example& x, const Bank& bank) const;
  // Of all labels that have a leaf, in rows of `labels`, one for each example.
  void all_probabilities(const ExampleBuffer& examples, const Bank& bank, std::vector<float>& reach,
                         std::size_t labels, float* p) const;
  std::size_t labels() const { return leaf_.size(); }  // that may have leaves
  bool has(LabelId label) const { return leaf_[label] != none; }

  std::size_t nodes() const { return parent_.size(); }
  std::size_t bytes() const;  // that it takes, beside its models
  std::uint32_t parent(std::uint32_t node) const { return parent_[node]; }
  std::uint32_t leaf(LabelId label) const { return leaf_[label]; }
  LabelId label(std::uint32_t node) const { return label_[node]; }
  std::uint32_t leaves(std::uint32_t node) const { return is_leaf(node) ? 1 : leaves_[place_[node]]; }

  // `grown`: whether all inner nodes have models.
  void visit_state(StateVisitor& state, const std::string& prefix, std::size_t labels,
                   std::size_t models, bool grown = true);

 private:
  static constexpr std::uint32_t none = 0xffffffffu;

  std::uint32_t add_node(std::uint32_t parent, std::size_t slot, LabelId label);
  void make_inner(std::uint32_t node, std::uint32_t block);
  bool is_leaf(std::uint32_t node) const { return label_[node] != no_label; }
  std::uint32_t block(std::uint32_t inner) const { return block_[place_[inner]]; }
  const std::uint32_t* children(std::uint32_t inner) const { return &child_[place_[inner] * width]; }
  void find_above(std::span<const LabelId> labels, Above& above) const;
  void child_probabilities(std::uint32_t node, const Example& x, const Bank& bank, float* p) const;
  void keep_probable(const Breadth& breadth, const std::vector<Reached>& found, float best,
                     std::vector<Reached>& below) const;
  bool is_worn(std::uint32_t inner, std::size_t slot) const {
    return place_[inner] < worn_.size() && worn_[place_[inner]] >> slot & 1;
  }
  void derive(std::size_t labels, std::size_t models, bool grown);

  float alpha_;
  bool exclusive_;
  float slope_;
  std::uint64_t random_;               // state of the tie-breaking noise
  std::vector<std::uint32_t> parent_;  // of each node; none for the root
  std::vector<std::uint8_t> slot_;     // which child of its parent a node is
  std::vector<std::uint32_t> label_;   // of a leaf; no_label for inner nodes
  std::vector<std::uint32_t> place_;   // of an inner node among those; none for a leaf
  std::vector<std::uint32_t> child_;   // eight for each place; none where there is none
  std::vector<std::uint32_t> block_;   // for each place, of eight models in the bank
  std::vector<std::uint32_t> leaves_;  // for each place, below the node
  std::vector<std::uint32_t> worn_;    // for each place, bits of slots that take no child any more
  std::vector<std::uint32_t> leaf_;    // of each label; none if it has none
};

}  // namespace labeltree
