// What settings are chosen from: what the rows of a matrix are like.
#pragma once

#include <cstddef>

#include "labels.hpp"
#include "matrix.hpp"

namespace labeltree {

// Whether all rows that are not empty have length one, to one percent, and some are not empty.
bool has_unit_rows(const Matrix& X);

// How many features sparse rows have between them.
std::size_t count_features(const Matrix& X);

// How many pairs of a feature and a label meet in a row; of sparse rows, and so many labels.
std::size_t count_pairs(const Matrix& X, const LabelSets& y, std::size_t labels);

}  // namespace labeltree
