#include "tree/choice_tree.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "hash.hpp"
#include "linear/simd.hpp"
#include "relaxed.hpp"

namespace labeltree {
namespace {

constexpr float noise = 0.05f;  // when a label is placed: trees of other seeds come out different

// How many children a node with so many labels below gets: as few as its depth allows, so that the nodes
// far from the root, of which there are most, have nearly eight.
std::size_t children_of(std::size_t labels) {
  std::size_t most = 1;  // below a child
  while (most * ChoiceTree::width < labels) most *= ChoiceTree::width;
  return (labels + most - 1) / most;
}

}  // namespace

namespace kernel {

// From the scores of the children of a node to their probabilities; 0 where there is no child.
LABELTREE_INLINE simd::f32x8 choose(const std::uint32_t* child, bool exclusive, float slope,
                                    const float* p) {
  simd::f32x8 chosen = 1.0f / (1.0f + simd::exp(-slope * simd::load(p)));
  chosen = chosen > smallest_probability ? chosen : simd::f32x8{} + smallest_probability;
  simd::i32x8 children;
  std::memcpy(&children, child, sizeof children);
  chosen = children != -1 ? chosen : simd::f32x8{};
  return exclusive ? chosen / simd::sum(chosen) : chosen;
}

LABELTREE_CLONES void probabilities(const std::uint32_t* child, bool exclusive, float slope,
                                    float* p) {
  simd::store(p, choose(child, exclusive, slope, p));
}

// Of n nodes, whose children are those of the places given: the scores in p, eight for each node, become
// logarithms. Nodes do not wait for each other.
LABELTREE_CLONES void log_probabilities(const std::uint32_t* children, const std::uint32_t* place,
                                        std::size_t n, bool exclusive, float slope, float* p) {
  for (std::size_t i = 0; i < n; ++i, p += ChoiceTree::width) {
    const std::uint32_t* child = children + ChoiceTree::width * place[i];
    simd::store(p, simd::log(choose(child, exclusive, slope, p)));
  }
}

}  // namespace kernel

std::uint32_t ChoiceTree::add_node(std::uint32_t parent, std::size_t slot, LabelId label) {
  const auto node = static_cast<std::uint32_t>(nodes());
  parent_.push_back(parent);
  slot_.push_back(static_cast<std::uint8_t>(slot));
  label_.push_back(label);
  place_.push_back(none);
  if (parent != none) child_[place_[parent] * width + slot] = node;
  if (label != no_label) leaf_[label] = node;
  return node;
}

void ChoiceTree::make_inner(std::uint32_t node, std::uint32_t block) {
  place_[node] = static_cast<std::uint32_t>(block_.size());
  block_.push_back(block);
  leaves_.push_back(0);
  child_.resize(child_.size() + width, none);
}

Steps ChoiceTree::organize(LabelClusters& clusters) {
  struct Range {
    std::size_t begin, end;
    std::uint32_t parent;
    std::size_t slot;
  };
  std::vector<LabelId> order = clusters.labels();
  std::vector<Range> ranges;
  if (!order.empty()) ranges.push_back({0, order.size(), none, 0});
  for (std::size_t next = 0; next < ranges.size(); ++next) {
    const auto [begin, end, parent, slot] = ranges[next];
    const std::size_t size = end - begin;
    if (size == 1) {
      add_node(parent, slot, order[begin]);
      continue;
    }
    const std::uint32_t node = add_node(parent, slot, no_label);
    make_inner(node, no_block);
    leaves_.back() = static_cast<std::uint32_t>(size);
    const std::size_t children = children_of(size);
    std::array<std::size_t, width + 1> cut;
    for (std::size_t c = 0; c <= children; ++c) cut[c] = begin + size * c / children;
    std::vector<std::pair<std::size_t, std::size_t>> parts;  // of the children, to be halved
    if (size > width) parts.emplace_back(0, children);
    for (std::size_t part = 0; part < parts.size(); ++part) {
      const auto [first, last] = parts[part];
      if (last - first < 2) continue;
      const std::size_t half = (first + last) / 2, from = cut[first];
      Steps splitting = clusters.split({order.data() + from, cut[last] - from}, cut[half] - from);
      while (splitting.next()) co_await Steps::pause;
      parts.emplace_back(first, half);
      parts.emplace_back(half, last);
    }
    for (std::size_t c = 0; c < children; ++c) ranges.push_back({cut[c], cut[c + 1], node, c});
  }
}

std::size_t ChoiceTree::inner_nodes(std::size_t labels) {
  std::size_t nodes = labels > 1;
  const std::size_t children = labels > 1 ? children_of(labels) : 0;
  for (std::size_t c = 0; c < children; ++c) {
    nodes += inner_nodes(labels * (c + 1) / children - labels * c / children);
  }
  return nodes;
}

void ChoiceTree::child_probabilities(std::uint32_t node, const Example& x, const Bank& bank,
                                     float* p) const {
  bank.predict8(block(node), x, p);
  kernel::probabilities(children(node), exclusive_, slope_, p);
}

// Algorithm 3 of the conditional probability tree, for eight children: down to the child with the
// largest (1 - alpha) p - alpha log2(leaves); an empty place is taken first.
void ChoiceTree::insert(LabelId label, const Example& x, Bank& bank) {
  if (nodes() == 0) {
    add_node(none, 0, label);
    return;
  }
  std::uint32_t node = 0;
  std::size_t slot = 0;
  while (!is_leaf(node)) {
    float p[width];
    child_probabilities(node, x, bank, p);
    float best = -std::numeric_limits<float>::infinity();
    for (std::size_t c = 0; c < width; ++c) {
      const std::uint32_t child = children(node)[c];
      if (child == none) {
        if (is_worn(node, c)) continue;
        slot = c;
        break;
      }
      const float luck = noise * static_cast<float>(next_random(random_) >> 40) / float{1 << 24};
      const float value = (1.0f - alpha_) * p[c] -
                          alpha_ * std::log2(static_cast<float>(leaves(child))) + luck;
      if (value > best) {
        best = value;
        slot = c;
      }
    }
    ++leaves_[place_[node]];
    const std::uint32_t child = children(node)[slot];
    if (child == none) break;
    node = child;
  }
  if (is_leaf(node)) {  // the leaf becomes a node with its old label as the first child
    const LabelId old = label_[node];
    label_[node] = no_label;
    make_inner(node, static_cast<std::uint32_t>(bank.add_block()));
    leaves_.back() = 2;
    add_node(node, 0, old);
    slot = 1;
  }
  add_node(node, slot, label);
}

// Finds the nodes above labels, and their children that have one below, which must be made zero again.
void ChoiceTree::find_above(std::span<const LabelId> labels, Above& above) const {
  auto& [below, parents] = above;
  below.resize(std::max(below.size(), nodes()), 0);
  parents.clear();
  for (const LabelId label : labels) {
    for (std::uint32_t node = leaf_[label]; parent_[node] != none; node = parent_[node]) {
      std::uint32_t& bits = below[parent_[node]];
      if (bits == 0) parents.push_back(parent_[node]);
      bits |= 1u << slot_[node];
    }
  }
}

void ChoiceTree::learn(std::span<const LabelId> labels, const ExampleBuffer& example, float weight,
                       const Rule& rule, Bank& bank, Above& above, BlockPredictions& blocks) const {
  find_above(labels, above);
  auto& [below, parents] = above;
  blocks.clear();
  for (const std::uint32_t node : parents) blocks.ask(block(node), 0);
  blocks.answer(bank, example);
  for (std::size_t i = 0; i < parents.size(); ++i) {
    const std::uint32_t node = parents[i];
    float y[width];
    unsigned active = 0;
    for (std::size_t c = 0; c < width; ++c) {
      y[c] = below[node] >> c & 1 ? 1.0f : -1.0f;
      if (children(node)[c] != none) active |= 1u << c;
    }
    bank.learn8(block(node), example[0], blocks[i], y, weight, rule, active);
    below[node] = 0;
  }
}

void ChoiceTree::add_pairs(std::span<const LabelId> labels, Above& above, RowPairs& pairs) const {
  find_above(labels, above);
  for (const std::uint32_t node : above.parents) {
    for (std::size_t c = 0; c < width; ++c) {
      if (children(node)[c] == none) continue;
      pairs.add(width * std::size_t{block(node)} + c, above.below[node] >> c & 1);
    }
    above.below[node] = 0;
  }
}

// Keeps of the nodes below a level the best, as many as are expanded, without those that are improbable.
// `found` are the leaves of this level and those above; `best` is the most probable of all.
void ChoiceTree::keep_probable(const Breadth& breadth, const std::vector<Reached>& found, float best,
                               std::vector<Reached>& below) const {
  if (below.empty()) return;
  if (std::isinf(breadth.behind)) return keep_best(below, breadth.beam);
  const float bound = best - breadth.behind;
  std::size_t probable = 0, leaves = found.size();
  for (std::size_t i = 0; i < below.size(); ++i) {
    if (below[i].log_probability < bound) continue;
    leaves += this->leaves(below[i].node);
    std::swap(below[i], below[probable++]);
  }
  if (probable >= breadth.beam || leaves >= breadth.wanted) {
    below.resize(probable);
    return keep_best(below, breadth.beam);
  }
  keep_best(below, breadth.beam);
  std::sort(below.begin(), below.end(), more_probable);
  std::size_t kept = 0;
  for (leaves = found.size(); kept < below.size(); ++kept) {
    if (below[kept].log_probability < bound && leaves >= breadth.wanted) break;
    leaves += this->leaves(below[kept].node);
  }
  below.resize(kept);
}

void ChoiceTree::search(const ExampleBuffer& examples, const Breadth& breadth, const Bank& bank,
                        const std::vector<double>& counts, Beam& beam,
                        BlockPredictions& blocks) const {
  auto& [level, next, below, place, end, leaves, best_leaf] = beam;
  level.clear();
  end.clear();
  leaves.resize(std::max(leaves.size(), examples.size()));
  best_leaf.assign(examples.size(), -std::numeric_limits<float>::infinity());
  for (std::size_t i = 0; i < examples.size(); ++i) {
    leaves[i].clear();
    if (nodes() > 0 && breadth.leaves > 0) (is_leaf(0) ? leaves[i] : level).push_back({0.0f, 0});
    end.push_back(level.size());
  }
  while (!level.empty()) {
    blocks.clear();
    place.clear();
    for (std::size_t i = 0, at = 0; i < examples.size(); ++i) {
      for (; at < end[i]; ++at) {
        place.push_back(place_[level[at].node]);
        __builtin_prefetch(child_.data() + width * place.back());
        blocks.ask(block_[place.back()], i);
      }
    }
    blocks.answer(bank, examples);
    kernel::log_probabilities(child_.data(), place.data(), place.size(), exclusive_, slope_,
                              blocks.answers());
    next.clear();
    for (std::size_t i = 0, at = 0; i < examples.size(); ++i) {
      below.clear();
      std::vector<Reached>& found = leaves[i];
      float best = -std::numeric_limits<float>::infinity(), best_found = best_leaf[i];
      for (; at < end[i]; ++at) {
        const float above = level[at].log_probability;
        const float* log_p = blocks[at];
        const std::uint32_t* child = child_.data() + width * place[at];
        for (std::size_t c = 0; c < width; ++c) {
          if (child[c] == none) continue;
          const float log_probability = above + log_p[c];
          if (is_leaf(child[c])) {
            found.push_back({log_probability, child[c]});
            best_found = std::max(best_found, log_probability);
          } else {
            below.push_back({log_probability, child[c]});
            best = std::max(best, log_probability);
          }
        }
      }
      best_leaf[i] = best_found;
      keep_probable(breadth, found, std::max(best, best_found), below);
      next.insert(next.end(), below.begin(), below.end());
      end[i] = next.size();
    }
    level.swap(next);
  }
  for (std::size_t i = 0; i < examples.size(); ++i) {
    std::erase_if(leaves[i], [&](const Reached& leaf) {
      return read_relaxed(counts[label_[leaf.node]]) == 0.0;
    });
    keep_best(leaves[i], breadth.leaves);
    std::sort(leaves[i].begin(), leaves[i].end(), more_probable);
  }
}

float ChoiceTree::log_probability(LabelId label, const Example& x, const Bank& bank) const {
  float sum = 0.0f;
  for (std::uint32_t node = leaf_[label]; parent_[node] != none; node = parent_[node]) {
    float p[width];
    child_probabilities(parent_[node], x, bank, p);
    sum += std::log(p[slot_[node]]);
  }
  return sum;
}

// Down the whole tree: a node comes after its parent. Examples take turns at a node.
void ChoiceTree::all_probabilities(const ExampleBuffer& examples, const Bank& bank,
                                   std::vector<float>& reach, std::size_t labels, float* p) const {
  const std::size_t n = examples.size();
  reach.resize(nodes() * n);
  std::fill_n(reach.begin(), nodes() > 0 ? n : 0, 1.0f);
  for (std::uint32_t node = 0; node < nodes(); ++node) {
    const float* here = reach.data() + node * n;
    for (std::size_t i = 0; i < n; ++i) {
      if (is_leaf(node)) {
        p[i * labels + label_[node]] = here[i];
        continue;
      }
      float chosen[width];
      child_probabilities(node, examples[i], bank, chosen);
      for (std::size_t c = 0; c < width; ++c) {
        const std::uint32_t child = children(node)[c];
        if (child != none) reach[child * n + i] = here[i] * chosen[c];
      }
    }
  }
}

void ChoiceTree::visit_state(StateVisitor& state, const std::string& prefix, std::size_t labels,
                             std::size_t models, bool grown) {
  state.value(prefix + "random", random_);
  state.array(prefix + "label", label_);
  state.array(prefix + "place", place_);
  state.array(prefix + "child", child_);
  state.array(prefix + "block", block_);
  if (!state.freezing()) state.optional(prefix + "worn", worn_);
  if (state.restoring()) derive(labels, models, grown);
}

// Makes all else from labels, places, children and blocks; throws if they are not those of a tree.
void ChoiceTree::derive(std::size_t labels, std::size_t models, bool grown) {
  const auto require = StateVisitor::require;
  const std::size_t nodes = label_.size();
  require(place_.size() == nodes && child_.size() == block_.size() * width,
          "the arrays of the saved tree differ in length");
  require(worn_.size() <= block_.size(), "the saved tree has slots without a node");
  for (const std::uint32_t block : block_) {
    require((!grown && block == no_block) || (std::size_t{block} + 1) * width <= models,
            "the saved tree has a model that does not exist");
  }
  parent_.assign(nodes, none);
  slot_.assign(nodes, 0);
  leaf_.assign(labels, none);
  leaves_.assign(block_.size(), 0);
  std::vector<bool> taken(block_.size(), false);
  std::size_t reached = nodes > 0, inner = 0;
  for (std::uint32_t node = 0; node < nodes; ++node) {
    if (is_leaf(node)) {
      require(label_[node] < labels, "the saved tree has a label that does not exist");
      require(leaf_[label_[node]] == none, "the saved tree has a label with two leaves");
      leaf_[label_[node]] = node;
      continue;
    }
    require(place_[node] < block_.size() && !taken[place_[node]],
            "the saved tree has two nodes in one place");
    taken[place_[node]] = true;
    ++inner;
    for (std::size_t c = 0; c < width; ++c) {
      const std::uint32_t child = children(node)[c];
      if (child == none) continue;
      require(child > node && child < nodes && parent_[child] == none,  // so there is no cycle
              "the saved tree has a child out of place");
      parent_[child] = node;
      slot_[child] = static_cast<std::uint8_t>(c);
      ++reached;
    }
  }
  require(reached == nodes && inner == block_.size(), "the saved tree has a node without a parent");
  for (auto node = static_cast<std::uint32_t>(nodes); node-- > 0;) {
    require(leaves(node) > 0, "the saved tree has a node without leaves");
    if (node > 0) leaves_[place_[parent_[node]]] += leaves(node);
  }
}

}  // namespace labeltree
