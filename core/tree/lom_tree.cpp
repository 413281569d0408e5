#include "tree/lom_tree.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace labeltree {

LomTree::LomTree(const BankParams& bank, const LomTreeParams& params)
    : TreeLearner(bank), params_(params) {
  add_node();
}

std::uint32_t LomTree::most_recycled() const {
  return *std::max_element(recycled_.begin(), recycled_.end());
}

std::uint32_t LomTree::add_node() {
  const auto v = static_cast<std::uint32_t>(nodes());
  parent_.push_back(none);
  left_.push_back(none);
  right_.push_back(none);
  regressor_.push_back(none);
  serial_.push_back(serials_++);
  recycled_.push_back(0);
  smallest_.push_back(0.0);
  total_.push_back(0.0);
  score_sum_.push_back(0.0);
  score_weight_.push_back(0.0);
  top_.add();
  return v;
}

// A regressor's place is below its parent's, unless that is taken: regressors pass from recycled
// nodes to others.
void LomTree::add_regressor(std::uint32_t v) {
  if (regressor_[v] != none) return;
  const std::uint32_t parent = parent_[v];
  const bool root = parent == none;
  std::size_t model = bank_.add_below(root ? Bank::no_model : regressor_[parent],
                                      !root && right_[parent] == v);
  if (model < taken_.size() && taken_[model]) model = bank_.add_below(Bank::no_model, false);
  take(model);
  regressor_[v] = static_cast<std::uint32_t>(model);
}

void LomTree::take(std::size_t model) {
  if (model >= taken_.size()) taken_.resize(model + 1);
  taken_[model] = true;
}

// SetNode for a node that was in use: it becomes a leaf that knows nothing, its regressor too.
void LomTree::set_node(std::uint32_t v) {
  left_[v] = right_[v] = none;
  serial_[v] = serials_++;
  ++recycled_[v];
  smallest_[v] = total_[v] = score_sum_[v] = score_weight_[v] = 0.0;
  top_.learned(v) = {};
  if (regressor_[v] != none) bank_.zero(regressor_[v]);
}

void LomTree::adopt(std::uint32_t parent, std::uint32_t left, std::uint32_t right) {
  add_regressor(parent);
  left_[parent] = left;
  right_[parent] = right;
  parent_[left] = parent_[right] = parent;
  // Until a child has seen examples of its own it predicts what its parent would.
  top_.learned(left) = top_.learned(right) = top_.learned(parent);
}

// UpdateC: carries a changed C towards the root.
void LomTree::update_c(std::uint32_t v) {
  while (v != root_) {
    v = parent_[v];
    const double c = std::min(smallest_[left_[v]], smallest_[right_[v]]);
    if (c == smallest_[v]) return;
    smallest_[v] = c;
  }
}

// Swap: the smallest leaf s and its parent leave their place to s's sibling and become the
// children of v. If the parent is the root, the sibling becomes the root. The parent's regressor is
// v's from then on, so that there are as many as inner nodes.
void LomTree::swap(std::uint32_t v) {
  std::uint32_t s = root_;
  while (!is_leaf(s)) s = smallest_[left_[s]] == smallest_[s] ? left_[s] : right_[s];
  const std::uint32_t pa = parent_[s];
  const std::uint32_t gpa = parent_[pa];
  const std::uint32_t sib = left_[pa] == s ? right_[pa] : left_[pa];
  parent_[sib] = gpa;
  if (gpa == none) {
    root_ = sib;
  } else if (left_[gpa] == pa) {
    left_[gpa] = sib;
  } else {
    right_[gpa] = sib;
  }
  update_c(sib);
  set_node(s);
  set_node(pa);
  if (regressor_[v] == none) std::swap(regressor_[v], regressor_[pa]);
  adopt(v, s, pa);
  if (++swaps_ > nodes()) forget_recycled();
}

// The node that has each serial; none for those of nodes since recycled.
std::vector<std::uint32_t> LomTree::nodes_by_serial() const {
  std::vector<std::uint32_t> node_of(serials_, none);
  for (std::uint32_t v = 0; v < nodes(); ++v) node_of[serial_[v]] = v;
  return node_of;
}

// Drops the counts of nodes that have been recycled, and gives the others new serials.
void LomTree::forget_recycled() {
  const std::vector<std::uint32_t> node_of = nodes_by_serial();
  NodeLabels kept;
  std::size_t next = 0;
  for (std::size_t index = 0; index < node_labels_.size(); ++index) {
    const std::uint64_t key = node_labels_.keys()[index];
    const std::uint32_t v = node_of[key >> 32];
    if (v == none) continue;
    kept.add(v, static_cast<LabelId>(key & 0xffffffffu));
    reached_[next] = reached_[index];
    label_score_sum_[next] = label_score_sum_[index];
    label_score_weight_[next] = label_score_weight_[index];
    ++next;
  }
  reached_.resize(next);
  label_score_sum_.resize(next);
  label_score_weight_.resize(next);
  node_labels_ = std::move(kept);
  for (std::uint32_t v = 0; v < nodes(); ++v) serial_[v] = v;
  serials_ = static_cast<std::uint32_t>(nodes());
  swaps_ = 0;
}

// t < T.
bool LomTree::may_add() const {
  return inner_ < (params_.max_nodes > 0 ? params_.max_nodes : 16 * learned_labels());
}

// Whether leaf j, which has seen two labels or more, is to be split (inequality 2).
bool LomTree::wants_split(std::uint32_t j) const {
  return may_add() || smallest_[j] - top_[j].count(0) >
                          params_.swap_resistance * (smallest_[root_] + 1.0);
}

// Teaches the regressor of inner node j, updates the scores, and returns whether to go right.
bool LomTree::train(std::uint32_t j, std::uint32_t index, const Example& x, float weight) {
  const double m = label_score_sum_[index], n = label_score_weight_[index];
  const double label_score = n > 0.0 ? m / n : 0.0;                                      // e(y)
  const double node_score = score_weight_[j] > 0.0 ? score_sum_[j] / score_weight_[j] : 0.0;  // E
  const float c = node_score > label_score ? -1.0f : 1.0f;
  const std::uint32_t model = regressor_[j];
  bank_.learn(model, x, bank_.predict(model, x), c, weight, params_.rule);
  const float h = bank_.predict(model, x);
  label_score_sum_[index] += double{weight} * h;
  label_score_weight_[index] += weight;
  score_sum_[j] += double{weight} * h;
  score_weight_[j] += weight;
  return h > 0.0f;
}

void LomTree::learn_one(LabelId y, float weight, bool /*seen*/, Scratch& scratch) {
  const Example x = scratch.examples[0];
  std::uint32_t j = root_;
  while (true) {
    const std::uint32_t guess = node_labels_.guess(serial_[j], y);
    if (guess != NodeLabels::absent) {
      __builtin_prefetch(&reached_[guess]);
      __builtin_prefetch(&label_score_sum_[guess]);
      __builtin_prefetch(&label_score_weight_[guess]);
    }
    std::uint32_t index = node_labels_.add(serial_[j], y);
    if (index == reached_.size()) {
      reached_.push_back(0.0);
      label_score_sum_.push_back(0.0);
      label_score_weight_.push_back(0.0);
    }
    if (total_[j] == 0.0) top_.learned(j) = {};  // what it had from its parent
    reached_[index] += weight;
    total_[j] += weight;
    top_.learned(j).update(y, reached_[index], kept_labels);
    if (is_leaf(j) && top_[j].size() > 1 && wants_split(j)) {
      const double size = smallest_[j];
      if (may_add()) {
        const std::uint32_t l = add_node();
        const std::uint32_t r = add_node();
        adopt(j, l, r);
        ++inner_;
      } else {
        swap(j);
        index = node_labels_.find(serial_[j], y);  // it may have moved
      }
      smallest_[left_[j]] = std::floor(size / 2.0);
      smallest_[right_[j]] = size - smallest_[left_[j]];
      update_c(left_[j]);
    }
    if (is_leaf(j)) {
      smallest_[j] += weight;
      update_c(j);
      return;
    }
    node_labels_.prefetch(serial_[left_[j]], y);
    node_labels_.prefetch(serial_[right_[j]], y);
    j = train(j, index, x, weight) ? right_[j] : left_[j];
  }
}

// The labels that the leaf has seen most, with their shares.
void LomTree::rank(std::size_t k, Scratch& scratch) const {
  scratch.walk.clear(scratch.examples.size());
  walk(
      root_, bank_, scratch.examples, scratch.walk, scratch.blocks,
      [&](std::uint32_t j) { return is_leaf(j) ? no_node : regressor_[j]; },
      [&](std::uint32_t j, float h) { return h > 0.0f ? right_[j] : left_[j]; });
  for (std::size_t i = 0; i < scratch.examples.size(); ++i) {
    const std::uint32_t leaf = scratch.walk.paths[i].back();
    const NodeTops::Top top = top_[leaf];
    const double total = total_[leaf] > 0.0 ? total_[leaf] : top.sum(kept_labels);
    const std::size_t begin = scratch.ranked.size();
    for (std::size_t n = 0; n < std::min(k, top.size()); ++n) {
      scratch.ranked.push_back({static_cast<float>(top.count(n) / total), top.label(n)});
    }
    scratch.ranked.resize(begin + k, missing);
  }
}

TreeView LomTree::view() const {
  TreeView view{parent_, std::vector<LabelId>(nodes(), no_label), total_, distinct()};
  for (std::uint32_t v = 0; v < nodes(); ++v) {
    if (top_[v].size() > 0) view.label[v] = top_[v].label(0);
  }
  return view;
}

// How many labels have reached each node.
std::vector<std::uint32_t> LomTree::distinct() const {
  if (bank_.params().frozen) return {shown_.distinct.begin(), shown_.distinct.end()};
  std::vector<std::uint32_t> distinct(nodes(), 0);
  const std::vector<std::uint32_t> node_of = nodes_by_serial();
  for (const std::uint64_t key : node_labels_.keys()) {
    const std::uint32_t v = node_of[key >> 32];
    if (v != none) ++distinct[v];
  }
  return distinct;
}

LomTree::Splits LomTree::splits() const {
  if (bank_.params().frozen) {
    const auto copy = [](const SharedArray<double>& array) {
      return std::vector<double>(array.begin(), array.end());
    };
    return {copy(shown_.objective), copy(shown_.purity), copy(shown_.balance)};
  }
  Splits splits{std::vector<double>(nodes(), 0.0), std::vector<double>(nodes(), 0.0),
                std::vector<double>(nodes(), 0.0)};
  const std::vector<std::uint32_t> node_of = nodes_by_serial();
  for (std::uint32_t v = 0; v < nodes(); ++v) {
    if (is_leaf(v)) continue;
    const double both = total_[left_[v]] + total_[right_[v]];
    splits.balance[v] = both > 0.0 ? total_[right_[v]] / both : 0.0;
  }
  // Every label is counted at the child on the right, or on the left if it never went right.
  for (std::size_t index = 0; index < node_labels_.keys().size(); ++index) {
    const std::uint64_t key = node_labels_.keys()[index];
    const std::uint32_t child = node_of[key >> 32];
    if (child == none || child == root_) continue;
    const auto label = static_cast<LabelId>(key & 0xffffffffu);
    const std::uint32_t v = parent_[child];
    const bool is_right = right_[v] == child;
    const std::uint32_t other =
        node_labels_.find(serial_[is_right ? left_[v] : right_[v]], label);
    if (!is_right && other != NodeLabels::absent) continue;
    const double here = reached_[index];
    const double there = other == NodeLabels::absent ? 0.0 : reached_[other];
    const double right_share = (is_right ? here : there) / (here + there);
    const double weight =
        (here + there) / (total_[left_[v]] + total_[right_[v]]);  // pi
    splits.objective[v] += 2.0 * weight * std::abs(splits.balance[v] - right_share);
    splits.purity[v] += weight * std::min(right_share, 1.0 - right_share);
  }
  return splits;
}

void LomTree::visit_state(StateVisitor& state) {
  TreeLearner::visit_state(state);
  state.value("root", root_);
  state.value("inner", inner_);
  state.array("parent", parent_);
  state.array("left", left_);
  state.array("right", right_);
  state.array("regressor", regressor_);
  state.array("total", total_);
  if (bank_.params().frozen || state.freezing()) {
    visit_frozen(state);
  } else {
    visit_counts(state);
  }
  if (!state.restoring()) return;

  const auto require = StateVisitor::require;
  const std::size_t n = nodes();
  require(n > 0 && left_.size() == n && right_.size() == n && total_.size() == n &&
              regressor_.size() == n && root_ < n,
          "the arrays of the saved tree differ in length");
  require(are_regressors(), "the saved tree has a regressor that is missing");
  require(is_tree(), "the saved nodes do not form a tree");
  if (bank_.params().frozen) return;
  std::vector<std::uint32_t> taken;
  std::copy_if(regressor_.begin(), regressor_.end(), std::back_inserter(taken),
               [](std::uint32_t model) { return model != none; });
  std::sort(taken.begin(), taken.end());
  require(std::adjacent_find(taken.begin(), taken.end()) == taken.end(),
          "the saved tree has a regressor that serves two nodes");
  taken_.clear();
  for (const std::uint32_t model : taken) take(model);
  for (std::size_t v = 0; v < n; ++v) {
    require(is_leaf(static_cast<std::uint32_t>(v)) ||
                smallest_[v] == std::min(smallest_[left_[v]], smallest_[right_[v]]),
            "the saved tree has a leaf of impossible size");
  }
}

// Whether every inner node has a regressor that exists, and so have leaves that have one.
bool LomTree::are_regressors() const {
  bool are = true;
  for (std::size_t v = 0; v < nodes(); ++v) {
    const std::uint32_t model = regressor_[v];
    are &= model == none ? left_[v] == none : model < bank_.models();
  }
  return are;
}

// Whether from the root every node is reached once. Every node but the root is the child of one, its
// parent, if nodes have two children that say so, and there are twice as many and the root. Then all
// are reached if no node is above itself: if none comes before its parent, as without swaps, or else by
// looking.
bool LomTree::is_tree() const {
  const std::size_t n = nodes();
  std::size_t inner = 0;
  bool in_order = true;
  for (std::uint32_t v = 0; v < n; ++v) {
    const std::uint32_t l = left_[v], r = right_[v];
    if (l == none) continue;
    if (l >= n || r >= n || l == r || parent_[l] != v || parent_[r] != v) return false;
    in_order &= l > v && r > v;
    ++inner;
  }
  if (parent_[root_] != none || inner != inner_ || n != 2 * inner + 1) return false;
  if (in_order) return true;
  std::vector<std::uint32_t> reached(1, root_);
  for (std::size_t i = 0; i < reached.size(); ++i) {
    const std::uint32_t v = reached[i];
    if (left_[v] != none) reached.insert(reached.end(), {left_[v], right_[v]});
  }
  return reached.size() == n;
}

// What learning needs besides.
void LomTree::visit_counts(StateVisitor& state) {
  state.value("serials", serials_);
  state.value("swaps", swaps_);
  state.array("serial", serial_);
  state.array("recycled", recycled_);
  state.array("smallest", smallest_);
  state.array("score_sum", score_sum_);
  state.array("score_weight", score_weight_);
  top_.visit_state(state, nodes(), labels());
  state.array("node_label", node_labels_.keys());
  state.array("reached", reached_);
  state.array("label_score_sum", label_score_sum_);
  state.array("label_score_weight", label_score_weight_);
  if (!state.restoring()) return;

  const auto require = StateVisitor::require;
  const std::size_t n = nodes();
  const std::size_t pairs = node_labels_.keys().size();
  require(serial_.size() == n && recycled_.size() == n && smallest_.size() == n &&
              score_sum_.size() == n && score_weight_.size() == n && reached_.size() == pairs &&
              label_score_sum_.size() == pairs && label_score_weight_.size() == pairs,
          "the arrays of the saved tree differ in length");
  for (const double size : smallest_) {
    require(std::isfinite(size) && size >= 0.0, "the saved tree has a leaf of impossible size");
  }
  // Every node has one, and every swap, of which there are at most as many as nodes, gives two more.
  require(swaps_ <= n && serials_ <= n + 2 * std::size_t{swaps_},
          "the saved tree has given more serial numbers than it can have");
  std::vector<bool> given(serials_, false);
  for (const std::uint32_t serial : serial_) {
    require(serial < serials_ && !given[serial], "the saved tree has a serial number out of range");
    given[serial] = true;
  }
  for (const std::uint64_t key : node_labels_.keys()) {
    require(key >> 32 < serials_ && (key & 0xffffffffu) < labels(),
            "the saved tree counts a label that does not exist");
  }
  node_labels_.rebuild();
}

// What is shown of the nodes, which a model that only predicts cannot make from counts.
LomTree::Shown LomTree::shown() const {
  if (bank_.params().frozen) return shown_;
  Splits of = splits();
  return {SharedArray(distinct()), SharedArray(std::move(of.objective)),
          SharedArray(std::move(of.purity)), SharedArray(std::move(of.balance))};
}

// For prediction: the labels of leaves, and of other nodes what is shown of them.
void LomTree::visit_frozen(StateVisitor& state) {
  const std::size_t n = nodes();
  top_.visit_frozen(state, n, labels(),
                    [&](std::size_t v) { return is_leaf(v) ? kept_labels : std::size_t{1}; });
  Shown shown = this->shown();
  state.shared("distinct", shown.distinct);
  state.shared("objective", shown.objective);
  state.shared("purity", shown.purity);
  state.shared("balance", shown.balance);
  if (!state.restoring()) return;
  StateVisitor::require(shown.distinct.size() == n && shown.objective.size() == n &&
                            shown.purity.size() == n && shown.balance.size() == n,
                        "the arrays of the saved tree differ in length");
  shown_ = std::move(shown);
}

}  // namespace labeltree
