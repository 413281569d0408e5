#include "tree/probability_tree.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "hash.hpp"

namespace labeltree {
namespace {

// The order of a heap with the best on top.
constexpr auto less_probable = [](const Reached& a, const Reached& b) {
  return more_probable(b, a);
};

// C(i, child) of the Hadamard code: whether a child is in the half that row i asks about.
bool in_half(std::size_t row, std::size_t child) { return std::popcount(row & child) % 2 == 0; }

}  // namespace

ProbabilityTree::ProbabilityTree(const BankParams& bank, const ProbabilityTreeParams& params)
    : TreeLearner(bank), params_(params), random_(params.seed) {}

void ProbabilityTree::set_labels(std::size_t labels) {
  TreeLearner::set_labels(labels);
  leaf_.resize(labels, none);
}

std::uint32_t ProbabilityTree::add_node(std::uint32_t parent, std::size_t slot,
                                        LabelId label) {
  const auto node = static_cast<std::uint32_t>(nodes());
  parent_.push_back(parent);
  slot_.push_back(static_cast<std::uint32_t>(slot));
  child_.resize(child_.size() + params_.arity, none);
  label_.push_back(label);
  leaves_.push_back(1);
  regressor_.push_back(none);
  leaf_[label] = node;
  if (parent != none) children(parent)[slot] = node;
  if (params_.arity == 2 || parent == none) add_regressors(node);
  return node;
}

// A leaf of a binary tree learns, too, for the day when it is split (Algorithm 3). In wider trees
// only inner nodes and the root do: arity - 1 regressors for each label would make PECOC's cost
// grow with the square of the labels.
void ProbabilityTree::add_regressors(std::uint32_t node) {
  if (params_.arity == 2) {
    const std::size_t above = parent_[node] == none ? Bank::no_model : regressor_[parent_[node]];
    regressor_[node] = static_cast<std::uint32_t>(bank_.add_below(above, slot_[node] == 1));
  } else {
    regressor_[node] = static_cast<std::uint32_t>(bank_.models());
    bank_.resize(bank_.models() + models_per_node());
  }
}

// The regressor of a node for row 1 .. arity - 1 of the code. Row 0 would ask about all children;
// its place is left empty, so that a node of eight or more children fills whole blocks of models.
std::size_t ProbabilityTree::model(std::uint32_t node, std::size_t row) const {
  return regressor_[node] + row % models_per_node();
}

void ProbabilityTree::prefetch(std::uint32_t node, const Example& x) const {
  if (regressor_[node] != none) bank_.prefetch(regressor_[node] / 8, x);
}

// The predictions of all regressors of a node, p[1] .. p[arity - 1].
void ProbabilityTree::ask(std::uint32_t node, const Example& x, float* p) const {
  if (params_.arity < 8) {
    for (std::size_t row = 1; row < params_.arity; ++row) p[row] = bank_.predict(model(node, row), x);
    return;
  }
  for (std::size_t row = 0; row < params_.arity; row += 8) {
    bank_.predict8(model(node, row) / 8, x, p + row);
  }
}

// Formula (4) for all children at once. With t = 2 r - 1 it is the Walsh-Hadamard transform of t
// divided by k, as C r + (1 - C)(1 - r) = (1 + (2C - 1) t) / 2.
void ProbabilityTree::child_probabilities(std::uint32_t node, const Example& x, float* p) const {
  const std::size_t k = params_.arity;
  ask(node, x, p);
  p[0] = 1.0f;
  for (std::size_t row = 1; row < k; ++row) {
    p[row] = 2.0f * static_cast<float>(probability(params_.rule.loss, p[row])) - 1.0f;
  }
  for (std::size_t half = 1; half < k; half *= 2) {
    for (std::size_t begin = 0; begin < k; begin += 2 * half) {
      for (std::size_t i = begin; i < begin + half; ++i) {
        const float a = p[i], b = p[i + half];
        p[i] = a + b;
        p[i + half] = a - b;
      }
    }
  }
  const std::uint32_t* child = children(node);
  const bool formula = params_.estimates == Estimates::formula;
  const float least = formula ? -1.0f : smallest_probability;
  const float absent = formula ? -std::numeric_limits<float>::infinity() : 0.0f;
  float total = 0.0f;
  for (std::size_t c = 0; c < k; ++c) {
    p[c] = child[c] == none ? absent : std::max(p[c] / static_cast<float>(k), least);
    total += p[c];
  }
  if (params_.estimates != Estimates::shares) return;
  for (std::size_t c = 0; c < k; ++c) p[c] /= total;
}

// Algorithm 2 at a node: regressor i learns whether the child is in its half.
void ProbabilityTree::train(std::uint32_t node, std::size_t child, const Example& x,
                            float weight) {
  if (regressor_[node] == none || weight == 0.0f) return;
  const float negative = params_.rule.loss == Loss::squared ? 0.0f : -1.0f;
  const auto target = [&](std::size_t row) { return in_half(row, child) ? 1.0f : negative; };
  if (params_.arity < 8) {
    for (std::size_t row = 1; row < params_.arity; ++row) {
      const std::size_t m = model(node, row);
      bank_.learn(m, x, bank_.predict(m, x), target(row), weight, params_.rule);
    }
    return;
  }
  for (std::size_t row = 0; row < params_.arity; row += 8) {
    const std::size_t block = model(node, row) / 8;
    float p[8], y[8];
    bank_.predict8(block, x, p);
    for (std::size_t lane = 0; lane < 8; ++lane) y[lane] = target(row + lane);
    bank_.learn8(block, x, p, y, weight, params_.rule, row == 0 ? 0xfe : 0xff);
  }
}

// Algorithm 3's decision. For two children, obj(p, L, R, alpha) > 0 is the same as the right one
// having the larger (1 - alpha) p - alpha log2(leaves); so written it serves any arity. An empty
// place has no leaves and is taken first.
std::size_t ProbabilityTree::choose_child(std::uint32_t node, const Example& x,
                                          Scratch& scratch) {
  const std::uint32_t* child = children(node);
  if (params_.shape == TreeShape::random) {
    return next_random(random_) % params_.arity;
  }
  const bool balanced = params_.shape == TreeShape::balanced;
  const float alpha = balanced ? 1.0f : params_.alpha;
  scratch.values.assign(params_.arity, 0.0f);
  if (!balanced) child_probabilities(node, x, scratch.values.data());
  std::size_t best = 0;
  float best_value = -std::numeric_limits<float>::infinity();
  for (std::size_t c = 0; c < params_.arity; ++c) {
    if (child[c] == none) return c;
    const float value = (1.0f - alpha) * scratch.values[c] -
                        alpha * std::log2(static_cast<float>(leaves_[child[c]]));
    if (value > best_value) {
      best_value = value;
      best = c;
    }
  }
  return best;
}

// Algorithm 3, the case of a new label; weight 0 only gives the label its place. A filter tree
// learns afterwards, as which nodes may learn is decided from the leaf upwards.
void ProbabilityTree::insert(LabelId y, const Example& x, float weight, Scratch& scratch) {
  if (nodes() == 0) {
    train(add_node(none, 0, y), 0, x, weight);
    return;
  }
  std::uint32_t node = 0;
  std::size_t c = 0;
  while (!is_leaf(node)) {
    c = choose_child(node, x, scratch);
    train(node, c, x, weight);
    ++leaves_[node];
    const std::uint32_t next = children(node)[c];
    if (next == none) break;
    node = next;
  }
  if (is_leaf(node)) {  // the leaf becomes a node with its old label on the left
    const LabelId old = label_[node];
    const std::uint32_t left = add_node(node, 0, old);
    if (regressor_[node] == none) add_regressors(node);
    if (params_.copy_leaves && params_.arity == 2) bank_.copy(model(node, 1), model(left, 1));
    label_[node] = no_label;
    leaves_[node] = 2;
    c = 1;
    train(node, c, x, weight);
  }
  train(add_node(node, c, y), 0, x, weight);
}

void ProbabilityTree::learn_one(LabelId y, float weight, bool seen, Scratch& scratch) {
  const Example x = scratch.examples[0];
  if (!seen) {
    insert(y, x, params_.filter ? 0.0f : weight, scratch);
    if (!params_.filter) return;
  }
  std::uint32_t node = leaf_[y];
  train(node, 0, x, weight);  // should the leaf be split, its old label will be child 0
  while (parent_[node] != none) {
    const std::uint32_t child = node;
    node = parent_[node];
    if (parent_[node] != none) prefetch(parent_[node], x);
    train(node, slot_[child], x, weight);
    if (params_.filter && likeliest_child(node, x, scratch) != slot_[child]) return;
  }
}

std::size_t ProbabilityTree::likeliest_child(std::uint32_t node, const Example& x,
                                             Scratch& scratch) const {
  scratch.values.resize(params_.arity);
  child_probabilities(node, x, scratch.values.data());
  return std::max_element(scratch.values.begin(), scratch.values.end()) - scratch.values.begin();
}

// Best-first search: leaves come out in the order of their probabilities, as no node is more
// probable than its parent. When the budget is spent, as many of the best nodes as it had are followed
// to their likeliest leaves, the best first. A greedy tree first walks from best child to best
// child, and searches for the labels after the first.
void ProbabilityTree::rank(std::size_t k, Scratch& scratch) const {
  const Example x = scratch.examples[0];
  std::vector<Reached>& open = scratch.open;
  std::size_t budget = params_.search_budget == 0 ? std::numeric_limits<std::size_t>::max()
                                                  : params_.search_budget * k;
  if (params_.greedy && k == 1) budget = 0;
  const std::vector<float>& p = scratch.values;  // of the children of the node last looked at
  const float least = params_.estimates == Estimates::formula ? smallest_probability : 0.0f;
  const auto log = [least](float q) { return std::log(std::max(q, least)); };
  const std::size_t begin = scratch.ranked.size();
  open.assign(1, {0.0f, 0});
  while (!open.empty() && scratch.ranked.size() < k) {
    const bool walking = params_.greedy && scratch.ranked.empty();
    if (!walking) std::pop_heap(open.begin(), open.end(), less_probable);
    const Reached best = open.back();
    open.pop_back();
    if (!open.empty()) prefetch(open.front().node, x);
    if (is_leaf(best.node)) {
      if (scratch.ranked.empty()) {
        scratch.path.clear();
        for (std::uint32_t v = best.node; v != none; v = parent_[v]) scratch.path.push_back(v);
        std::reverse(scratch.path.begin(), scratch.path.end());
      }
      scratch.ranked.push_back({std::exp(best.log_probability), label_[best.node]});
      continue;
    }
    const std::size_t likeliest = likeliest_child(best.node, x, scratch);
    for (std::size_t c = 0; c < params_.arity; ++c) {
      const std::uint32_t child = children(best.node)[c];
      if (child == none || (c == likeliest ? walking : budget == 0)) continue;
      open.push_back({best.log_probability + log(p[c]), child});
      std::push_heap(open.begin(), open.end(), less_probable);
    }
    if (walking) {  // next, wherever it would be in the heap
      open.push_back({best.log_probability + log(p[likeliest]),
                      children(best.node)[likeliest]});
    }
    if (!walking && budget > 0 && --budget == 0) {
      keep_best(open, params_.search_budget * k);
      std::make_heap(open.begin(), open.end(), less_probable);
    }
  }
  if (params_.estimates == Estimates::formula) rank_by_formula(scratch, begin);
}

// Gives the labels found, which were searched for by estimates above zero, what the formulas say.
void ProbabilityTree::rank_by_formula(Scratch& scratch, std::size_t begin) const {
  const std::span found = std::span(scratch.ranked).subspan(begin);
  for (ScoredLabel& one : found) one.score = probability_of(one.label, scratch);
  std::sort(found.begin(), found.end(), better);
}

TreeView ProbabilityTree::view() const {
  TreeView view{parent_, label_, std::vector<double>(nodes(), 0.0), leaves_};
  for (std::uint32_t node = static_cast<std::uint32_t>(nodes()); node-- > 0;) {
    if (is_leaf(node)) view.weight[node] = counts_[label_[node]];
    if (parent_[node] != none) view.weight[parent_[node]] += view.weight[node];
  }
  return view;
}

// The product along the path of a label, from its leaf upwards (formula 2).
float ProbabilityTree::probability_of(LabelId y, Scratch& scratch) const {
  std::uint32_t node = leaf_[y];
  if (node == none) return 0.0f;
  scratch.values.resize(params_.arity);
  float product = 1.0f;
  for (; parent_[node] != none; node = parent_[node]) {
    child_probabilities(parent_[node], scratch.examples[0], scratch.values.data());
    product *= scratch.values[slot_[node]];
  }
  return product;
}

// Down the whole tree: a node comes after its parent. Examples take turns at a node, whose weights
// are then at hand.
void ProbabilityTree::all_probabilities(Scratch& scratch, float* p) const {
  const std::size_t n = scratch.examples.size();
  std::vector<float>& reach = scratch.reach;  // of each node, by each example
  reach.resize(nodes() * n);
  std::fill_n(reach.begin(), n, 1.0f);
  scratch.values.resize(params_.arity);
  for (std::uint32_t node = 0; node < nodes(); ++node) {
    const float* here = reach.data() + node * n;
    for (std::size_t i = 0; i < n; ++i) {
      if (is_leaf(node)) {
        p[i * labels() + label_[node]] = here[i];
        continue;
      }
      child_probabilities(node, scratch.examples[i], scratch.values.data());
      for (std::size_t c = 0; c < params_.arity; ++c) {
        const std::uint32_t child = children(node)[c];
        if (child != none) reach[child * n + i] = here[i] * scratch.values[c];
      }
    }
  }
}

void ProbabilityTree::label_probability(const Matrix& X, const LabelId* labels,
                                        float* probability) const {
  const auto loan = scratch_.borrow();
  Scratch& scratch = *loan;
  for (std::size_t row = 0; row < X.rows; ++row) {
    scratch.examples.clear();
    bank_.encode(X, row, scratch.examples);
    probability[row] = probability_of(labels[row], scratch);
  }
}

void ProbabilityTree::visit_state(StateVisitor& state) {
  TreeLearner::visit_state(state);
  state.value("random", random_);
  state.array("parent", parent_);
  state.array("slot", slot_);
  state.array("child", child_);
  state.array("label", label_);
  state.array("leaves", leaves_);
  state.array("leaf", leaf_);
  state.array("regressor", regressor_);
  if (!state.restoring()) return;
  const auto require = StateVisitor::require;
  require(slot_.size() == nodes() && label_.size() == nodes() && leaves_.size() == nodes() &&
              child_.size() == nodes() * params_.arity && leaf_.size() == labels() &&
              regressor_.size() == nodes(),
          "the arrays of the saved tree differ in length");
  std::vector<std::uint32_t> below(nodes(), 0);  // leaves
  std::size_t reached = nodes() > 0;
  for (std::size_t node = 0; node < nodes(); ++node) {
    require(node == 0 ? parent_[0] == none : parent_[node] < node,  // so there is no cycle
            "the saved tree has a node whose parent comes after it");
    require(slot_[node] < params_.arity, "the saved tree has a child out of place");
    require(label_[node] == no_label || label_[node] < labels(),
            "the saved tree has a label that does not exist");
    const std::uint32_t first = regressor_[node];
    require(first == none ? is_leaf(node) : first + models_per_node() <= bank_.models(),
            "the saved tree has a regressor that is missing");
  }
  for (std::size_t node = 0; node < nodes(); ++node) {
    for (std::size_t c = 0; c < params_.arity; ++c) {
      const std::uint32_t child = children(node)[c];
      if (child == none) continue;
      require(!is_leaf(node) && child < nodes() && parent_[child] == node && slot_[child] == c,
              "the saved tree has a child that does not exist");
      ++reached;
    }
  }
  require(reached == nodes(), "the saved tree has a node without a parent");
  for (std::size_t node = nodes(); node-- > 0;) {
    if (is_leaf(node)) below[node] = 1;
    require(below[node] > 0 && below[node] == leaves_[node],
            "the saved tree has a node whose leaves are miscounted");
    if (node > 0) below[parent_[node]] += below[node];
  }
  for (std::size_t label = 0; label < labels(); ++label) {
    const bool learned = counts_[label] > 0.0;
    require(learned ? leaf_[label] < nodes() && label_[leaf_[label]] == label
                    : leaf_[label] == none,
            "the saved tree has a label without a leaf, or a leaf without its label");
  }
}

}  // namespace labeltree
