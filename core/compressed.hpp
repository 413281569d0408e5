// Whether the arrays of a compressed sparse matrix fit together.
#pragma once

#include <cstdint>
#include <span>

namespace labeltree {

// The entries of row r are at indptr[r] .. indptr[r + 1] - 1 of `indices`. Throws
// std::invalid_argument, which says what does not hold, unless there are so many rows, indptr begins
// with 0, does not fall and ends within `indices`, and all indices are from 0 to cols - 1. Returns
// whether the indices of every row rise, so that there are no duplicates. Takes about the time it
// takes to read the arrays.
bool check_compressed(std::span<const std::int32_t> indptr, std::span<const std::int32_t> indices,
                      std::uint64_t rows, std::uint64_t cols);
bool check_compressed(std::span<const std::int64_t> indptr, std::span<const std::int64_t> indices,
                      std::uint64_t rows, std::uint64_t cols);

}  // namespace labeltree
