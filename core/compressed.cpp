#include "compressed.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>

#include "linear/simd.hpp"

namespace labeltree {
namespace {

struct Found {
  bool outside = false;     // some index is not from 0 to `last`
  std::uint64_t falls = 0;  // indices that are not above the one before
};

// Without a branch for an entry, and counting in as few bits as an index has.
template <class Index>
LABELTREE_INLINE Found look(const Index* indices, std::size_t n, Index last) {
  constexpr std::size_t most = std::size_t{1} << 14;
  Found found;
  for (std::size_t begin = 0; begin < n; begin += most) {
    const std::size_t end = std::min(begin + most, n);
    Index outside = 0, falls = 0;
    for (std::size_t i = begin; i < end; ++i) {
      outside |= static_cast<Index>((indices[i] < 0) | (indices[i] > last));
    }
    for (std::size_t i = std::max<std::size_t>(begin, 1); i < end; ++i) {
      falls += static_cast<Index>(indices[i] <= indices[i - 1]);
    }
    found.outside |= outside != 0;
    found.falls += static_cast<std::uint64_t>(falls);
  }
  return found;
}

LABELTREE_CLONES Found look32(const std::int32_t* indices, std::size_t n, std::int32_t last) {
  return look(indices, n, last);
}

LABELTREE_CLONES Found look64(const std::int64_t* indices, std::size_t n, std::int64_t last) {
  return look(indices, n, last);
}

Found look_at(const std::int32_t* indices, std::size_t n, std::int32_t last) {
  return look32(indices, n, last);
}

Found look_at(const std::int64_t* indices, std::size_t n, std::int64_t last) {
  return look64(indices, n, last);
}

void require(bool condition, const std::string& otherwise) {
  if (!condition) throw std::invalid_argument(otherwise);
}

template <class Index>
bool check(std::span<const Index> indptr, std::span<const Index> indices, std::uint64_t rows,
           std::uint64_t cols) {
  const auto text = [](auto number) { return std::to_string(number); };
  if (indptr.empty() || indptr.size() - 1 != rows) {
    throw std::invalid_argument("indptr has " + text(indptr.size()) + " entries, expected " +
                                text(rows) + " + 1");
  }
  if (indptr[0] != 0) {
    throw std::invalid_argument("indptr begins with " + text(indptr[0]) + ", expected 0");
  }
  bool falls = false;
  for (std::size_t row = 0; row < rows; ++row) falls |= indptr[row + 1] < indptr[row];
  for (std::size_t row = 0; falls && row < rows; ++row) {
    require(indptr[row + 1] >= indptr[row], "indptr falls from " + text(indptr[row]) + " to " +
                                                text(indptr[row + 1]) + " at position " +
                                                text(row + 1));
  }
  const auto n = static_cast<std::size_t>(indptr[rows]);
  if (n > indices.size()) {
    throw std::invalid_argument("indptr ends with " + text(n) + ", but there are " +
                                text(indices.size()) + " indices");
  }
  constexpr auto largest = static_cast<std::uint64_t>(std::numeric_limits<Index>::max());
  const auto last = static_cast<Index>(static_cast<std::int64_t>(std::min(cols, largest + 1)) - 1);
  const Found found = look_at(indices.data(), n, last);
  for (std::size_t i = 0; found.outside; ++i) {
    require(indices[i] >= 0 && indices[i] <= last,
            "index " + text(indices[i]) + " at position " + text(i) + " is not from 0 to " +
                text(static_cast<std::int64_t>(cols) - 1));
  }
  // They may fall from one row to the next.
  std::uint64_t falls_between = 0;
  for (std::size_t row = 1; found.falls > 0 && row < rows; ++row) {
    const auto begin = static_cast<std::size_t>(indptr[row]);
    if (begin > 0 && indptr[row] < indptr[row + 1]) {
      falls_between += indices[begin] <= indices[begin - 1];
    }
  }
  return found.falls == falls_between;
}

}  // namespace

bool check_compressed(std::span<const std::int32_t> indptr, std::span<const std::int32_t> indices,
                      std::uint64_t rows, std::uint64_t cols) {
  return check(indptr, indices, rows, cols);
}

bool check_compressed(std::span<const std::int64_t> indptr, std::span<const std::int64_t> indices,
                      std::uint64_t rows, std::uint64_t cols) {
  return check(indptr, indices, rows, cols);
}

}  // namespace labeltree
