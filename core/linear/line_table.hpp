// A table of lines, of which only those that were written take memory, if there are many.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <thread>

#include "aligned.hpp"
#include "inline.hpp"

namespace labeltree {

// Of the lines that a model could have, few are ever learned, and those lie anywhere: by pages, nearly
// all of them would take memory. So each has a place, four bytes, and lines are put one behind the other
// in the order in which they are first written. Place 0 is that of all others: a line of zeros.
// A small table is direct: it has all of its lines, in their order, which is quicker.
class LineTable {
 public:
  LineTable(std::size_t lines, std::size_t row_size)
      : shift_(static_cast<unsigned>(std::countr_zero(row_size))), rows_(row_size) {
    grow(lines);
  }

  // Keeps what is there; lines that are new are zero.
  void grow(std::size_t lines) {
    if (is_direct_ && lines > direct_lines) give_places();
    if (!is_direct_) place_.grow(lines);
    rows_.grow((lines + 1) << shift_);
  }

  // For a large table of which very little is written: a place must not take a huge page.
  void use_small_pages() { place_.use_small_pages(); }

  std::size_t lines() const { return (rows_.size() >> shift_) - 1; }
  std::size_t row_size() const { return std::size_t{1} << shift_; }  // floats in a line: 8 or 16
  bool is_direct() const { return is_direct_; }

  LABELTREE_INLINE void prefetch_place(std::size_t line) const {
    __builtin_prefetch(place_.data() + line);
  }
  // Whether it may have anything but zeros.
  LABELTREE_INLINE bool is_written(std::size_t line) const { return is_direct_ || place(line) != 0; }
  LABELTREE_INLINE const float* row(std::size_t line) const {
    return row_at(is_direct_ ? line + 1 : place(line));
  }
  LABELTREE_INLINE const float* direct_row(std::size_t line) const { return row_at(line + 1); }

  // A line that is to be written.
  LABELTREE_INLINE float* write(std::size_t line) {
    if (is_direct_) return rows_.data() + ((line + 1) << shift_);
    const std::uint32_t known = place(line);
    return rows_.data() + (std::size_t{known != 0 ? known : take(line)} << shift_);
  }
  // Where lines are, in floats from the first, of all zeros.
  std::size_t offset(const float* row) const { return static_cast<std::size_t>(row - rows_.data()); }

  // Calls visit(line) for the lines that were written, in their order.
  template <class Visit>
  void visit(Visit visit) const {
    if (is_direct_) {
      for (std::size_t line = 0; line < lines(); ++line) visit(line);
      return;
    }
    place_.visit_rows(1, [&](std::size_t line) {
      if (is_written(line)) visit(line);
    });
  }

 private:
  static constexpr std::size_t direct_lines = std::size_t{1} << 20;  // at most: 32 or 64 MB

  LABELTREE_INLINE const float* row_at(std::size_t place) const {
    return rows_.data() + (place << shift_);
  }

  // Threads that learn together read places without a lock. A place that one has just taken is that of
  // zeros, too, so it does not matter when the others see it.
  LABELTREE_INLINE std::uint32_t place(std::size_t line) const {
    return __atomic_load_n(place_.data() + line, __ATOMIC_RELAXED);
  }
  __attribute__((noinline)) std::uint32_t take(std::size_t line) {
    const std::atomic_ref taking(taking_);
    while (taking.exchange(1, std::memory_order_acquire) != 0) std::this_thread::yield();
    std::uint32_t taken = place(line);
    if (taken == 0) {  // no other thread was quicker
      taken = ++used_;
      __atomic_store_n(place_.data() + line, taken, __ATOMIC_RELAXED);
    }
    taking.store(0, std::memory_order_release);
    return taken;
  }

  // Makes a direct table one with places: its lines stay where they are.
  void give_places() {
    is_direct_ = false;
    place_.grow(lines());
    used_ = static_cast<std::uint32_t>(lines());
    for (std::uint32_t line = 0; line < used_; ++line) place_.data()[line] = line + 1;
  }

  bool is_direct_ = true;
  unsigned shift_;            // the logarithm of the floats in a line
  std::uint32_t used_ = 0;    // places that were taken
  std::uint32_t taking_ = 0;  // whether a thread takes one
  AlignedArray<std::uint32_t> place_;
  AlignedFloats rows_;
};

}  // namespace labeltree
