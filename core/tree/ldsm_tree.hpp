// One tree of LdSM (Majzoubi & Choromanska 2019): an M-ary tree over label sets.
//
// An example goes to every child whose regressor says more than one half, or else to the best
// one; the labels of the examples that reached a leaf are its prediction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "parallel.hpp"
#include "tree/label_counts.hpp"
#include "tree/ldsm_regressors.hpp"

namespace labeltree {

// The examples a tree may still learn from, and the number of the first one: example number i is
// at place i % size. All examples of a fit, or the most recent ones of a stream.
struct LdsmExamples {
  std::span<const LdsmExample> all;
  std::uint64_t first = 0;
  float rate = 1.0f;  // of the bank
  const LdsmScale* scale = nullptr;  // if the examples were multiplied by it
};

class LdsmTree {
 public:
  static constexpr std::uint32_t none = 0xffffffffu;

  LdsmTree(const LdsmParams& params, std::uint64_t seed);

  struct Node {
    std::uint32_t parent = none;
    std::uint32_t children = 0;  // the first of M, which follow one another; 0 for a leaf
    unsigned reached = 0;        // those of them that an example has reached, as bits
    double weight = 0.0;         // of the examples that reached the node
    double mass = 0.0;           // the same, each counted once per label
    LabelCounts histogram{};
    LdsmRegressors regressors{};  // of an inner node
    std::vector<std::uint64_t> recent{};  // a leaf's examples that are still at hand, by number
  };

  // Grows the tree on all examples: the leaf of highest priority is split next (Algorithm 2). A tree
  // that is stopped has fewer nodes.
  void fit(const LdsmExamples& examples, LdsmTrainer& trainer, const StopRequested& stop);

  // Takes one more example down the tree, teaching the nodes on its way, and splits the leaves
  // that it makes heavy.
  void learn(const LdsmExamples& examples, std::uint64_t number, LdsmTrainer& trainer);

  // A leaf that an example, given by its row, has reached.
  struct Reached {
    std::uint32_t row;
    std::uint32_t leaf;
  };

  // Takes rows down the tree together, so that each node's weights are read once; every row
  // reaches at least one leaf. The vectors are memory to use again.
  struct Descent {
    struct Group {
      std::uint32_t node, begin, end;  // rows[begin] .. rows[end - 1] have reached the node
    };
    std::vector<Group> groups;
    std::vector<std::uint32_t> rows;
    std::vector<unsigned> sent;
    std::vector<Reached> reached;
  };
  void descend(std::span<const LdsmExample> examples, Descent& descent) const;
  // The way to the best leaf, root first.
  std::vector<std::uint32_t> path(const LdsmExample& x) const;

  const std::vector<Node>& nodes() const { return nodes_; }

  // Makes it the tree that has these nodes; `reached` need not be set.
  void assign(std::vector<Node> nodes);

 private:
  bool is_leaf(std::uint32_t node) const { return nodes_[node].children == 0; }
  bool has_room() const { return nodes_.size() + params_.arity <= params_.max_nodes; }
  void count(Node& node, const LdsmExample& x);
  void count_all(Node& node, std::span<const LdsmExample> all, std::span<const std::uint32_t> ids);
  void note_reached(Node& node) const;
  double priority(const Node& leaf) const;
  unsigned direction(const Node& node, const LdsmExample& x) const;
  bool split(std::uint32_t node, const LdsmExamples& examples,
             std::span<const std::uint32_t> places, LdsmTrainer& trainer,
             const StopRequested& stop);
  void split_online(std::uint32_t node, const LdsmExamples& examples, LdsmTrainer& trainer);

  LdsmParams params_;
  std::uint64_t seed_;
  std::vector<Node> nodes_;
};

}  // namespace labeltree
