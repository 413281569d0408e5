// The Recall Tree (Daumé, Karampatziakis, Langford & Mineiro 2017), Algorithms 1 to 4.
//
// Routers send an example down a binary tree; every node counts the labels that reach it, and its
// most frequent ones are the candidates. Where the descent ends, one scorer per label, shared by
// all nodes, decides among the candidates.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tree/histogram.hpp"
#include "tree/node_tops.hpp"
#include "tree/tree_learner.hpp"

namespace labeltree {

// Where a descent ends before a leaf: `bernstein` is the published rule, at a node whose lower
// bound on recall (eq. 1) is above its child's; `fit` never: leaves are split as long as their
// labels do not fit into the candidates, so that recall grows with depth.
enum class StopRule { bernstein, fit };

// What the scorers are told of the way an example took: all nodes, the last one, or nothing.
enum class PathFeatures { path, node, none };

// How much an example counts to a router: the bits that it saves in all; as printed, by how much it
// changes the average over the node's examples; or as much as any other.
enum class Importance { total, average, equal };

struct RecallTreeParams {
  Rule router;
  Rule scorer;
  std::size_t candidates = 0;  // F of each tree; 0: they share 4 ceil(log2 K), of K labels so far
  std::size_t max_depth = 0;   // 0: 2 ceil(log2 K), of K labels so far
  std::size_t max_nodes = 0;   // inner ones of a tree, on average; 0: 4 K
  std::size_t trees = 1;       // trees that share the scorers; their candidates are united
  float bound = 1.0f;          // lambda of eq. (1)
  StopRule stop = StopRule::fit;
  bool fill = true;            // complete the candidates of a node with those of its ancestors
  bool always_train = true;    // train the true label's scorer also when it is no candidate
  bool randomized = false;     // send examples left with the router's probability while learning
  std::uint64_t seed = 0;
  PathFeatures path_features = PathFeatures::none;
  Importance importance = Importance::total;
  bool recount = false;        // count an example in the bound whenever it passes, as printed
};

class RecallTree : public TreeLearner {
 public:
  RecallTree(const BankParams& bank, const RecallTreeParams& params);

  void visit_state(StateVisitor& state) override;

  TreeView view() const override;
  std::size_t nodes() const { return left_.size(); }
  std::size_t candidate_count() const;
  double recall_bound(std::uint32_t node) const;  // equation (1)

 protected:
  void start_pass(bool again, std::size_t rows, bool more) override {
    TreeLearner::start_pass(again, rows, more);
    passes_ += again;
  }
  void set_labels(std::size_t labels) override;
  void learn_one(LabelId y, float weight, bool seen, Scratch& scratch) override;
  void rank(std::size_t k, Scratch& scratch) const override;
  void trace(Scratch& scratch) const override { scratch.path = scratch.walk.paths[0]; }
  std::size_t ranks_together(std::size_t /*k*/) const override {
    return params_.path_features == PathFeatures::none ? 1024 : 1;
  }

 private:
  static constexpr std::uint32_t none = 0xffffffffu;

  std::uint32_t add_node(std::uint32_t depth);
  bool may_split(std::uint32_t leaf) const;
  bool is_leaf(std::uint32_t node) const { return left_[node] == none; }
  double count(std::uint32_t node, LabelId y) const;
  double entropy(std::uint32_t node) const;
  double entropy_with(std::uint32_t node, LabelId y, double weight) const;
  double bits_saved_by_left(std::uint32_t node, LabelId y, double weight) const;
  bool stops(std::uint32_t node, std::uint32_t child) const;
  void update_router(const Example& x, LabelId y, float weight, std::uint32_t node,
                     std::uint32_t root);
  void update_candidates(LabelId y, float weight, std::uint32_t node);
  void prefetch_scorer(const Scratch& scratch, std::size_t candidate, const Example& x) const;
  void update_regressors(const Example& x, LabelId y, float weight, Scratch& scratch);
  std::uint32_t descend(std::uint32_t root, const Example& x, LabelId y, float weight,
                        Scratch& scratch);
  void add_path_features(std::span<const std::uint32_t> path, ExampleBuffer& example) const;
  void collect_candidates(std::span<const std::uint32_t> path, std::size_t wanted,
                          std::vector<LabelId>& candidates) const;

  RecallTreeParams params_;
  std::uint64_t random_;
  std::uint64_t passes_ = 1;           // over the same rows
  std::vector<std::uint32_t> left_;    // none for a leaf
  std::vector<std::uint32_t> right_;
  std::vector<std::uint32_t> depth_;
  std::vector<std::uint32_t> router_;  // a node's model in the bank; none for a leaf
  std::vector<std::uint32_t> scorer_;  // a label's model in the bank; none before it is needed
  std::vector<double> total_;          // weight of the examples that reached a node
  std::vector<double> c_log_c_;        // sum over its labels
  std::vector<std::uint32_t> distinct_;
  NodeTops top_;
  NodeLabels node_labels_;
  std::vector<double> node_label_count_;
};

}  // namespace labeltree
