// LdSM forests.
#include "tree/ldsm_forest.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <optional>
#include <tuple>
#include <vector>

#include "bindings.hpp"
#include "model_lock.hpp"
#include "signals.hpp"
#include "topk.hpp"

using namespace labeltree;

namespace {

void check(const LdsmParams& p) {
  constexpr std::size_t largest_count = 0xffffffffu;
  if (p.arity < 2 || p.arity > largest_arity) invalid("arity must be from 2 to 8");
  if (!(p.lambda1 >= 0.0) || !(p.lambda2 >= 0.0)) invalid("lambda1 and lambda2 must not be negative");
  if (p.trees < 1) invalid("there must be at least one tree");
  if (p.max_nodes < 1 || p.max_nodes >= largest_count) invalid("max_nodes must be below 2^32");
  if (p.epochs < 1) invalid("epochs must be at least 1");
  if (!(p.max_share > 0.0 && p.max_share <= 1.0)) invalid("max_share must be above 0, at most 1");
  if (!(p.step > 0.0f && std::isfinite(p.step))) invalid("step must be positive and finite");
  if (!(p.idf >= 0.0)) invalid("idf must not be negative");
  if (p.split_rows < 2) invalid("split_rows must be at least 2");
  if (p.recent_rows < 1 || p.recent_rows >= largest_count) invalid("recent_rows must be below 2^32");
}

void fit(LdsmForest& self, const BoundMatrix& X, const BoundLabelSets& y,
         std::optional<In<float>> weight, std::size_t threads) {
  Changing lock(self.lock());
  require_unfrozen(self.bank().params());
  if (self.examples() > 0) invalid("fit is for a forest that has learned nothing");
  require_features(X.view, self.bank().params().features);
  require_learnable(X, y, weight, self.labels());
  SignalPoll signals;
  {
    const ReleasedGil released;
    self.fit(X.view, y.view, weight ? weight->data() : nullptr, threads, signals.callback());
    lock.release();
  }
  signals.rethrow();
}

// The labels above the threshold as CSR: where each row begins, and the label ids.
std::tuple<nb::ndarray<nb::numpy, std::int64_t>, nb::ndarray<nb::numpy, LabelId>> predict_above(
    const LdsmForest& self, const BoundMatrix& X, float threshold, std::size_t threads) {
  Reading lock(self.lock());
  require_features(X.view, self.bank().params().features);
  std::vector<std::vector<LabelId>> sets;
  SignalPoll signals;
  {
    const ReleasedGil released;
    self.predict_above(X.view, threshold, threads, sets, signals.callback());
    lock.release();
  }
  signals.rethrow();
  return sets_to_csr(sets);
}

}  // namespace

void bind_ldsm(nb::module_& m) {
  nb::enum_<LdsmUpdate>(m, "LdsmUpdate")
      .value("plain", LdsmUpdate::plain)
      .value("nag", LdsmUpdate::nag);
  nb::enum_<LdsmPriority>(m, "LdsmPriority")
      .value("rows", LdsmPriority::rows)
      .value("labels", LdsmPriority::labels);
  nb::enum_<LeafShares>(m, "LeafShares")
      .value("rows", LeafShares::rows)
      .value("labels", LeafShares::labels);
  nb::class_<LdsmForest, Learner>(m, "LdsmForest", "LdSM: trees over label sets.")
      .def(
          "__init__",
          [](LdsmForest* self, const BankParams& bank, std::size_t arity, double lambda1,
             double lambda2, std::size_t trees, std::size_t max_nodes, std::size_t epochs,
             std::size_t min_leaf, std::size_t min_feature_rows, double max_share, float step,
             double idf, std::size_t top_labels, std::size_t split_rows, std::size_t recent_rows, std::uint64_t seed,
             std::size_t first_tree, LdsmUpdate update, bool reorder, LdsmPriority priority,
             bool empty_children, LeafShares leaf_shares) {
            const LdsmParams params{arity,    lambda1,          lambda2,   trees, max_nodes, epochs,
                                    min_leaf, min_feature_rows, max_share, step,  idf, top_labels,
                                    split_rows, recent_rows, seed, first_tree, update, reorder, priority,
                                    empty_children, leaf_shares};
            check(params);
            new (self) LdsmForest(bank, params);
          },
          nb::arg("params"), nb::kw_only(), nb::arg("arity"), nb::arg("lambda1"),
          nb::arg("lambda2"), nb::arg("trees"), nb::arg("max_nodes"), nb::arg("epochs"),
          nb::arg("min_leaf"), nb::arg("min_feature_rows"), nb::arg("max_share"),
          nb::arg("step"), nb::arg("idf"), nb::arg("top_labels"), nb::arg("split_rows"), nb::arg("recent_rows"), nb::arg("seed"),
          nb::arg("first_tree") = 0, nb::arg("update") = LdsmUpdate::plain,
          nb::arg("reorder") = true, nb::arg("priority") = LdsmPriority::rows,
          nb::arg("empty_children") = true, nb::arg("leaf_shares") = LeafShares::rows)
      .def("fit", &fit, nb::arg("X"), nb::arg("y"), nb::arg("weight").none(), nb::arg("threads"))
      .def("predict_topk", &predict_topk<LdsmForest>, nb::arg("X"), nb::arg("k"),
           nb::arg("threads"))
      .def("predict_row", &predict_row<LdsmForest>, nb::arg("X"), nb::arg("k"))
      .def("predict_above", &predict_above, nb::arg("X"), nb::arg("threshold"),
           nb::arg("threads"))
      .def(
          "view",
          [](const LdsmForest& self) {
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
          [](const LdsmForest& self, const BoundMatrix& X, std::size_t row) {
            Reading lock(self.lock());
            require_features(X.view, self.bank().params().features);
            if (row >= X.view.rows) invalid("there is no such row");
            return self.path(X.view, row);
          },
          nb::arg("X"), nb::arg("row"));
}
