// Which of many numbered things are used, and how many used ones come before each.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "aligned.hpp"
#include "linear/simd.hpp"
#include "state.hpp"

namespace labeltree {

// The used things are kept one after the other elsewhere; `find` tells where. It costs one access
// to eight bytes for every 32 things.
class UsedBits {
 public:
  // Of 32 things: which are used, as bits, and how many used ones come before them.
  struct Group {
    std::uint32_t used;
    std::uint32_t before;
  };

  explicit UsedBits(std::size_t size) : groups_((size + 31) / 32) {}

  std::size_t size() const { return 32 * groups_.size(); }
  const Group* groups() const { return groups_.data(); }

  bool has(std::size_t i) const { return has(groups()[i / 32], i); }
  std::size_t place(std::size_t i) const { return place(groups()[i / 32], i); }
  void use(std::size_t i) { groups_.data()[i / 32].used |= std::uint32_t{1} << (i % 32); }

  // After all calls of `use`: counts them.
  std::size_t count() {
    std::size_t before = 0;
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      Group& group = groups_.data()[i];
      group.before = static_cast<std::uint32_t>(before);
      before += static_cast<std::size_t>(std::popcount(group.used));
    }
    return before;
  }

  static LABELTREE_INLINE bool has(Group group, std::size_t i) { return group.used >> (i % 32) & 1; }
  // Where thing i of the group is among those used, if it is.
  static LABELTREE_INLINE std::size_t place(Group group, std::size_t i) {
    const std::uint32_t lower = group.used & ((std::uint32_t{1} << (i % 32)) - 1);
    return std::size_t{group.before} + static_cast<std::size_t>(std::popcount(lower));
  }

  // To restore it, its size must be settled; returns the number of used things.
  std::size_t visit_state(StateVisitor& state, const std::string& name) {
    SharedArray<std::uint32_t> used;
    if (!state.restoring()) {
      AlignedArray<std::uint32_t> bits(groups_.size(), Pages::small);
      for (std::size_t i = 0; i < groups_.size(); ++i) {
        const std::uint32_t bits_of_group = groups_.data()[i].used;
        if (bits_of_group != 0) bits.data()[i] = bits_of_group;  // what is not written costs nothing
      }
      used = SharedArray<std::uint32_t>(std::move(bits));
    }
    state.shared(name, used);
    if (state.restoring()) {
      StateVisitor::require(used.size() == groups_.size(),
                            "the saved array " + name + " has " + std::to_string(used.size()) +
                                " entries, expected " + std::to_string(groups_.size()));
      for (std::size_t i = 0; i < used.size(); ++i) groups_.data()[i].used = used[i];
    }
    return count();
  }

 private:
  AlignedArray<Group> groups_;
};

}  // namespace labeltree
