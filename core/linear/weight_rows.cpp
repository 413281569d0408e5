#include "linear/weight_rows.hpp"

#include <algorithm>
#include <limits>

namespace labeltree {

namespace {

constexpr std::uint64_t end_of_rows = std::numeric_limits<std::uint64_t>::max();

// Goes through a table, row by row, in the order of their numbers.
class Reader {
 public:
  Reader(WeightRows rows, std::size_t length) : rows_(rows), length_(length) {}

  std::uint64_t next() const { return at_ < rows_.number.size() ? rows_.number[at_] : end_of_rows; }

  // The row of a number, which must not be below that of a call before; null if there is none.
  const float* row(std::uint64_t number) {
    while (next() < number) ++at_;
    return next() == number ? rows_.value.data() + at_ * length_ : nullptr;
  }

 private:
  WeightRows rows_;
  std::size_t length_;
  std::size_t at_ = 0;
};

bool is_zero(const float* row, std::size_t length) {
  return std::all_of(row, row + length, [](float value) { return value == 0.0f; });
}

void append(OwnWeightRows& rows, std::uint64_t number, const float* row, std::size_t length) {
  rows.number.push_back(number);
  rows.value.insert(rows.value.end(), row, row + length);
}

std::uint64_t least(const std::vector<Reader>& readers) {
  std::uint64_t number = end_of_rows;
  for (const Reader& reader : readers) number = std::min(number, reader.next());
  return number;
}

// The only row that there is, if there is but one: it stays what it is to the last bit.
const float* only_row(const std::vector<const float*>& rows) {
  const float* found = nullptr;
  for (const float* row : rows) {
    if (row == nullptr) continue;
    if (found != nullptr) return nullptr;
    found = row;
  }
  return found;
}

// Calls merge(number, rows) for every row that any table has, in their order; null stands for no row.
template <class Merge>
void go_through(std::span<const WeightRows> tables, std::size_t length, Merge merge) {
  std::vector<Reader> readers;
  for (const WeightRows& table : tables) readers.emplace_back(table, length);
  std::vector<const float*> rows(tables.size());
  for (std::uint64_t number = least(readers); number != end_of_rows; number = least(readers)) {
    for (std::size_t i = 0; i < readers.size(); ++i) rows[i] = readers[i].row(number);
    merge(number, rows);
    for (Reader& reader : readers) reader.row(number + 1);
  }
}

// Room for the rows that are to come, for all of them at once: tables may be as large as half the memory.
void reserve(OwnWeightRows& rows, std::size_t count, std::size_t length) {
  rows.number.reserve(count);
  rows.value.reserve(count * length);
}

// How many rows any of the tables has.
std::size_t count_rows(std::span<const WeightRows> tables, std::size_t length) {
  std::size_t count = 0;
  go_through(tables, length, [&](std::uint64_t, const std::vector<const float*>&) { ++count; });
  return count;
}

}  // namespace

OwnWeightRows changed_rows(WeightRows table, WeightRows base, RowForm form) {
  const std::size_t length = form.length();
  const auto visit_changed = [&](auto visit) {
    Comparison comparison(base, form);
    for (std::size_t i = 0; i < table.number.size(); ++i) {
      comparison.row(table.number[i], table.value.data() + i * length, visit);
    }
    comparison.end(visit);
  };
  std::size_t count = 0;
  visit_changed([&](std::uint64_t, const float*) { ++count; });
  OwnWeightRows changed;
  reserve(changed, count, length);
  visit_changed([&](std::uint64_t number, const float* row) { append(changed, number, row, length); });
  return changed;
}

OwnWeightRows with_rows(WeightRows base, std::span<const WeightRows> changed, RowForm form) {
  const std::size_t length = form.length();
  std::size_t most = base.number.size();
  for (const WeightRows& table : changed) most += table.number.size();
  OwnWeightRows out;
  reserve(out, most, length);
  std::size_t next = 0;  // row of the base
  const auto keep_until = [&](std::size_t end) {
    out.number.insert(out.number.end(), base.number.begin() + next, base.number.begin() + end);
    out.value.insert(out.value.end(), base.value.begin() + next * length,
                     base.value.begin() + end * length);
    next = end;
  };
  go_through(changed, length, [&](std::uint64_t number, const std::vector<const float*>& rows) {
    std::size_t end = next;
    while (end < base.number.size() && base.number[end] < number) ++end;
    keep_until(end);
    if (next < base.number.size() && base.number[next] == number) ++next;
    const float* row = *std::ranges::find_if(rows, [](const float* each) { return each != nullptr; });
    if (!is_zero(row, length)) append(out, number, row, length);
  });
  keep_until(base.number.size());
  return out;
}

OwnWeightRows merged_moves(std::span<const WeightRows> changed, WeightRows base, RowForm form) {
  const std::size_t length = form.length(), lane = form.lane;
  const std::vector<float> zeros(length, 0.0f);
  OwnWeightRows merged;
  reserve(merged, count_rows(changed, length), length);
  std::vector<float> out(length);
  Reader bases(base, length);
  go_through(changed, length, [&](std::uint64_t number, const std::vector<const float*>& rows) {
    if (form.has_sums || changed.size() == 1) {
      if (const float* row = only_row(rows)) return append(merged, number, row, length);
    }
    const float* found = bases.row(number);
    const float* old = found != nullptr ? found : zeros.data();
    for (std::size_t i = 0; i < lane; ++i) {
      float moved = 0.0f, weighed = 0.0f, grown = 0.0f;
      for (const float* row : rows) {
        if (row == nullptr) continue;
        const float move = row[i] - old[i];
        moved += move;
        if (!form.has_sums) continue;
        const float growth = std::max(0.0f, row[lane + i] - old[lane + i]);
        grown += growth;
        weighed += growth * move;
      }
      out[i] = old[i] + (grown > 0.0f ? weighed / grown : moved / static_cast<float>(changed.size()));
      if (form.has_sums) out[lane + i] = old[lane + i] + grown;
    }
    append(merged, number, out.data(), length);
  });
  return merged;
}

OwnWeightRows averaged_rows(std::span<const WeightRows> tables, std::span<const float> share,
                            RowForm form) {
  const std::size_t length = form.length(), lane = form.lane;
  OwnWeightRows averaged;
  reserve(averaged, count_rows(tables, length), length);
  std::vector<float> out(length);
  go_through(tables, length, [&](std::uint64_t number, const std::vector<const float*>& rows) {
    if (const float* row = only_row(rows)) return append(averaged, number, row, length);
    for (std::size_t i = 0; i < lane; ++i) {
      float sums = 0.0f, by_sums = 0.0f, shares = 0.0f, by_shares = 0.0f;
      for (std::size_t table = 0; table < rows.size(); ++table) {
        const float* row = rows[table];
        if (row == nullptr || row[i] == 0.0f) {
          if (row != nullptr && form.has_sums) sums += row[lane + i];
          continue;
        }
        shares += share[table];
        by_shares += share[table] * row[i];
        if (!form.has_sums) continue;
        sums += row[lane + i];
        by_sums += row[lane + i] * row[i];
      }
      out[i] = sums > 0.0f ? by_sums / sums : shares > 0.0f ? by_shares / shares : 0.0f;
      if (form.has_sums) out[lane + i] = sums;
    }
    if (!is_zero(out.data(), length)) append(averaged, number, out.data(), length);
  });
  return averaged;
}

}  // namespace labeltree
