// The rows of a data matrix, borrowed from the caller.
#pragma once

#include <cstddef>
#include <cstdint>

namespace labeltree {

// Sparse rows (CSR) or, when `indptr` is null, dense rows one after the other. Whoever makes a
// Matrix has checked that every index is below `cols` and every value finite.
struct Matrix {
  const std::int64_t* indptr = nullptr;
  const std::uint32_t* indices = nullptr;
  const float* values = nullptr;
  std::size_t rows = 0;
  std::size_t cols = 0;
  // Of the rows in the data they come from, where passes bring them in different orders.
  const std::int64_t* numbers = nullptr;

  bool dense() const { return indptr == nullptr; }
};

}  // namespace labeltree
