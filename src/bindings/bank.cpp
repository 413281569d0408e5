// The bank of linear models, bound for its tests, and its state for every learner's model file.
#include "linear/bank.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <string>

#include "bindings.hpp"

using namespace labeltree;

namespace {

// Rows of `row_size` floats that hold anything but zeros.
std::vector<std::uint64_t> used_rows(const AlignedFloats& table, std::size_t row_size) {
  std::vector<std::uint64_t> used;
  for (std::size_t row = 0; row * row_size < table.size(); ++row) {
    const float* begin = table.data() + row * row_size;
    if (std::any_of(begin, begin + row_size, [](float v) { return v != 0.0f; })) {
      used.push_back(row);
    }
  }
  return used;
}

// A table, often almost empty, is kept as its used rows and their numbers.
void save_table(State& state, const std::string& name, const AlignedFloats& table,
                std::size_t row_size) {
  const std::vector<std::uint64_t> used = used_rows(table, row_size);
  NewArray<float> rows({used.size() * row_size});
  for (std::size_t i = 0; i < used.size(); ++i) {
    std::copy_n(table.data() + used[i] * row_size, row_size, rows.data() + i * row_size);
  }
  state[name.c_str()] = rows.release();
  state[(name + "_row").c_str()] = copy_to_numpy(used.data(), used.size());
}

void load_table(const State& state, const std::string& name, AlignedFloats& table,
                std::size_t row_size) {
  const auto used = state_array<std::uint64_t>(state, name + "_row");
  const auto rows = state_array<float>(state, name, used.shape(0) * row_size);
  for (std::size_t i = 0; i < used.shape(0); ++i) {
    if (used.data()[i] >= table.size() / row_size) {
      invalid("the saved array " + name + " has a row beyond the end of the table");
    }
  }
  std::memset(table.data(), 0, table.size() * sizeof(float));
  for (std::size_t i = 0; i < used.shape(0); ++i) {
    std::copy_n(rows.data() + i * row_size, row_size, table.data() + used.data()[i] * row_size);
  }
}

void require_model(const Bank& bank, std::size_t model) {
  if (model >= bank.models()) {
    invalid("model " + std::to_string(model) + " does not exist: the bank has " +
            std::to_string(bank.models()) + " models");
  }
}

// One pass of one model over the rows; the predictions are those made just before each update.
nb::ndarray<nb::numpy, float> learn(Bank& bank, std::size_t model, const BoundMatrix& X,
                                    In<float> y, In<float> weight) {
  require_model(bank, model);
  require_features(X.view, bank.params().features);
  if (y.shape(0) != X.view.rows || weight.shape(0) != X.view.rows) {
    invalid("X, y and weight differ in length");
  }
  NewArray<float> out({X.view.rows});
  {
    nb::gil_scoped_release release;
    ExampleBuffer examples;
    for (std::size_t row = 0; row < X.view.rows; ++row) {
      examples.clear();
      bank.observe(X.view, row, weight.data()[row], examples);
      out.data()[row] = bank.predict(model, examples[0]);
      bank.learn(model, examples[0], out.data()[row], y.data()[row], weight.data()[row]);
    }
  }
  return out.release();
}

nb::ndarray<nb::numpy, float> predict(const Bank& bank, std::size_t model, const BoundMatrix& X) {
  require_model(bank, model);
  require_features(X.view, bank.params().features);
  NewArray<float> out({X.view.rows});
  {
    nb::gil_scoped_release release;
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

void save_bank(State& state, const Bank& bank) {
  const double totals[] = {bank.total_weight(), bank.total_norm()};
  state["totals"] = copy_to_numpy(totals, 2);
  state["steps"] = copy_to_numpy(bank.steps().data(), bank.steps().size());
  save_table(state, "largest", bank.largest(), 1);
  save_table(state, "weights", bank.table(), bank.row_size());
}

void restore_bank(const State& state, Bank& bank) {
  const auto totals = state_array<double>(state, "totals", 2);
  const auto steps = state_array<double>(state, "steps");
  bank.resize(steps.shape(0));
  std::copy_n(steps.data(), steps.shape(0), bank.steps().data());
  bank.total_weight() = totals.data()[0];
  bank.total_norm() = totals.data()[1];
  load_table(state, "largest", bank.largest(), 1);
  load_table(state, "weights", bank.table(), bank.row_size());
}

void bind_bank(nb::module_& m) {
  nb::enum_<Loss>(m, "Loss")
      .value("logistic", Loss::logistic)
      .value("squared", Loss::squared)
      .value("hinge", Loss::hinge);
  nb::enum_<Update>(m, "Update").value("adaptive", Update::adaptive).value("sgd", Update::sgd);
  nb::enum_<Scale>(m, "Scale").value("max", Scale::max).value("none", Scale::none);
  nb::enum_<Layout>(m, "Layout").value("dense", Layout::dense).value("hashed", Layout::hashed);

  nb::class_<BankParams>(m, "BankParams", "Settings of a bank of linear models.")
      .def(
          "__init__",
          [](BankParams* self, Loss loss, Update update, Scale scale, Layout layout, float step,
             float power, unsigned bits, std::uint64_t features, float min_gradient) {
            if (!(step > 0.0f)) invalid("step must be positive");
            if (!(power >= 0.0f)) invalid("power must not be negative");
            if (bits < HashedWeights::smallest_bits || bits > HashedWeights::largest_bits) {
              invalid("bits must be from 10 to 34, received " + std::to_string(bits));
            }
            if (features > std::uint64_t{1} << 32) invalid("there may be at most 2^32 features");
            if (!(min_gradient >= 0.0f)) invalid("min_gradient must not be negative");
            new (self) BankParams{loss,  update, scale,    layout,      step,
                                  power, bits,   features, min_gradient};
          },
          nb::kw_only(), nb::arg("loss"), nb::arg("update"), nb::arg("scale"), nb::arg("layout"),
          nb::arg("step"), nb::arg("power"), nb::arg("bits"), nb::arg("features"),
          nb::arg("min_gradient"));

  nb::class_<Bank>(m, "Bank", "A bank of linear models on the same features.")
      .def(nb::init<const BankParams&>(), nb::arg("params"))
      .def("resize", &Bank::resize, nb::arg("models"))
      .def("learn", &learn, nb::arg("model"), nb::arg("X"), nb::arg("y"), nb::arg("weight"),
           "Learn the rows in order; return the prediction made just before each update.")
      .def("predict", &predict, nb::arg("model"), nb::arg("X"))
      .def("zero",
           [](Bank& bank, std::size_t model) {
             require_model(bank, model);
             bank.zero(model);
           },
           nb::arg("model"))
      .def("copy",
           [](Bank& bank, std::size_t source, std::size_t target) {
             require_model(bank, source);
             require_model(bank, target);
             bank.copy(source, target);
           },
           nb::arg("source"), nb::arg("target"))
      .def("state",
           [](const Bank& bank) {
             State state;
             save_bank(state, bank);
             return state;
           })
      .def("restore", [](Bank& bank, const State& state) { restore_bank(state, bank); },
           nb::arg("state"));
}
