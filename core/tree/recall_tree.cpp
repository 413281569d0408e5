#include "tree/recall_tree.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

namespace labeltree {

namespace {

// ceil(log2 n), of n from 1 on.
std::size_t ceil_log2(std::size_t n) { return std::bit_width(std::max<std::size_t>(1, n) - 1); }

// What trees share between them, if nothing else is asked for: F of one tree.
std::size_t share(std::size_t log2_labels, std::size_t trees) {
  return std::max<std::size_t>(4, (4 * log2_labels + trees - 1) / trees);
}

}  // namespace

RecallTree::RecallTree(const BankParams& bank, const RecallTreeParams& params)
    : TreeLearner({bank.scale, bank.layout, bank.bits, bank.features,
                   params.path_features != PathFeatures::none, bank.frozen}),
      params_(params),
      random_(params.seed) {
  for (std::size_t tree = 0; tree < params.trees; ++tree) add_node(0);  // the roots
}

void RecallTree::set_labels(std::size_t labels) {
  TreeLearner::set_labels(labels);
  scorer_.resize(labels, none);
}

std::uint32_t RecallTree::add_node(std::uint32_t depth) {
  left_.push_back(none);
  right_.push_back(none);
  depth_.push_back(depth);
  router_.push_back(none);
  total_.push_back(0.0);
  c_log_c_.push_back(0.0);
  distinct_.push_back(0);
  top_.add();
  return static_cast<std::uint32_t>(nodes() - 1);
}

// F of one tree, growing with the labels.
std::size_t RecallTree::candidate_count() const {
  if (params_.candidates > 0) return params_.candidates;
  return share(ceil_log2(learned_labels()), params_.trees);
}

// Whether a leaf has more labels than candidates, and the tree may grow. Labels that no router can
// tell apart would make it grow for ever; depth and nodes that suffice for labels that can be told
// apart are bounds that are seldom met.
bool RecallTree::may_split(std::uint32_t leaf) const {
  const std::size_t labels = learned_labels();
  const std::size_t max_depth = params_.max_depth > 0 ? params_.max_depth : 2 * ceil_log2(labels);
  const std::size_t max_nodes = params_.max_nodes > 0 ? params_.max_nodes : 4 * labels;
  return distinct_[leaf] > candidate_count() && depth_[leaf] < max_depth &&
         (nodes() - params_.trees) / 2 < params_.trees * max_nodes;
}

double RecallTree::count(std::uint32_t node, LabelId y) const {
  const std::uint32_t index = node_labels_.find(node, y);
  return index == NodeLabels::absent ? 0.0 : node_label_count_[index];
}

double RecallTree::entropy(std::uint32_t node) const {
  return total_[node] > 0.0 ? std::log2(total_[node]) - c_log_c_[node] / total_[node] : 0.0;
}

// The entropy of a node if one more example of y reached it.
double RecallTree::entropy_with(std::uint32_t node, LabelId y, double weight) const {
  const double c = count(node, y);
  const double total = total_[node] + weight;
  return std::log2(total) - (c_log_c_[node] - c_log_c(c) + c_log_c(c + weight)) / total;
}

// Equation (1). An example that passes n times counts once: repetition tightens no bound. As printed
// it counts n times.
double RecallTree::recall_bound(std::uint32_t node) const {
  if (total_[node] == 0.0) return -std::numeric_limits<double>::infinity();
  const double m = total_[node] / static_cast<double>(params_.recount ? 1 : passes_);
  const double r = std::min(1.0, top_[node].sum(candidate_count()) / total_[node]);
  return r - std::sqrt(params_.bound * r * (1.0 - r) / m) - params_.bound / m;
}

bool RecallTree::stops(std::uint32_t node, std::uint32_t child) const {
  return params_.stop == StopRule::bernstein && recall_bound(node) > recall_bound(child);
}

// How many bits the children's examples need less if an example goes left than if it goes right. As
// printed, its own are left out: the children have the shares that they had before it.
double RecallTree::bits_saved_by_left(std::uint32_t node, LabelId y, double weight) const {
  const std::uint32_t l = left_[node], r = right_[node];
  const double more = params_.importance == Importance::average ? 0.0 : weight;
  const double if_left = (total_[l] + more) * entropy_with(l, y, weight) + total_[r] * entropy(r);
  const double if_right = total_[l] * entropy(l) + (total_[r] + more) * entropy_with(r, y, weight);
  return (if_right - if_left) / weight;
}

// Algorithm 3: learn to send the example where the children's entropy becomes lower. f(x) > 0 goes
// left; with the sign as printed it would go where the entropy becomes higher. The printed importance
// shrinks as the node grows, and its router stops learning long before it is good.
void RecallTree::update_router(const Example& x, LabelId y, float weight, std::uint32_t node,
                               std::uint32_t root) {
  const std::uint32_t l = left_[node], r = right_[node];
  node_labels_.prefetch(l, y);
  node_labels_.prefetch(r, y);
  const float p = bank_.predict(router_[node], x);
  for (const std::uint32_t child : {l, r}) {
    const std::uint32_t index = node_labels_.guess(child, y);
    if (index != NodeLabels::absent) __builtin_prefetch(&node_label_count_[index]);
  }
  const double bits = bits_saved_by_left(node, y, weight);
  if (std::abs(bits) < 1e-6) return;  // rounding, which an adaptive step would blow up
  bool go_left = bits > 0.0;
  if (root > 0 && count(l, y) == 0.0 && count(r, y) == 0.0) {
    // Further trees differ from the first in where a label starts.
    go_left = mix64(std::uint64_t{node} << 32 | y) >> 63;
  }
  double importance = std::abs(bits);
  if (params_.importance == Importance::average) importance /= total_[node];
  if (params_.importance == Importance::equal) importance = 1.0;
  bank_.learn(router_[node], x, p, go_left ? 1.0f : -1.0f, weight * static_cast<float>(importance),
              params_.router);
}

void RecallTree::update_candidates(LabelId y, float weight, std::uint32_t node) {
  const std::uint32_t index = node_labels_.add(node, y);
  if (index == node_label_count_.size()) {
    node_label_count_.push_back(0.0);
    ++distinct_[node];
  }
  double& c = node_label_count_[index];
  c_log_c_[node] += c_log_c(c + weight) - c_log_c(c);
  c += weight;
  total_[node] += weight;
  // As many as F can ever be, so that none is missing when it grows.
  top_.learned(node).update(y, c, params_.candidates > 0 ? params_.candidates : share(32, params_.trees));
}

// Asks for the weights of a candidate's scorer while another's are worked on.
void RecallTree::prefetch_scorer(const Scratch& scratch, std::size_t candidate,
                                 const Example& x) const {
  const std::vector<LabelId>& candidates = scratch.candidates[0].labels;
  if (candidate >= candidates.size()) return;
  const std::uint32_t scorer = scorer_[candidates[candidate]];
  if (scorer != none) bank_.prefetch(scorer / 8, x);
}

// Algorithm 4, and the true label in any case if so asked.
void RecallTree::update_regressors(const Example& x, LabelId y, float weight, Scratch& scratch) {
  std::vector<LabelId>& candidates = scratch.candidates[0].labels;
  const bool is_candidate = std::find(candidates.begin(), candidates.end(), y) != candidates.end();
  if (!is_candidate && !params_.always_train) return;
  if (!is_candidate) candidates.push_back(y);
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const LabelId label = candidates[i];
    prefetch_scorer(scratch, i + 1, x);
    if (scorer_[label] == none) {
      scorer_[label] = static_cast<std::uint32_t>(bank_.models());
      bank_.resize(bank_.models() + 1);
    }
    const float p = bank_.predict(scorer_[label], x);
    bank_.learn(scorer_[label], x, p, label == y ? 1.0f : -1.0f, weight, params_.scorer);
  }
}

// Adds labels to the candidates until there are `wanted`: the most frequent ones of the last node of
// a path through one tree, then those of its ancestors.
void RecallTree::collect_candidates(std::span<const std::uint32_t> path, std::size_t wanted,
                                    std::vector<LabelId>& candidates) const {
  const std::size_t others = candidates.size();
  for (std::size_t i = path.size(); i-- > 0;) {
    const NodeTops::Top top = top_[path[i]];
    const std::size_t known = candidates.size();  // the labels of one node differ from each other
    for (std::size_t n = 0; n < top.size(); ++n) {
      if (candidates.size() >= wanted) return;
      const LabelId label = top.label(n);
      const LabelId* end = candidates.data() + known;
      if (std::find(std::as_const(candidates).data(), end, label) == end) candidates.push_back(label);
    }
    if (!params_.fill && candidates.size() > others) return;  // a fresh leaf has none of its own
  }
}

// Algorithm 2, the loop: takes an example down one tree and teaches the nodes it meets.
std::uint32_t RecallTree::descend(std::uint32_t root, const Example& x, LabelId y, float weight,
                                  Scratch& scratch) {
  std::uint32_t node = root;
  scratch.path.push_back(node);
  update_candidates(y, weight, node);
  while (!is_leaf(node)) {
    update_router(x, y, weight, node, root);
    const float f = bank_.predict(router_[node], x);
    bool go_left = f > 0.0f;
    if (params_.randomized) {
      const double u = static_cast<double>(next_random(random_) >> 11) * 0x1p-53;
      go_left = u < probability(Loss::logistic, f);
    }
    const std::uint32_t child = go_left ? left_[node] : right_[node];
    update_candidates(y, weight, child);
    if (stops(node, child)) break;
    node = child;
    scratch.path.push_back(node);
  }
  return node;
}

// Algorithm 2.
void RecallTree::learn_one(LabelId y, float weight, bool /*seen*/, Scratch& scratch) {
  const Example x = scratch.examples[0];
  scratch.candidates.resize(std::max<std::size_t>(scratch.candidates.size(), 1));
  scratch.candidates[0].clear();
  scratch.path.clear();
  for (std::uint32_t root = 0; root < params_.trees; ++root) {
    const std::size_t begin = scratch.path.size();
    const std::uint32_t node = descend(root, x, y, weight, scratch);
    collect_candidates(std::span(scratch.path).subspan(begin), (root + 1) * candidate_count(),
                       scratch.candidates[0].labels);
    if (is_leaf(node) && may_split(node)) {
      const std::uint32_t l = add_node(depth_[node] + 1);
      const std::uint32_t r = add_node(depth_[node] + 1);
      left_[node] = l;
      right_[node] = r;
      const bool is_root = scratch.path.size() == begin + 1;
      const std::uint32_t above = is_root ? none : scratch.path[scratch.path.size() - 2];
      router_[node] = static_cast<std::uint32_t>(
          is_root ? bank_.add_below(Bank::no_model, false)
                  : bank_.add_below(router_[above], right_[above] == node));
    }
  }
  add_path_features(scratch.path, scratch.examples);
  update_regressors(scratch.examples[0], y, weight, scratch);
}

// x + {(n.id : 1)} for the nodes n below the root, of each tree.
void RecallTree::add_path_features(std::span<const std::uint32_t> path,
                                   ExampleBuffer& example) const {
  if (params_.path_features == PathFeatures::none) return;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const bool last = i + 1 == path.size() || path[i + 1] < params_.trees;
    if (path[i] < params_.trees) continue;  // a root
    if (last || params_.path_features == PathFeatures::path) bank_.add_indicator(path[i], example);
  }
}

// Algorithm 1.
void RecallTree::rank(std::size_t k, Scratch& scratch) const {
  const std::size_t examples = scratch.examples.size();
  const auto& paths = scratch.walk.paths;
  scratch.walk.clear(examples);
  scratch.candidates.resize(std::max(scratch.candidates.size(), examples));
  for (std::size_t i = 0; i < examples; ++i) scratch.candidates[i].clear();
  const auto router = [&](std::uint32_t node) { return is_leaf(node) ? no_node : router_[node]; };
  const auto next = [&](std::uint32_t node, float f) {
    const std::uint32_t child = f > 0.0f ? left_[node] : right_[node];
    return stops(node, child) ? no_node : child;
  };
  for (std::uint32_t root = 0; root < params_.trees; ++root) {
    walk(root, bank_, scratch.examples, scratch.walk, scratch.blocks, router, next);
    for (std::size_t i = 0; i < examples; ++i) {
      const std::span<const std::uint32_t> path = paths[i];
      const auto begin = std::find(path.begin(), path.end(), root) - path.begin();
      collect_candidates(path.subspan(static_cast<std::size_t>(begin)),
                         (root + 1) * candidate_count(), scratch.candidates[i].labels);
    }
  }
  const Example without_path = scratch.examples[0];
  add_path_features(paths[0], scratch.examples);  // if any, there is one example
  scratch.blocks.clear();
  for (std::size_t i = 0; i < examples; ++i) {
    for (const LabelId label : scratch.candidates[i].labels) {
      if (scorer_[label] != none) scratch.blocks.ask_one(scorer_[label], i);
    }
  }
  scratch.blocks.answer(bank_, scratch.examples);
  if (params_.path_features != PathFeatures::none) {
    bank_.remove_indicators(without_path, scratch.examples);
  }
  std::size_t answer = 0;
  for (std::size_t i = 0; i < examples; ++i) {
    const std::size_t begin = scratch.ranked.size();
    for (const LabelId label : scratch.candidates[i].labels) {
      const std::uint32_t scorer = scorer_[label];
      scratch.ranked.push_back(
          {scorer == none ? 0.0f : scratch.blocks[answer++][scorer % 8], label});
    }
    const auto ranked = scratch.ranked.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto kept = std::min(k, scratch.candidates[i].labels.size());
    std::partial_sort(ranked, ranked + static_cast<std::ptrdiff_t>(kept), scratch.ranked.end(),
                      better);
    scratch.ranked.resize(begin + kept);
    scratch.ranked.resize(begin + k, missing);
  }
}

TreeView RecallTree::view() const {
  TreeView view{std::vector<std::uint32_t>(nodes(), none), std::vector<LabelId>(nodes(), no_label),
                total_, distinct_};
  for (std::uint32_t node = 0; node < nodes(); ++node) {
    if (top_[node].size() > 0) view.label[node] = top_[node].label(0);
    if (!is_leaf(node)) view.parent[left_[node]] = view.parent[right_[node]] = node;
  }
  return view;
}

void RecallTree::visit_state(StateVisitor& state) {
  TreeLearner::visit_state(state);
  state.value("passes", passes_);
  state.array("left", left_);
  state.array("right", right_);
  state.array("router", router_);
  state.array("scorer", scorer_);
  state.array("total", total_);
  state.array("distinct", distinct_);
  const bool learns = !bank_.params().frozen && !state.freezing();
  if (learns) {
    top_.visit_state(state, nodes(), labels());
    state.value("random", random_);
    state.array("depth", depth_);
    state.array("c_log_c", c_log_c_);
    state.array("node_label", node_labels_.keys());
    state.array("node_label_count", node_label_count_);
  } else {
    // More are never looked at: so many labels are asked for in all, and those known before are passed over.
    top_.visit_frozen(state, nodes(), labels(),
                      [&](std::size_t) { return params_.trees * candidate_count(); });
  }
  if (!state.restoring()) return;

  const auto require = StateVisitor::require;
  const std::size_t n = nodes();
  require(passes_ > 0, "the saved tree has learned in no pass");
  require(n >= params_.trees && right_.size() == n && router_.size() == n && total_.size() == n &&
              distinct_.size() == n && scorer_.size() == labels() &&
              (!learns || (depth_.size() == n && c_log_c_.size() == n &&
                           node_labels_.keys().size() == node_label_count_.size())),
          "the arrays of the saved tree differ in length");
  for (std::size_t node = 0; node < n; ++node) {
    if (left_[node] == none) continue;
    require(left_[node] > node && left_[node] < n && right_[node] > node && right_[node] < n &&
                router_[node] < bank_.models(),
            "the saved tree has a child that does not exist");
  }
  for (const std::uint32_t model : scorer_) {
    require(model == none || model < bank_.models(), "the saved tree has a scorer that is missing");
  }
  node_labels_.rebuild();
}

}  // namespace labeltree
