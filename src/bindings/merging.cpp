// Tables of weights as numpy arrays, compared and merged.
#include <nanobind/nanobind.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "changes.hpp"
#include "linear/weight_rows.hpp"
#include "signals.hpp"

using namespace labeltree;

RowForm form_of(std::size_t lane, bool has_sums) {
  if (lane == 0 || lane > (std::size_t{1} << 40)) invalid("there must be weights in a row");
  return {lane, has_sums};
}

WeightRows rows_of(const GivenRows& given, RowForm form) {
  const auto& [number, value] = given;
  if (value.shape(0) / form.length() != number.shape(0) || value.shape(0) % form.length() != 0) {
    invalid("there are not as many weights as rows have");
  }
  const std::span numbers(number.data(), number.shape(0));
  if (std::adjacent_find(numbers.begin(), numbers.end(), std::greater_equal<>()) != numbers.end()) {
    invalid("the numbers of rows do not rise");
  }
  if (!numbers.empty() && numbers.back() == ~std::uint64_t{0}) invalid("a row has too large a number");
  return {numbers, {value.data(), value.shape(0)}};
}

MadeRows lend(OwnWeightRows&& rows) {
  return {vector_to_numpy(std::move(rows.number)), vector_to_numpy(std::move(rows.value))};
}

namespace {

std::vector<WeightRows> tables_of(const std::vector<GivenRows>& given, RowForm form) {
  std::vector<WeightRows> rows;
  for (const GivenRows& one : given) rows.push_back(rows_of(one, form));
  return rows;
}

template <class Make>
MadeRows made(Make make) {
  OwnWeightRows rows;
  {
    const ReleasedGil released;
    rows = make();
  }
  return lend(std::move(rows));
}

}  // namespace

void bind_merging(nb::module_& m) {
  m.def(
      "changed_rows",
      [](const GivenRows& table, const GivenRows& base, std::size_t lane, bool has_sums) {
        const RowForm form = form_of(lane, has_sums);
        const WeightRows now = rows_of(table, form), before = rows_of(base, form);
        return made([&] { return changed_rows(now, before, form); });
      },
      nb::arg("table"), nb::arg("base"), nb::arg("lane"), nb::arg("has_sums"),
      "The rows of a table of weights that are not those of the one it went on from.");
  m.def(
      "with_rows",
      [](const GivenRows& base, const std::vector<GivenRows>& changed, std::size_t lane, bool has_sums) {
        const RowForm form = form_of(lane, has_sums);
        const WeightRows before = rows_of(base, form);
        const std::vector<WeightRows> now = tables_of(changed, form);
        return made([&] { return with_rows(before, now, form); });
      },
      nb::arg("base"), nb::arg("changed"), nb::arg("lane"), nb::arg("has_sums"),
      "A table with the rows of others put into it.");
  m.def(
      "merged_moves",
      [](const std::vector<GivenRows>& changed, const GivenRows& base, std::size_t lane, bool has_sums) {
        const RowForm form = form_of(lane, has_sums);
        const std::vector<WeightRows> moves = tables_of(changed, form);
        const WeightRows before = rows_of(base, form);
        return made([&] { return merged_moves(moves, before, form); });
      },
      nb::arg("changed"), nb::arg("base"), nb::arg("lane"), nb::arg("has_sums"),
      "The rows that changed in any of several tables that went on from one, merged.");
  m.def(
      "averaged_rows",
      [](const std::vector<GivenRows>& tables, const std::vector<float>& share, std::size_t lane,
         bool has_sums) {
        const RowForm form = form_of(lane, has_sums);
        if (share.size() != tables.size()) invalid("there are not as many shares as tables");
        const std::vector<WeightRows> rows = tables_of(tables, form);
        return made([&] { return averaged_rows(rows, share, form); });
      },
      nb::arg("tables"), nb::arg("share"), nb::arg("lane"), nb::arg("has_sums"),
      "The average of tables that were trained apart.");
}
