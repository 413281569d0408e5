// Data matrices and label sets: borrowed arrays, checked once here so that the core need not.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <cmath>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "bindings.hpp"
#include "signals.hpp"
#include "compressed.hpp"
#include "survey.hpp"

using namespace labeltree;

namespace {

void require_offsets(const In<std::int64_t>& offset, std::size_t entries, const char* name) {
  const std::size_t n = offset.shape(0);
  const std::int64_t* data = offset.data();
  if (n == 0 || data[0] != 0) invalid(std::string(name) + " must start with 0");
  for (std::size_t i = 1; i < n; ++i) {
    if (data[i] < data[i - 1]) {
      invalid(std::string(name) + " must not decrease, but does at position " + std::to_string(i));
    }
  }
  if (static_cast<std::size_t>(data[n - 1]) != entries) {
    invalid(std::string(name) + " ends with " + std::to_string(data[n - 1]) + ", but there are " +
            std::to_string(entries) + " entries");
  }
}

void require_finite(const float* values, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    if (!std::isfinite(values[i])) {
      invalid("value " + std::to_string(i) + " is not finite as a 32-bit float");
    }
  }
}

void require_entries(const In<std::uint32_t>& indices, const In<float>& values,
                     std::size_t cols) {
  if (indices.shape(0) != values.shape(0)) invalid("indices and values differ in length");
  for (std::size_t i = 0; i < indices.shape(0); ++i) {
    if (indices.data()[i] >= cols) {
      invalid("feature index " + std::to_string(indices.data()[i]) + " is not below the number of "
              "features, " + std::to_string(cols));
    }
  }
  require_finite(values.data(), values.shape(0));
}

BoundMatrix sparse_matrix(In<std::int64_t> indptr, In<std::uint32_t> indices, In<float> values,
                          std::size_t cols) {
  require_entries(indices, values, cols);
  require_offsets(indptr, indices.shape(0), "indptr");
  const Matrix view{indptr.data(), indices.data(), values.data(), indptr.shape(0) - 1, cols};
  return {.view = view, .indptr = indptr, .indices = indices, .values = values};
}

// Indices may have the type that scipy gives them: a negative one becomes too large, and is refused.
template <class Index>
BoundMatrix sparse_row(In<Index> given, In<float> values, std::size_t cols) {
  static_assert(sizeof(Index) == sizeof(std::uint32_t));
  const In<std::uint32_t> indices(given.handle());
  require_entries(indices, values, cols);
  std::unique_ptr<std::int64_t[]> indptr(new std::int64_t[2]);
  indptr[0] = 0;
  indptr[1] = static_cast<std::int64_t>(indices.shape(0));
  const Matrix view{indptr.get(), indices.data(), values.data(), 1, cols};
  return {.view = view, .indices = indices, .values = values, .own_indptr = std::move(indptr)};
}

BoundMatrix dense_matrix(In2d<float> values) {
  require_finite(values.data(), values.size());
  const Matrix view{nullptr, nullptr, values.data(), values.shape(0), values.shape(1)};
  return {.view = view, .dense_values = values};
}

BoundLabelSets label_sets(In<std::int64_t> offset, In<std::uint32_t> id) {
  require_offsets(offset, id.shape(0), "offset");
  std::size_t labels = 0;
  for (std::size_t i = 0; i < id.shape(0); ++i) {
    if (id.data()[i] == no_label) invalid("label id 4294967295 is reserved");
    labels = std::max<std::size_t>(labels, std::size_t{id.data()[i]} + 1);
  }
  return {{offset.data(), id.data()}, offset.shape(0) - 1, labels, nb::make_tuple(offset, id)};
}

void require_sparse(const BoundMatrix& X) {
  if (X.view.dense()) invalid("X is dense, expected sparse rows");
}

// Checked before scipy or scikit-learn, which trust them, see the arrays.
template <class Index>
bool check_arrays(In<Index> indptr, In<Index> indices, std::uint64_t rows, std::uint64_t cols) {
  const std::span<const Index> begin(indptr.data(), indptr.shape(0));
  const std::span<const Index> entries(indices.data(), indices.shape(0));
  constexpr std::size_t few = std::size_t{1} << 14;
  if (entries.size() + begin.size() < few) return check_compressed(begin, entries, rows, cols);
  const ReleasedGil released;
  return check_compressed(begin, entries, rows, cols);
}

}  // namespace

void invalid(const std::string& message) { throw nb::value_error(message.c_str()); }

void require_features(const Matrix& X, std::uint64_t features) {
  if (X.cols != features) {
    invalid("X has " + std::to_string(X.cols) + " features, but the model has " +
            std::to_string(features));
  }
}

void require_learnable(const BoundMatrix& X, const BoundLabelSets& y,
                       const std::optional<In<float>>& weight, std::size_t labels) {
  const std::size_t rows = X.view.rows;
  if (y.rows != rows) {
    invalid("X has " + std::to_string(rows) + " rows, but y has " + std::to_string(y.rows));
  }
  if (y.labels > labels) {
    invalid("label id " + std::to_string(y.labels - 1) + " is not below the number of labels, " +
            std::to_string(labels));
  }
  if (weight) {
    if (weight->shape(0) != rows) invalid("X and weight differ in length");
    for (std::size_t i = 0; i < rows; ++i) {
      const float w = weight->data()[i];
      if (!std::isfinite(w) || w < 0.0f) {
        invalid("weight " + std::to_string(i) + " is " + std::to_string(w) +
                ", expected a finite number that is not negative");
      }
    }
  }
}

void require_order(const In<std::int64_t>& order, std::size_t rows) {
  for (std::size_t i = 0; i < order.shape(0); ++i) {
    if (order.data()[i] < 0 || static_cast<std::size_t>(order.data()[i]) >= rows) {
      invalid("order names row " + std::to_string(order.data()[i]) + " of " +
              std::to_string(rows));
    }
  }
}

void bind_matrix(nb::module_& m) {
  m.def("check_compressed", &check_arrays<std::int32_t>, nb::arg("indptr").noconvert(),
        nb::arg("indices").noconvert(), nb::arg("rows"), nb::arg("cols"),
        "Whether the indices of each row rise; raises ValueError if arrays do not fit together.");
  m.def("check_compressed", &check_arrays<std::int64_t>, nb::arg("indptr").noconvert(),
        nb::arg("indices").noconvert(), nb::arg("rows"), nb::arg("cols"));
  nb::class_<BoundMatrix>(m, "Matrix", "Checked rows of features, borrowed from numpy arrays.")
      .def_static("sparse", &sparse_matrix, nb::arg("indptr").noconvert(),
                  nb::arg("indices").noconvert(), nb::arg("values").noconvert(), nb::arg("cols"))
      .def_static("row", &sparse_row<std::int32_t>, nb::arg("indices").noconvert(),
                  nb::arg("values").noconvert(), nb::arg("cols"))
      .def_static("row", &sparse_row<std::uint32_t>, nb::arg("indices").noconvert(),
                  nb::arg("values").noconvert(), nb::arg("cols"))
      .def_static("dense", &dense_matrix, nb::arg("values").noconvert())
      .def(
          "number",
          [](BoundMatrix& X, In<std::int64_t> numbers) {
            if (numbers.shape(0) != X.view.rows) invalid("rows and their numbers differ in length");
            for (std::size_t i = 0; i < X.view.rows; ++i) {
              if (numbers.data()[i] < 0) invalid("the number of a row is negative");
            }
            X.numbers = numbers;
            X.view.numbers = numbers.data();
          },
          nb::arg("numbers").noconvert(), "Tell which rows of the data these are.")
      .def_prop_ro("rows", [](const BoundMatrix& X) { return X.view.rows; })
      .def_prop_ro("cols", [](const BoundMatrix& X) { return X.view.cols; });

  nb::class_<BoundLabelSets>(m, "LabelSets", "Checked label ids of each row.")
      .def(
          "__init__",
          [](BoundLabelSets* self, In<std::int64_t> offset, In<std::uint32_t> id) {
            new (self) BoundLabelSets(label_sets(std::move(offset), std::move(id)));
          },
          nb::arg("offset").noconvert(), nb::arg("id").noconvert())
      .def_ro("rows", &BoundLabelSets::rows);

  m.def(
      "has_unit_rows",
      [](const BoundMatrix& X) {
        const ReleasedGil released;
        return has_unit_rows(X.view);
      },
      nb::arg("X"), "Whether all rows that are not empty have length one, to one percent.");
  m.def(
      "count_features",
      [](const BoundMatrix& X) {
        require_sparse(X);
        const ReleasedGil released;
        return count_features(X.view);
      },
      nb::arg("X"), "How many features sparse rows have between them.");
  m.def(
      "count_pairs",
      [](const BoundMatrix& X, const BoundLabelSets& y, std::size_t labels) {
        require_sparse(X);
        if (labels > no_label) invalid("labels is " + std::to_string(labels) + ", expected fewer than 2^32");
        require_learnable(X, y, std::nullopt, labels);
        const ReleasedGil released;
        return count_pairs(X.view, y.view, labels);
      },
      nb::arg("X"), nb::arg("y"), nb::arg("labels"),
      "How many pairs of a feature and a label meet in a row; of sparse rows.");
}
