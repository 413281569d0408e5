// What all learners share, bound once.
#include "learner.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>

#include <optional>

#include "bindings.hpp"
#include "model_lock.hpp"
#include "signals.hpp"

using namespace labeltree;

namespace {

void learn(Learner& self, const BoundMatrix& X, const BoundLabelSets& y,
           std::optional<In<float>> weight, In<std::int64_t> order, std::size_t threads,
           std::optional<InOut<LabelId>> predicted, std::optional<InOut<float>> probability) {
  Changing lock(self.lock());
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
    const ReleasedGil released;
    self.learn(X.view, y.view, weight ? weight->data() : nullptr, order.data(), order.shape(0),
               threads, predicted ? predicted->data() : nullptr,
               probability ? probability->data() : nullptr, signals.callback());
    lock.release();
  }
  signals.rethrow();
}

// Gives labels the next ids, in a dict, and makes room for them: all or none of it, since nothing of
// Python can come between.
void add_labels(Learner& self, nb::typed<nb::dict, nb::any, std::size_t> ids,
                const nb::typed<nb::list, nb::any>& labels) {
  Changing lock(self.lock());
  require_unfrozen(self.bank().params());
  const std::size_t before = self.labels();
  if (ids.size() != before) {
    invalid("there are " + std::to_string(ids.size()) + " ids, but the model has " +
            std::to_string(before) + " labels");
  }
  std::size_t added = 0;
  try {
    for (const nb::handle label : labels) {
      if (ids.contains(label)) invalid("a label is there already");
      ids[label] = before + added;
      ++added;
    }
    self.resize(before + added);
  } catch (...) {
    while (added > 0) PyDict_DelItem(ids.ptr(), labels[--added].ptr());
    throw;
  }
}

void look_ahead(Learner& self, const BoundMatrix& X, std::optional<In<float>> weight) {
  Changing lock(self.lock());
  require_unfrozen(self.bank().params());
  require_features(X.view, self.bank().params().features);
  if (weight && weight->shape(0) != X.view.rows) invalid("X and weight differ in length");
  const ReleasedGil released;
  self.bank().look_ahead(X.view, weight ? weight->data() : nullptr);
}

}  // namespace

void bind_learner(nb::module_& m) {
  nb::class_<Learner> learner(m, "Learner", "What all learners share.");
  bind_label_table(m, learner);
  bind_changes(learner);
  learner
      .def(
          "resize",
          [](Learner& self, std::size_t labels) {
            Changing lock(self.lock());
            require_unfrozen(self.bank().params());
            self.resize(labels);
          },
          nb::arg("labels"))
      .def("add_labels", &add_labels, nb::arg("ids"), nb::arg("labels"),
           "Give labels the next ids in a dict and make room for them: all or none of it.")
      .def("share_lock", &Learner::share_lock, nb::arg("lock"),
           "Take another lock from now on; nobody may hold the one it has.")
      .def(
          "begin_pass",
          [](Learner& self, bool again, std::size_t rows, bool more) {
            Changing lock(self.lock());
            self.begin_pass(again, rows, more);
          },
          nb::arg("again"), nb::arg("rows") = 0, nb::arg("more") = false)
      .def("look_ahead", &look_ahead, nb::arg("X"), nb::arg("weight").none(),
           "Note the features of rows that will be learned, where rows are weighed by them.")
      .def_prop_ro("labels", reading(&Learner::labels))
      .def_prop_ro("learned_labels", &Learner::learned_labels)
      .def_prop_ro("examples", reading(&Learner::examples))
      .def("learn", &learn, nb::arg("X"), nb::arg("y"), nb::arg("weight").none(),
           nb::arg("order"), nb::arg("threads"), nb::arg("predicted").noconvert().none(),
           nb::arg("probability").noconvert().none() = nb::none())
      .def("state",
           [](Learner& self, std::optional<float> keep, bool weights) {
             Reading lock(self.lock());
             return save_state([&](StateVisitor& visitor) { self.visit_state(visitor); }, keep,
                               weights);
           },
           nb::arg("keep").none() = nb::none(), nb::arg("weights") = true,
           "The whole state, or one with an empty table of weights; with `keep`, what a frozen "
           "learner restores, for prediction only, with the weights that make up this share of "
           "what all of them matter.")
      .def(
          "restore",
          [](Learner& self, const State& state, bool borrow) {
            Changing lock(self.lock());
            restore_state(state, [&](StateVisitor& visitor) { self.visit_state(visitor); }, borrow);
          },
          nb::arg("state"), nb::arg("borrow") = false,
          "With `borrow`, a frozen learner uses the memory of large arrays without a copy.");
}
