// The tree learners.
#include <nanobind/nanobind.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <tuple>

#include "bindings.hpp"
#include "model_lock.hpp"
#include "signals.hpp"
#include "topk.hpp"
#include "tree/label_tree.hpp"
#include "tree/lom_tree.hpp"
#include "tree/probability_tree.hpp"
#include "tree/recall_tree.hpp"

using namespace labeltree;

namespace {

constexpr std::size_t largest_count = 0xffffffffu;

template <class Tree>
nb::ndarray<nb::numpy, float> label_probability(const Tree& self, const BoundMatrix& X,
                                                In<LabelId> labels) {
  Reading lock(self.lock());
  require_features(X.view, self.bank().params().features);
  if (labels.shape(0) != X.view.rows) invalid("X and labels differ in length");
  for (std::size_t i = 0; i < labels.shape(0); ++i) {
    if (labels.data()[i] >= self.labels()) invalid("a label id is not below the number of labels");
  }
  NewArray<float> probability({X.view.rows});
  {
    const ReleasedGil released;
    self.label_probability(X.view, labels.data(), probability.data());
    lock.release();
  }
  return probability.release();
}

nb::ndarray<nb::numpy, float> predict_all(const TreeLearner& self, const BoundMatrix& X,
                                          std::size_t threads) {
  Reading lock(self.lock());
  require_features(X.view, self.bank().params().features);
  NewArray<float> p({X.view.rows, self.labels()});
  SignalPoll signals;
  {
    const ReleasedGil released;
    std::fill_n(p.data(), X.view.rows * self.labels(), 0.0f);
    self.predict_all(X.view, threads, p.data(), signals.callback());
    lock.release();
  }
  signals.rethrow();
  return p.release();
}

void forget(LabelTree& self, In<LabelId> labels, bool keep_ids,
            const nb::typed<nb::callable, nb::object()>& then) {
  Changing lock(self.lock());
  require_unfrozen(self.bank().params());
  std::vector<bool> given(self.labels(), false);
  for (std::size_t i = 0; i < labels.shape(0); ++i) {
    const LabelId label = labels.data()[i];
    if (label >= given.size()) invalid("a label id is not below the number of labels");
    if (given[label]) invalid("a label is given twice");
    given[label] = true;
  }
  {
    const ReleasedGil released;
    self.forget({labels.data(), labels.shape(0)}, keep_ids);
  }
  then();
}

}  // namespace

void bind_tree(nb::module_& m) {
  nb::class_<TreeLearner, Learner>(m, "TreeLearner", "What all tree learners share.")
      .def("predict_topk", &predict_topk<TreeLearner>, nb::arg("X"), nb::arg("k"), nb::arg("threads"))
      .def("predict_row", &predict_row<TreeLearner>, nb::arg("X"), nb::arg("k"))
      .def("predict_all", &predict_all, nb::arg("X"), nb::arg("threads"),
           "The probability of every label, of trees that know it.")
      .def(
          "view",
          [](const TreeLearner& self) {
            Reading lock(self.lock());
            const TreeView view = self.view();
            return std::tuple(copy_to_numpy(view.parent.data(), view.parent.size()),
                              copy_to_numpy(view.label.data(), view.label.size()),
                              copy_to_numpy(view.weight.data(), view.weight.size()),
                              copy_to_numpy(view.distinct.data(), view.distinct.size()));
          },
          "The parent, label, weight and number of labels of each node.")
      .def(
          "path",
          [](const TreeLearner& self, const BoundMatrix& X, std::size_t row) {
            Reading lock(self.lock());
            require_features(X.view, self.bank().params().features);
            if (row >= X.view.rows) invalid("there is no such row");
            return self.path(X.view, row);
          },
          nb::arg("X"), nb::arg("row"));

  nb::enum_<TreeShape>(m, "TreeShape")
      .value("online", TreeShape::online)
      .value("random", TreeShape::random)
      .value("balanced", TreeShape::balanced);
  nb::enum_<Estimates>(m, "Estimates")
      .value("shares", Estimates::shares)
      .value("clipped", Estimates::clipped)
      .value("formula", Estimates::formula);
  nb::class_<ProbabilityTree, TreeLearner>(m, "ProbabilityTree", "Conditional probability tree.")
      .def(
          "__init__",
          [](ProbabilityTree* self, const BankParams& params, const Rule& rule, TreeShape shape,
             float alpha, std::size_t arity, std::size_t search_budget, bool copy_leaves,
             std::uint64_t seed, bool greedy, bool filter, Estimates estimates) {
            if (!(alpha >= 0.0f && alpha <= 1.0f)) invalid("alpha must be from 0 to 1");
            if (arity < 2 || arity > (1u << 20) || !std::has_single_bit(arity)) {
              invalid("arity is " + std::to_string(arity) +
                      ", expected a power of two from 2 to 2^20");
            }
            if (search_budget > largest_count) invalid("search_budget must be below 2^32");
            if (rule.loss == Loss::hinge) invalid("hinge loss has no probabilities");
            new (self) ProbabilityTree(
                params, {rule, shape, alpha, arity, search_budget, copy_leaves, seed, greedy,
                         filter, estimates});
          },
          nb::arg("params"), nb::arg("rule"), nb::kw_only(), nb::arg("shape"), nb::arg("alpha"),
          nb::arg("arity"), nb::arg("search_budget"), nb::arg("copy_leaves"), nb::arg("seed"),
          nb::arg("greedy") = false, nb::arg("filter") = false,
          nb::arg("estimates") = Estimates::shares)
      .def("label_probability", &label_probability<ProbabilityTree>, nb::arg("X"),
           nb::arg("labels"));

  nb::class_<LabelTree, TreeLearner>(m, "LabelTree", "Trees, an index and scorers.")
      .def(
          "__init__",
          [](LabelTree* self, const BankParams& params, const Rule& tree, const Rule& scorer,
             std::size_t trees, std::size_t tree_candidates, std::size_t beam,
             float improbable, float alpha, float tree_weight, std::size_t index_length,
             std::size_t index_candidates, float index_weight, float hopeless, bool scorers,
             bool exclusive, std::uint64_t seed, float slope, float shift, bool calibrated,
             std::size_t replay, bool regrow, bool stamps) {
            if (trees + index_length == 0) invalid("there must be a tree or an index");
            for (const std::size_t count : {trees, tree_candidates, beam, index_length,
                                            index_candidates}) {
              if (count > largest_count) invalid("a count is not below 2^32");
            }
            if (beam == 0) invalid("beam must be at least 1");
            if (!(improbable >= 0.0f && improbable <= 1.0f)) {
              invalid("improbable must be from 0 to 1");
            }
            if (!(slope > 0.0f && std::isfinite(slope))) invalid("slope must be positive and finite");
            if (!std::isfinite(shift)) invalid("shift must be finite");
            if (!(hopeless >= 0.0f)) invalid("hopeless must not be negative");
            if (!(alpha >= 0.0f && alpha <= 1.0f)) invalid("alpha must be from 0 to 1");
            if (tree.loss != Loss::logistic || scorer.loss != Loss::logistic) {
              invalid("only logistic loss has the probabilities that are needed");
            }
            new (self) LabelTree(params, {tree, scorer, trees, tree_candidates, beam,
                                          improbable, alpha, tree_weight, index_length,
                                          index_candidates, index_weight, slope, shift, hopeless,
                                          scorers, exclusive, calibrated, replay, regrow, stamps,
                                          seed});
          },
          nb::arg("params"), nb::arg("tree"), nb::arg("scorer"), nb::kw_only(), nb::arg("trees"),
          nb::arg("tree_candidates"), nb::arg("beam"), nb::arg("improbable"), nb::arg("alpha"),
          nb::arg("tree_weight"), nb::arg("index_length"), nb::arg("index_candidates"),
          nb::arg("index_weight"), nb::arg("hopeless"), nb::arg("scorers"),
          nb::arg("exclusive"), nb::arg("seed"), nb::arg("slope") = 1.0f,
          nb::arg("shift") = 0.0f, nb::arg("calibrated") = false,
          nb::arg("replay") = 0, nb::arg("regrow") = false, nb::arg("stamps") = false)
      .def_static("inner_nodes", &ChoiceTree::inner_nodes, nb::arg("labels"))
      .def(
          "organize",
          [](LabelTree& self, const BoundMatrix& X, const BoundLabelSets& y) {
            Changing lock(self.lock());
            require_unfrozen(self.bank().params());
            require_features(X.view, self.bank().params().features);
            if (y.rows != X.view.rows) invalid("X and y differ in length");
            if (y.labels > self.labels()) invalid("a label id is not below the number of labels");
            if (self.examples() > 0 || !self.view().parent.empty()) {
              invalid("only a learner that has learned nothing is organized");
            }
            const ReleasedGil released;
            self.organize(X.view, y.view);
          },
          nb::arg("X"), nb::arg("y"))
      .def("forget", &forget, nb::arg("labels"), nb::arg("keep_ids"), nb::arg("then"),
           "Forget labels, and call `then`, a native function, before anything else can happen. "
           "The ids of others move up, unless they are kept.")
      .def_prop_ro("grown_bytes", reading(&LabelTree::grown_bytes))
      .def(
          "longest_unseen",
          [](const LabelTree& self, std::size_t n, In<LabelId> without) {
            Reading lock(self.lock());
            const auto found = self.longest_unseen(n, {without.data(), without.shape(0)});
            return copy_to_numpy(found.data(), found.size());
          },
          nb::arg("n"), nb::arg("without"), "The n labels longest unseen, without some.")
      .def(
          "set_shards",
          [](LabelTree& self, std::size_t shards) {
            if (shards == 0) invalid("there must be a shard");
            Changing lock(self.lock());
            self.set_shards(shards);
          },
          nb::arg("shards"), "By the dual update, learn rows as one of so many shards.")
      .def(
          "rows_state",
          [](LabelTree& self) {
            Reading lock(self.lock());
            return save_state([&](StateVisitor& visitor) { self.visit_rows(visitor); });
          },
          "What is known of the rows that come again.")
      .def(
          "restore_rows",
          [](LabelTree& self, const State& state) {
            Changing lock(self.lock());
            restore_state(state, [&](StateVisitor& visitor) { self.visit_rows(visitor); });
          },
          nb::arg("state"), "Go on with what was known of the rows, after `restore`.")
      .def("label_probability", &label_probability<LabelTree>, nb::arg("X"), nb::arg("labels"))
      .def_prop_ro("recall", reading(&LabelTree::recall));

  nb::class_<LomTree, TreeLearner>(m, "LomTree", "The LOMtree.")
      .def(
          "__init__",
          [](LomTree* self, const BankParams& params, const Rule& rule, std::size_t max_nodes,
             float swap_resistance) {
            if (!(swap_resistance >= 1.0f)) invalid("swap_resistance must be at least 1");
            new (self) LomTree(params, {rule, max_nodes, swap_resistance});
          },
          nb::arg("params"), nb::arg("rule"), nb::kw_only(), nb::arg("max_nodes"),
          nb::arg("swap_resistance"))
      .def_prop_ro("nodes", reading(&LomTree::nodes))
      .def("splits",
           [](const LomTree& self) {
             Reading lock(self.lock());
             const LomTree::Splits splits = self.splits();
             return std::tuple(copy_to_numpy(splits.objective.data(), splits.objective.size()),
                               copy_to_numpy(splits.purity.data(), splits.purity.size()),
                               copy_to_numpy(splits.balance.data(), splits.balance.size()));
           })
      .def_prop_ro("most_recycled", reading(&LomTree::most_recycled));

  nb::enum_<StopRule>(m, "StopRule")
      .value("bernstein", StopRule::bernstein)
      .value("fit", StopRule::fit);
  nb::enum_<PathFeatures>(m, "PathFeatures")
      .value("path", PathFeatures::path)
      .value("node", PathFeatures::node)
      .value("none", PathFeatures::none);
  nb::enum_<Importance>(m, "Importance")
      .value("total", Importance::total)
      .value("average", Importance::average)
      .value("equal", Importance::equal);
  nb::class_<RecallTree, TreeLearner>(m, "RecallTree", "The Recall Tree.")
      .def(
          "__init__",
          [](RecallTree* self, const BankParams& params, const Rule& router, const Rule& scorer,
             std::size_t candidates, std::size_t max_depth, std::size_t max_nodes,
             std::size_t trees, float bound, StopRule stop, bool fill, bool always_train,
             bool randomized, std::uint64_t seed, PathFeatures path_features,
             Importance importance, bool recount) {
            if (trees < 1) invalid("there must be at least one tree");
            if (candidates > largest_count) invalid("candidates must be below 2^32");
            if (!(bound >= 0.0f)) invalid("bound must not be negative");
            if (max_nodes > largest_count) invalid("max_nodes must be below 2^32");
            new (self) RecallTree(params, {router, scorer, candidates, max_depth, max_nodes, trees,
                                           bound, stop, fill, always_train, randomized, seed,
                                           path_features, importance, recount});
          },
          nb::arg("params"), nb::arg("router"), nb::arg("scorer"), nb::kw_only(),
          nb::arg("candidates"), nb::arg("max_depth"), nb::arg("max_nodes"), nb::arg("trees"),
          nb::arg("bound"), nb::arg("stop"), nb::arg("fill"), nb::arg("always_train"), nb::arg("randomized"), nb::arg("seed"),
          nb::arg("path_features"), nb::arg("importance") = Importance::total,
          nb::arg("recount") = false)
      .def_prop_ro("nodes", reading(&RecallTree::nodes))
      .def_prop_ro("candidate_count", reading(&RecallTree::candidate_count))
      .def(
          "recall_bounds",
          [](const RecallTree& self) {
            Reading lock(self.lock());
            std::vector<double> bounds;
            for (std::uint32_t node = 0; node < self.nodes(); ++node) {
              bounds.push_back(self.recall_bound(node));
            }
            return copy_to_numpy(bounds.data(), bounds.size());
          },
          "The lower bound on each node's recall.");
}
