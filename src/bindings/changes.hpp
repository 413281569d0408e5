// Rows of weights as pairs of numpy arrays: their numbers, which rise, and what they hold.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/tuple.h>

#include <cstdint>
#include <tuple>

#include "arrays.hpp"
#include "linear/weight_rows.hpp"

using GivenRows = std::tuple<In<std::uint64_t>, In<float>>;
using MadeRows = std::tuple<nb::ndarray<nb::numpy, std::uint64_t>, nb::ndarray<nb::numpy, float>>;

// Raise ValueError for what cannot be a table.
labeltree::RowForm form_of(std::size_t lane, bool has_sums);
labeltree::WeightRows rows_of(const GivenRows& given, labeltree::RowForm form);

// The memory of rows as arrays.
MadeRows lend(labeltree::OwnWeightRows&& rows);
