// The M regressors of a node, and how they are trained: Algorithm 4 of LdSM.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "labels.hpp"
#include "parallel.hpp"
#include "tree/feature_index.hpp"
#include "tree/ldsm_nag.hpp"
#include "tree/ldsm_objective.hpp"

namespace labeltree {

// How the regressors of a node learn: by plain importance-aware steps of squared loss, or by
// normalized adaptive gradient steps of logistic loss (Ross, Mineiro & Langford 2013), as published.
enum class LdsmUpdate { plain, nag };

// Which leaf is split next: that with most examples, or that with most labels, the most frequent one
// not counted.
enum class LdsmPriority { rows, labels };

// What a leaf's counts of labels are divided by: its examples, or the sum of the counts.
enum class LeafShares { rows, labels };

struct LdsmParams {
  std::size_t arity = 4;          // M
  double lambda1 = 2.0;
  double lambda2 = 2.0;
  std::size_t trees = 50;
  std::size_t max_nodes = 1000;   // of a tree, leaves included
  std::size_t epochs = 10;
  std::size_t min_leaf = 2;       // a leaf with fewer examples is not split
  std::size_t min_feature_rows = 2;  // a node leaves features out that fewer of its examples have
  double max_share = 0.9;         // a split that sends a child more of the examples is not made
  float step = 2.0f;
  double idf = 0.0;               // power of the inverse document frequency that scales features
  std::size_t top_labels = 0;     // kept in a node's histogram; 0: all
  std::size_t split_rows = 50;    // online: how many examples a leaf gathers before it is split
  std::size_t recent_rows = 10'000;  // online: how many examples are kept to train splits from
  std::uint64_t seed = 0;
  std::size_t first_tree = 0;     // number of the first tree, where others are grown elsewhere
  LdsmUpdate update = LdsmUpdate::plain;
  bool reorder = true;            // epochs after the first take examples in orders of their own
  LdsmPriority priority = LdsmPriority::rows;
  bool empty_children = true;     // whether a split is made that sends a child no example
  LeafShares leaf_shares = LeafShares::rows;
};

// An example, borrowed: its features, scaled, the constant among them, and its labels.
struct LdsmExample {
  std::span<const std::uint32_t> feature;
  std::span<const float> value;
  std::span<const LabelId> labels;
  float weight;
  float squared_norm;

  // Numbers beyond this are not learned from: a few more of them, and a sum would be infinite.
  bool learnable() const { return weight * squared_norm < 1e30f; }

  double mass() const { return double{weight} * static_cast<double>(labels.size()); }
};

// Factors of the features that some rows have, sorted by feature.
struct LdsmScale {
  std::vector<std::uint32_t> feature;
  std::vector<float> factor;

  bool empty() const { return feature.empty(); }
  float operator[](std::uint32_t number) const;  // of a feature that is there
};

// The scores of the M children; lanes from M on are zero.
using Scores = std::array<float, largest_arity>;

// The weights of a node for the features that its examples have had, the M weights of a feature
// side by side, so that one look-up serves all regressors.
class LdsmRegressors {
 public:
  LdsmRegressors() = default;
  LdsmRegressors(std::size_t arity, std::vector<std::uint32_t> features,
                 std::span<const float> weights);

  Scores scores(const LdsmExample& x) const;

  // Moves the scores p of x towards the direction s with a plain importance-aware step.
  void learn(const LdsmExample& x, const Scores& p, unsigned s, float step);

  std::size_t lanes() const { return lanes_; }
  const FeatureIndex& features() const { return features_; }
  // Of all features in the order of their places, M rounded up to a power of two each.
  std::span<const float> weights() const { return std::span(weights_).subspan(lanes_); }

  // M rounded up to a power of two.
  static std::size_t lanes_for(std::size_t arity);

 private:
  std::size_t lanes_ = 0;
  FeatureIndex features_;
  std::vector<float> weights_;  // [place][lane]; zeros for place 0, that of absent features
};

// Of the children in `allowed`, those with a score above one half, or else the best one, as bits.
unsigned route(const Scores& p, unsigned allowed);

// Trains the regressors of one node after the other; keeps its memory between them.
class LdsmTrainer {
 public:
  explicit LdsmTrainer(const LdsmParams& params);

  // Algorithm 4 on examples[ids[0]], examples[ids[1]], ...; the plain step of the t-th is
  // step * rate^2 / sqrt(t). Epochs after the first take them in random orders, drawn with `seed`, if
  // so asked. Says where each example then goes in sent(). False if it was stopped.
  bool train(std::span<const LdsmExample> examples, std::span<const std::uint32_t> ids, float rate,
             std::uint64_t seed, const StopRequested& stop);

  const std::vector<unsigned>& sent() const { return sent_; }
  // For rows whose features were not yet multiplied by `scale`, if there is one.
  LdsmRegressors regressors(const LdsmScale* scale) const;

 private:
  void gather(std::span<const LdsmExample> examples, std::span<const std::uint32_t> ids);

  struct Row {
    std::uint32_t feature_begin, feature_end, label_begin, label_end;
    float weight, squared_norm;
  };

  LdsmParams params_;
  std::size_t lanes_;
  LdsmObjective objective_;
  LdsmNag nag_;
  // The examples of the node, their features and labels numbered within it.
  std::vector<std::uint32_t> local_feature_;  // by feature
  std::vector<std::uint32_t> features_;       // of the node, sorted
  std::vector<std::uint32_t> local_label_;    // by label
  std::vector<LabelId> labels_;
  std::vector<Row> rows_;
  std::vector<std::uint32_t> order_;  // of the rows in an epoch
  std::vector<std::uint32_t> row_feature_;
  std::vector<float> row_value_;
  std::vector<std::uint32_t> row_label_;
  std::vector<float> weights_;      // [feature][lane]
  std::vector<double> label_sent_;  // [label][arity]
  std::vector<unsigned> sent_;
};

}  // namespace labeltree
