// The bank of linear models: its settings, for every learner, and itself, for its tests.
#include "linear/bank.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <cmath>
#include <optional>
#include <string>

#include "bindings.hpp"
#include "signals.hpp"

using namespace labeltree;

namespace {

void require_model(const Bank& bank, std::size_t model) {
  if (model >= bank.models()) {
    invalid("model " + std::to_string(model) + " does not exist: the bank has " +
            std::to_string(bank.models()) + " models");
  }
}

// One pass of one model over the rows; the predictions are those made just before each update.
nb::ndarray<nb::numpy, float> learn(Bank& bank, std::size_t model, const BoundMatrix& X,
                                    In<float> y, In<float> weight, const Rule& rule) {
  require_unfrozen(bank.params());
  require_model(bank, model);
  require_features(X.view, bank.params().features);
  if (y.shape(0) != X.view.rows || weight.shape(0) != X.view.rows) {
    invalid("X, y and weight differ in length");
  }
  NewArray<float> out({X.view.rows});
  {
    const ReleasedGil released;
    ExampleBuffer examples;
    for (std::size_t row = 0; row < X.view.rows; ++row) {
      examples.clear();
      bank.observe(X.view, row, weight.data()[row], examples);
      out.data()[row] = bank.predict(model, examples[0]);
      bank.learn(model, examples[0], out.data()[row], y.data()[row], weight.data()[row],
                 rule);
    }
  }
  return out.release();
}

nb::ndarray<nb::numpy, float> predict(const Bank& bank, std::size_t model, const BoundMatrix& X) {
  require_model(bank, model);
  require_features(X.view, bank.params().features);
  NewArray<float> out({X.view.rows});
  {
    const ReleasedGil released;
    ExampleBuffer examples;
    for (std::size_t row = 0; row < X.view.rows; ++row) {
      examples.clear();
      bank.encode(X.view, row, examples);
      out.data()[row] = bank.predict(model, examples[0]);
    }
  }
  return out.release();
}

}  // namespace

void require_unfrozen(const BankParams& params) {
  if (params.frozen) {
    invalid("this model was compiled for prediction; go on learning with the one it was made from");
  }
}

void bind_bank(nb::module_& m) {
  nb::enum_<Loss>(m, "Loss")
      .value("logistic", Loss::logistic)
      .value("squared", Loss::squared)
      .value("hinge", Loss::hinge);
  nb::enum_<Update>(m, "Update").value("adaptive", Update::adaptive).value("sgd", Update::sgd).value("dual", Update::dual);
  nb::enum_<Scale>(m, "Scale").value("max", Scale::max).value("none", Scale::none).value("unit", Scale::unit).value("idf", Scale::idf);
  nb::enum_<Layout>(m, "Layout")
      .value("dense", Layout::dense)
      .value("lines", Layout::lines)
      .value("hashed", Layout::hashed);

  nb::class_<Rule>(m, "Rule", "How a linear model learns.")
      .def(
          "__init__",
          [](Rule* self, Loss loss, Update update, float step, float power, float min_gradient,
             float C) {
            if (!(step > 0.0f && std::isfinite(step))) invalid("step must be positive and finite");
            if (!(power >= 0.0f)) invalid("power must not be negative");
            if (!(min_gradient >= 0.0f)) invalid("min_gradient must not be negative");
            if (!(C > 0.0f && std::isfinite(C))) invalid("C must be positive and finite");
            new (self) Rule{loss, update, step, power, min_gradient, C};
          },
          nb::kw_only(), nb::arg("loss"), nb::arg("update"), nb::arg("step"), nb::arg("power"),
          nb::arg("min_gradient"), nb::arg("C") = 1.0f);

  nb::class_<BankParams>(m, "BankParams", "Settings of a bank of linear models.")
      .def(
          "__init__",
          [](BankParams* self, Scale scale, Layout layout, unsigned bits,
             std::uint64_t features, bool frozen, bool gradient_sums) {
            if (bits < LineWeights::smallest_bits || bits > LineWeights::largest_bits) {
              invalid("bits must be from 10 to 34, received " + std::to_string(bits));
            }
            if (features > std::uint64_t{1} << 32) invalid("there may be at most 2^32 features");
            new (self) BankParams{scale, layout, bits, features, false, frozen, gradient_sums};
          },
          nb::kw_only(), nb::arg("scale"), nb::arg("layout"), nb::arg("bits"),
          nb::arg("features"), nb::arg("frozen") = false, nb::arg("gradient_sums") = true);

  nb::class_<Bank>(m, "Bank", "A bank of linear models on the same features.")
      .def(nb::init<const BankParams&>(), nb::arg("params"))
      .def(
          "resize",
          [](Bank& bank, std::size_t models) {
            require_unfrozen(bank.params());
            bank.resize(models);
          },
          nb::arg("models"))
      .def("learn", &learn, nb::arg("model"), nb::arg("X"), nb::arg("y"), nb::arg("weight"),
           nb::arg("rule"),
           "Learn the rows in order; return the prediction made just before each update.")
      .def("predict", &predict, nb::arg("model"), nb::arg("X"))
      .def("zero",
           [](Bank& bank, std::size_t model) {
             require_unfrozen(bank.params());
             require_model(bank, model);
             bank.zero(model);
           },
           nb::arg("model"))
      .def("copy",
           [](Bank& bank, std::size_t source, std::size_t target) {
             require_unfrozen(bank.params());
             require_model(bank, source);
             require_model(bank, target);
             bank.copy(source, target);
           },
           nb::arg("source"), nb::arg("target"))
      .def("state",
           [](Bank& bank, std::optional<float> keep) {
             return save_state([&](StateVisitor& visitor) { bank.visit_state(visitor); }, keep);
           },
           nb::arg("keep").none() = nb::none())
      .def(
          "restore",
          [](Bank& bank, const State& state, bool borrow) {
            restore_state(state, [&](StateVisitor& visitor) { bank.visit_state(visitor); }, borrow);
          },
          nb::arg("state"), nb::arg("borrow") = false);
}
