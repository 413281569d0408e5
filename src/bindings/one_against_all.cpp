#include "baseline/one_against_all.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/tuple.h>

#include <tuple>
#include <vector>

#include "bindings.hpp"
#include "model_lock.hpp"
#include "signals.hpp"

using namespace labeltree;

namespace {

std::tuple<nb::ndarray<nb::numpy, LabelId>, nb::ndarray<nb::numpy, float>,
           nb::ndarray<nb::numpy, double>>
predict_topk(const OneAgainstAll& self, const BoundMatrix& X, std::size_t k, std::size_t threads,
             bool with_total) {
  Reading lock(self.lock());
  require_features(X.view, self.bank().params().features);
  NewArray<LabelId> labels({X.view.rows, k});
  NewArray<float> margins({X.view.rows, k});
  NewArray<double> total({with_total ? X.view.rows : 0});
  SignalPoll signals;
  {
    const ReleasedGil released;
    self.predict_topk(X.view, k, threads, labels.data(), margins.data(),
                      with_total ? total.data() : nullptr, signals.callback());
    lock.release();
  }
  signals.rethrow();
  return {labels.release(), margins.release(), total.release()};
}

nb::ndarray<nb::numpy, float> predict_margins(const OneAgainstAll& self, const BoundMatrix& X,
                                              std::size_t threads) {
  Reading lock(self.lock());
  require_features(X.view, self.bank().params().features);
  NewArray<float> margins({X.view.rows, self.labels()});
  SignalPoll signals;
  {
    const ReleasedGil released;
    self.predict_margins(X.view, threads, margins.data(), signals.callback());
    lock.release();
  }
  signals.rethrow();
  return margins.release();
}

// The labels above the threshold as CSR: where each row begins, and the label ids.
std::tuple<nb::ndarray<nb::numpy, std::int64_t>, nb::ndarray<nb::numpy, LabelId>> predict_above(
    const OneAgainstAll& self, const BoundMatrix& X, float threshold, std::size_t threads) {
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

void bind_one_against_all(nb::module_& m) {
  nb::class_<OneAgainstAll, Learner>(m, "OneAgainstAll", "One linear model per label.")
      .def(nb::init<const BankParams&, const Rule&>(), nb::arg("params"), nb::arg("rule"))
      .def("predict_topk", &predict_topk, nb::arg("X"), nb::arg("k"), nb::arg("threads"),
           nb::arg("with_total"))
      .def("predict_margins", &predict_margins, nb::arg("X"), nb::arg("threads"))
      .def("predict_above", &predict_above, nb::arg("X"), nb::arg("threshold"),
           nb::arg("threads"));
}
