// What all learners share, bound once.
#include "learner.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>

#include <optional>

#include "bindings.hpp"
#include "signals.hpp"

using namespace labeltree;

namespace {

void learn(Learner& self, const BoundMatrix& X, const BoundLabelSets& y,
           std::optional<In<float>> weight, In<std::int64_t> order, std::size_t threads,
           std::optional<InOut<LabelId>> predicted, std::optional<InOut<float>> probability) {
  const auto lock = lock_without_gil<ExclusiveLock>(self.mutex());
  require_unfrozen(self.bank().params());
  require_features(X.view, self.bank().params().features);
  require_learnable(X, y, weight, self.labels());
  require_order(order, X.view.rows);
  if (predicted && predicted->shape(0) != order.shape(0)) {
    invalid("order and predicted differ in length");
  }
  if (probability && probability->shape(0) != order.shape(0)) {
    invalid("order and probability differ in length");
  }
  SignalPoll signals;
  {
    nb::gil_scoped_release release;
    self.learn(X.view, y.view, weight ? weight->data() : nullptr, order.data(), order.shape(0),
               threads, predicted ? predicted->data() : nullptr,
               probability ? probability->data() : nullptr, signals.callback());
  }
  signals.rethrow();
}

}  // namespace

void bind_learner(nb::module_& m) {
  nb::class_<Learner>(m, "Learner", "What all learners share.")
      .def(
          "resize",
          [](Learner& self, std::size_t labels) {
            const auto lock = lock_without_gil<ExclusiveLock>(self.mutex());
            require_unfrozen(self.bank().params());
            self.resize(labels);
          },
          nb::arg("labels"))
      .def(
          "begin_pass",
          [](Learner& self, bool again, std::size_t rows) {
            const auto lock = lock_without_gil<ExclusiveLock>(self.mutex());
            self.begin_pass(again, rows);
          },
          nb::arg("again"), nb::arg("rows") = 0)
      .def_prop_ro("labels", &Learner::labels)
      .def_prop_ro("learned_labels", &Learner::learned_labels)
      .def_prop_ro("examples", &Learner::examples)
      .def("learn", &learn, nb::arg("X"), nb::arg("y"), nb::arg("weight").none(),
           nb::arg("order"), nb::arg("threads"), nb::arg("predicted").noconvert().none(),
           nb::arg("probability").noconvert().none() = nb::none())
      .def("state",
           [](Learner& self, std::optional<float> drop) {
             const auto lock = lock_without_gil<SharedLock>(self.mutex());
             return save_state([&](StateVisitor& visitor) { self.visit_state(visitor); }, drop);
           },
           nb::arg("drop").none() = nb::none(),
           "The whole state; with `drop`, what a frozen learner restores, for prediction only, "
           "without weights of at most that magnitude.")
      .def(
          "restore",
          [](Learner& self, const State& state, bool borrow) {
            const auto lock = lock_without_gil<ExclusiveLock>(self.mutex());
            restore_state(state, [&](StateVisitor& visitor) { self.visit_state(visitor); }, borrow);
          },
          nb::arg("state"), nb::arg("borrow") = false,
          "With `borrow`, a frozen learner uses the memory of large arrays without a copy.");
}
