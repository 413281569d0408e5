// How a choice tree loses leaves, and what it takes.
//
// Where models have weights of their own, those of a slot that lost its child become zero, and the
// slot takes another child. In a hashed table zeroing would take as long as there are features, and
// would wipe out what other models have in the same lines, for many labels most of the table. There a
// slot that had a child is worn: new children go to others, or below a leaf, whose models are new.
#include <algorithm>
#include <utility>

#include "tree/choice_tree.hpp"

namespace labeltree {

void ChoiceTree::forget(const Forgotten& forgotten, bool reuse, GivenUp& given_up) {
  worn_.resize(block_.size(), 0);
  // From the leaves up: what is in the place of each node afterwards, none if nothing is.
  std::vector<std::uint32_t> instead(nodes());
  for (auto node = static_cast<std::uint32_t>(nodes()); node-- > 0;) {
    if (is_leaf(node)) {
      instead[node] = forgotten.has(label_[node]) ? none : node;
      continue;
    }
    const std::uint32_t place = place_[node], block = block_[place];
    std::size_t left = 0;
    std::uint32_t last = none;
    for (std::size_t c = 0; c < width; ++c) {
      std::uint32_t& child = child_[place * width + c];
      if (child == none) continue;
      child = instead[child];
      if (child != none) {
        ++left;
        last = child;
        continue;
      }
      if (block == no_block) continue;
      given_up.models.push_back(static_cast<std::uint32_t>(block * width + c));
      if (!reuse) worn_[place] |= 1u << c;
    }
    instead[node] = left > 1 ? node : last;
    if (left < 2 && block != no_block) given_up.blocks.push_back(block);
  }

  // Nodes and places that stay keep their order.
  std::vector<std::uint32_t> number(nodes(), none), place(block_.size(), none);
  std::uint32_t left = 0, places = 0;
  for (std::uint32_t node = 0; node < nodes(); ++node) {
    if (instead[node] != node) continue;
    number[node] = left++;
    if (!is_leaf(node)) place[place_[node]] = 0;
  }
  for (std::uint32_t& one : place) {
    if (one != none) one = places++;
  }
  std::vector<std::uint32_t> labels(left), places_of(left, none), children(places * width), blocks(places),
      worn(places);
  for (std::uint32_t node = 0; node < nodes(); ++node) {
    if (number[node] == none) continue;
    labels[number[node]] = is_leaf(node) ? forgotten.id(label_[node]) : no_label;
    if (!is_leaf(node)) places_of[number[node]] = place[place_[node]];
  }
  for (std::size_t old = 0; old < place.size(); ++old) {
    if (place[old] == none) continue;
    blocks[place[old]] = block_[old];
    worn[place[old]] = worn_[old];
    for (std::size_t c = 0; c < width; ++c) {
      const std::uint32_t child = child_[old * width + c];
      children[place[old] * width + c] = child == none ? none : number[child];
    }
  }
  label_ = std::move(labels);
  place_ = std::move(places_of);
  child_ = std::move(children);
  block_ = std::move(blocks);
  const auto last_worn = std::find_if(worn.rbegin(), worn.rend(), [](auto bits) { return bits != 0; });
  worn_ = std::vector<std::uint32_t>(worn.begin(), last_worn.base());
  derive(forgotten.labels(), ~std::size_t{0}, false);
}

std::size_t ChoiceTree::bytes() const {
  const std::size_t node = sizeof parent_[0] + sizeof slot_[0] + sizeof label_[0] + sizeof place_[0];
  const std::size_t place = width * sizeof child_[0] + sizeof block_[0] + sizeof leaves_[0];
  return nodes() * node + block_.size() * place + leaf_.size() * sizeof leaf_[0] +
         worn_.size() * sizeof worn_[0];
}

}  // namespace labeltree
