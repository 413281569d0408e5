// Numbers for keys, in the order in which they come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hash.hpp"
#include "inline.hpp"

namespace labeltree {

// Each key that was added has a number, from 0 on; memory is taken for these keys only.
class KeyNumbers {
 public:
  static constexpr std::uint32_t absent = 0xffffffffu;

  std::size_t size() const { return keys_.size(); }

  std::uint32_t find(std::uint64_t key) const {
    if (slots_.empty()) return absent;
    for (std::size_t i = first(key); slots_[i] != absent; i = (i + 1) & mask()) {
      if (keys_[slots_[i]] == key) return slots_[i];
    }
    return absent;
  }

  // Asks for what `find` reads first.
  LABELTREE_INLINE void prefetch(std::uint64_t key) const {
    if (!slots_.empty()) __builtin_prefetch(&slots_[first(key)]);
  }

  // What `find` is likely to answer; asks for the key that it would check.
  LABELTREE_INLINE std::uint32_t guess(std::uint64_t key) const {
    if (slots_.empty()) return absent;
    const std::uint32_t number = slots_[first(key)];
    if (number != absent) __builtin_prefetch(&keys_[number]);
    return number;
  }

  // The number, a new one if there is none yet.
  std::uint32_t add(std::uint64_t key) {
    const std::uint32_t found = find(key);
    if (found != absent) return found;
    keys_.push_back(key);
    if (2 * keys_.size() > slots_.size()) {
      rebuild();
    } else {
      place(static_cast<std::uint32_t>(keys_.size() - 1));
    }
    return static_cast<std::uint32_t>(keys_.size() - 1);
  }

  std::vector<std::uint64_t>& keys() { return keys_; }
  const std::vector<std::uint64_t>& keys() const { return keys_; }

  // After the keys were changed.
  void rebuild() {
    std::size_t size = 16;
    while (size < 4 * keys_.size()) size *= 2;
    slots_.assign(size, absent);
    for (std::uint32_t number = 0; number < keys_.size(); ++number) place(number);
  }

 private:
  std::size_t mask() const { return slots_.size() - 1; }
  std::size_t first(std::uint64_t key) const { return mix64(key) & mask(); }

  void place(std::uint32_t number) {
    std::size_t i = first(keys_[number]);
    while (slots_[i] != absent) i = (i + 1) & mask();
    slots_[i] = number;
  }

  std::vector<std::uint64_t> keys_;
  std::vector<std::uint32_t> slots_;  // open addressing, at most half full
};

}  // namespace labeltree
