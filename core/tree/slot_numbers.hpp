// Numbers for the feature slots that are used, in the order in which they come.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "aligned.hpp"
#include "key_numbers.hpp"

namespace labeltree {

// Of many slots, few may ever be used, and these lie anywhere: a table of all would be memory that
// nothing is in. They are hashed until they are so many that the table is smaller.
class SlotNumbers {
 public:
  static constexpr std::uint32_t absent = KeyNumbers::absent;

  explicit SlotNumbers(std::size_t slots) : slots_(slots) {
    if (slots <= small) table_ = AlignedArray<std::uint32_t>(slots);
  }

  std::size_t slots() const { return slots_; }

  std::uint32_t find(std::size_t slot) const {
    return has_table() ? table_.data()[slot] - 1 : numbers_.find(slot);
  }

  // The number, a new one if there is none yet.
  std::uint32_t add(std::size_t slot) {
    if (!has_table()) {
      const std::uint32_t number = numbers_.add(slot);
      if (numbers_.size() > slots_ / bytes_of_hashed * sizeof number) make_table();
      return number;
    }
    std::uint32_t& one = table_.data()[slot];
    if (one == 0) one = ++used_;
    return one - 1;
  }

  // Calls visit(slot, number) in the order of slots.
  template <class Visit>
  void visit(Visit visit) const {
    if (has_table()) {
      table_.visit_rows(1, [&](std::size_t slot) {
        if (const std::uint32_t number = find(slot); number != absent) visit(slot, number);
      });
      return;
    }
    std::vector<std::uint64_t> slots = numbers_.keys();
    std::sort(slots.begin(), slots.end());
    for (const std::uint64_t slot : slots) visit(slot, numbers_.find(slot));
  }

  // Gives each number another, or none if that is absent. Those that are given are 0 to `used` - 1,
  // and in the order of the others.
  void renumber(const std::vector<std::uint32_t>& number, std::size_t used) {
    if (has_table()) {
      used_ = static_cast<std::uint32_t>(used);
      visit([&](std::size_t slot, std::uint32_t old) { table_.data()[slot] = number[old] + 1; });
      return;
    }
    std::vector<std::uint64_t>& slots = numbers_.keys();
    for (std::size_t old = 0; old < slots.size(); ++old) {
      if (number[old] != absent) slots[number[old]] = slots[old];
    }
    slots.resize(used);
    numbers_.rebuild();
  }

 private:
  static constexpr std::size_t small = std::size_t{1} << 16;  // a table of 256 KB
  static constexpr std::size_t bytes_of_hashed = 32;          // at most

  bool has_table() const { return table_.size() > 0; }

  void make_table() {
    table_ = AlignedArray<std::uint32_t>(slots_);
    const std::vector<std::uint64_t>& slots = numbers_.keys();
    for (std::uint32_t number = 0; number < slots.size(); ++number) {
      table_.data()[slots[number]] = number + 1;
    }
    used_ = static_cast<std::uint32_t>(slots.size());
    numbers_ = {};
  }

  std::size_t slots_;
  KeyNumbers numbers_;
  std::uint32_t used_ = 0;             // in the table
  AlignedArray<std::uint32_t> table_;  // number + 1; 0 for a slot that is not used
};

}  // namespace labeltree
