// What the binding files share.
#pragma once

#include <nanobind/nanobind.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "arrays.hpp"
#include "labels.hpp"
#include "learner.hpp"
#include "linear/bank.hpp"
#include "matrix.hpp"
#include "state.hpp"

// A Matrix together with the arrays it borrows; those that are not used are empty.
struct BoundMatrix {
  labeltree::Matrix view;
  In<std::int64_t> indptr = {};
  In<std::uint32_t> indices = {};
  In<float> values = {};
  In2d<float> dense_values = {};
  std::unique_ptr<std::int64_t[]> own_indptr = nullptr;
  In<std::int64_t> numbers = {};
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
                       const std::optional<In<float>>& weight, std::size_t labels);
void require_unfrozen(const labeltree::BankParams& params);
void require_order(const In<std::int64_t>& order, std::size_t rows);

// With `keep`, a form for prediction only, of whose weights that share of what they matter is kept.
// Without `weights`, the table of that name is empty.
State save_state(const std::function<void(labeltree::StateVisitor&)>& visit,
                 std::optional<float> keep = std::nullopt, bool weights = true);
inline constexpr std::string_view weights_name = "weights";
// With `borrow`, large arrays that are only read stay where they are.
void restore_state(const State& state, const std::function<void(labeltree::StateVisitor&)>& visit,
                   bool borrow = false);

void bind_matrix(nb::module_& m);
void bind_bank(nb::module_& m);
void bind_changes(nb::class_<labeltree::Learner>& learner);
void bind_learner(nb::module_& m);
void bind_label_table(nb::module_& m, nb::class_<labeltree::Learner>& learner);
void bind_ldsm(nb::module_& m);
void bind_lock(nb::module_& m);
void bind_one_against_all(nb::module_& m);
void bind_merging(nb::module_& m);
void bind_packing(nb::module_& m);
void bind_text(nb::module_& m);
void bind_tree(nb::module_& m);
void bind_trace(nb::module_& m);  // with LABELTREE_TRACE only
