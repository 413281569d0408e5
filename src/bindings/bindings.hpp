// What the binding files share.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>
#include <string>

#include "arrays.hpp"
#include "labels.hpp"
#include "linear/bank.hpp"
#include "matrix.hpp"

// A Matrix together with the arrays it borrows.
struct BoundMatrix {
  labeltree::Matrix view;
  nb::object owner;
};

// LabelSets together with the arrays they borrow.
struct BoundLabelSets {
  labeltree::LabelSets view;
  std::size_t rows;
  std::size_t labels;  // one more than the largest id
  nb::object owner;
};

// The arrays of a learner's state, by name.
using State = nb::typed<nb::dict, nb::str, nb::any>;

[[noreturn]] void invalid(const std::string& message);  // raises ValueError

// Every learner checks what it is given before it touches its state.
void require_features(const labeltree::Matrix& X, std::uint64_t features);
void require_learnable(const BoundMatrix& X, const BoundLabelSets& y,
                       const std::optional<In<float>>& weight, const In<std::int64_t>& order,
                       std::size_t predicted, std::size_t labels);

// A named array of a saved state; `size` may be left open.
constexpr std::size_t any_size = static_cast<std::size_t>(-1);

template <class T>
In<T> state_array(const State& state, const std::string& name, std::size_t size = any_size) {
  if (!state.contains(name.c_str())) invalid("the saved state lacks the array " + name);
  In<T> out;
  if (!nb::try_cast(state[name.c_str()], out, false)) {
    invalid("the saved array " + name + " has the wrong type or shape");
  }
  if (size != any_size && out.shape(0) != size) {
    invalid("the saved array " + name + " has " + std::to_string(out.shape(0)) +
            " entries, expected " + std::to_string(size));
  }
  return out;
}

void save_bank(State& state, const labeltree::Bank& bank);
void restore_bank(const State& state, labeltree::Bank& bank);

void bind_matrix(nb::module_& m);
void bind_bank(nb::module_& m);
void bind_one_against_all(nb::module_& m);
void bind_text(nb::module_& m);
