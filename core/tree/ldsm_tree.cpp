#include "tree/ldsm_tree.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <queue>
#include <utility>

#include "hash.hpp"

namespace labeltree {

LdsmTree::LdsmTree(const LdsmParams& params, std::uint64_t seed) : params_(params), seed_(seed) {
  nodes_.emplace_back();
}

void LdsmTree::count(Node& node, const LdsmExample& x) {
  node.weight += x.weight;
  node.mass += x.mass();
  for (const LabelId label : x.labels) node.histogram.add(label, x.weight, params_.top_labels);
}

void LdsmTree::count_all(Node& node, std::span<const LdsmExample> all,
                         std::span<const std::uint32_t> ids) {
  std::vector<std::pair<LabelId, double>> weights;
  for (const std::uint32_t id : ids) {
    node.weight += all[id].weight;
    node.mass += all[id].mass();
    for (const LabelId label : all[id].labels) weights.emplace_back(label, all[id].weight);
  }
  node.histogram = LabelCounts(std::move(weights));
  node.histogram.prune(params_.top_labels);
}

double LdsmTree::priority(const Node& node) const {
  if (params_.priority == LdsmPriority::rows) return node.weight;
  return node.mass - node.histogram.of(node.histogram.most_frequent());
}

// Algorithms 4 and 5. The node stays a leaf if a child would get nearly all of its examples: such
// splits peel a few examples off, one after the other, and use up the nodes.
bool LdsmTree::split(std::uint32_t node, const LdsmExamples& examples,
                     std::span<const std::uint32_t> places, LdsmTrainer& trainer,
                     const StopRequested& stop) {
  if (!trainer.train(examples.all, places, examples.rate, mix64(seed_ + node + 1), stop)) return false;
  const std::vector<unsigned>& sent = trainer.sent();
  for (std::size_t m = 0; m < params_.arity; ++m) {
    const auto share = std::count_if(sent.begin(), sent.end(),
                                     [&](unsigned s) { return (s >> m & 1) != 0; });
    if (static_cast<std::size_t>(share) == sent.size() ||
        static_cast<double>(share) > params_.max_share * static_cast<double>(sent.size()) ||
        (share == 0 && !params_.empty_children)) {
      return false;
    }
  }
  nodes_[node].regressors = trainer.regressors(examples.scale);
  const auto children = static_cast<std::uint32_t>(nodes_.size());
  for (std::size_t m = 0; m < params_.arity; ++m) nodes_.push_back({.parent = node});
  nodes_[node].children = children;
  return true;
}

void LdsmTree::fit(const LdsmExamples& examples, LdsmTrainer& trainer, const StopRequested& stop) {
  // Each tree sees the examples in an order of its own.
  std::vector<std::uint32_t> all(examples.all.size());
  std::iota(all.begin(), all.end(), 0u);
  std::uint64_t random = seed_;
  shuffle(std::span(all), random);
  count_all(nodes_[0], examples.all, all);

  std::vector<std::vector<std::uint32_t>> reached(1);  // I of each leaf
  reached[0] = std::move(all);
  // The leaf of highest priority first; of equals, the oldest.
  std::priority_queue<std::pair<double, std::int64_t>> first;
  first.emplace(nodes_[0].weight, 0);
  while (!first.empty() && has_room()) {
    const auto node = static_cast<std::uint32_t>(-first.top().second);
    first.pop();
    const std::vector<std::uint32_t> ids = std::move(reached[node]);
    if (!split(node, examples, ids, trainer, stop)) {
      if (stop()) return;
      continue;
    }
    reached.resize(nodes_.size());
    const std::uint32_t children = nodes_[node].children;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      for (unsigned s = trainer.sent()[i]; s != 0; s &= s - 1) {
        const std::uint32_t child = children + static_cast<std::uint32_t>(std::countr_zero(s));
        reached[child].push_back(ids[i]);
      }
    }
    for (std::uint32_t child = children; child < nodes_.size(); ++child) {
      count_all(nodes_[child], examples.all, reached[child]);
      if (reached[child].size() >= std::max<std::size_t>(2, params_.min_leaf)) {
        first.emplace(priority(nodes_[child]), -static_cast<std::int64_t>(child));
      }
    }
    note_reached(nodes_[node]);
  }
  nodes_.shrink_to_fit();
}

// Algorithm 3 with what the histograms tell: P_m^k is the share of the examples with label k that
// child m received.
unsigned LdsmTree::direction(const Node& node, const LdsmExample& x) const {
  LdsmObjective objective(params_.arity, params_.lambda1, params_.lambda2);
  Sent sent{};
  for (std::size_t m = 0; m < params_.arity; ++m) sent[m] = nodes_[node.children + m].mass;
  objective.begin(sent, node.mass, x.mass());
  for (const LabelId label : x.labels) {
    Sent label_sent{};
    for (std::size_t m = 0; m < params_.arity; ++m) {
      label_sent[m] = nodes_[node.children + m].histogram.of(label);
    }
    objective.add_label(label_sent.data(), x.weight);
  }
  return objective.best();
}

void LdsmTree::learn(const LdsmExamples& examples, std::uint64_t number, LdsmTrainer& trainer) {
  const LdsmExample& x = examples.all[number % examples.all.size()];
  std::vector<std::uint32_t> open{0};
  while (!open.empty()) {
    const std::uint32_t v = open.back();
    open.pop_back();
    Node& node = nodes_[v];
    count(node, x);
    if (is_leaf(v)) {
      if (!has_room()) continue;
      node.recent.push_back(number);
      if (node.recent.size() < params_.split_rows) continue;
      std::erase_if(node.recent, [&](std::uint64_t i) { return i < examples.first; });
      if (node.recent.size() >= params_.split_rows) split_online(v, examples, trainer);
      continue;
    }
    Scores p = node.regressors.scores(x);
    if (!x.labels.empty()) {
      // The steps shrink as the node sees more, and are measured in examples of average length.
      const float step = params_.step * examples.rate * examples.rate /
                         static_cast<float>(std::sqrt(1.0 + node.weight));
      node.regressors.learn(x, p, direction(node, x), step);
      p = node.regressors.scores(x);
    }
    const unsigned sent = route(p, (1u << params_.arity) - 1);
    node.reached |= sent;
    for (unsigned s = sent; s != 0; s &= s - 1) {
      open.push_back(node.children + static_cast<std::uint32_t>(std::countr_zero(s)));
    }
  }
}

// Splits a leaf by its recent examples. What it had counted before them is shared among the
// children as the recent examples with the same label are, or as all recent ones are.
void LdsmTree::split_online(std::uint32_t node, const LdsmExamples& examples,
                            LdsmTrainer& trainer) {
  std::vector<std::uint64_t> recent = std::move(nodes_[node].recent);
  nodes_[node].recent = {};  // a leaf that cannot be split gathers new examples first
  // In an order of the tree's own: it is all that makes the trees of a forest differ.
  std::sort(recent.begin(), recent.end(), [&](std::uint64_t a, std::uint64_t b) {
    return mix64(seed_ + a) < mix64(seed_ + b);
  });
  std::vector<std::uint32_t> places;
  for (const std::uint64_t i : recent) {
    places.push_back(static_cast<std::uint32_t>(i % examples.all.size()));
  }
  if (!split(node, examples, places, trainer, [] { return false; })) return;
  Node& parent = nodes_[node];
  Node gathered{.parent = node};
  for (std::size_t i = 0; i < places.size(); ++i) {
    const LdsmExample& x = examples.all[places[i]];
    count(gathered, x);
    for (unsigned s = trainer.sent()[i]; s != 0; s &= s - 1) {
      Node& child = nodes_[parent.children + static_cast<std::uint32_t>(std::countr_zero(s))];
      count(child, x);
      child.recent.push_back(recent[i]);
    }
  }
  note_reached(parent);
  const double older = std::max(0.0, parent.weight - gathered.weight);
  const double older_mass = std::max(0.0, parent.mass - gathered.mass);
  for (std::size_t m = 0; m < params_.arity; ++m) {
    Node& child = nodes_[parent.children + m];
    if (child.weight == 0.0) continue;
    const double share = child.weight / gathered.weight;
    for (std::size_t i = 0; i < parent.histogram.size(); ++i) {
      const LabelId label = parent.histogram.label(i);
      const double before = parent.histogram.count(i) - gathered.histogram.of(label);
      if (before <= 0.0) continue;
      const double known = gathered.histogram.of(label);
      const double part = known > 0.0 ? child.histogram.of(label) / known : share;
      if (part > 0.0) child.histogram.add(label, before * part, params_.top_labels);
    }
    child.weight += older * share;
    child.mass += older_mass * share;
  }
}

// Of an inner node whose children have changed.
void LdsmTree::note_reached(Node& node) const {
  node.reached = 0;
  for (std::size_t m = 0; m < params_.arity; ++m) {
    if (nodes_[node.children + m].weight > 0.0) node.reached |= 1u << m;
  }
}

void LdsmTree::assign(std::vector<Node> nodes) {
  nodes_ = std::move(nodes);
  for (Node& node : nodes_) {
    if (node.children != 0) note_reached(node);
  }
}

void LdsmTree::descend(std::span<const LdsmExample> examples, Descent& d) const {
  const auto n = static_cast<std::uint32_t>(examples.size());
  d.reached.clear();
  d.rows.resize(n);
  std::iota(d.rows.begin(), d.rows.end(), 0u);
  d.groups.assign(1, {0, 0, n});
  for (std::size_t i = 0; i < d.groups.size(); ++i) {
    const Descent::Group group = d.groups[i];
    const Node& node = nodes_[group.node];
    if (is_leaf(group.node)) {
      for (std::uint32_t j = group.begin; j < group.end; ++j) {
        d.reached.push_back({d.rows[j], group.node});
      }
      continue;
    }
    d.sent.clear();  // a child without examples knows nothing to predict
    for (std::uint32_t j = group.begin; j < group.end; ++j) {
      d.sent.push_back(route(node.regressors.scores(examples[d.rows[j]]), node.reached));
    }
    for (std::uint32_t m = 0; m < params_.arity; ++m) {
      const auto begin = static_cast<std::uint32_t>(d.rows.size());
      for (std::uint32_t j = group.begin; j < group.end; ++j) {
        if (d.sent[j - group.begin] >> m & 1) d.rows.push_back(d.rows[j]);
      }
      const auto end = static_cast<std::uint32_t>(d.rows.size());
      if (end > begin) d.groups.push_back({node.children + m, begin, end});
    }
  }
}

std::vector<std::uint32_t> LdsmTree::path(const LdsmExample& x) const {
  std::vector<std::uint32_t> path{0};
  while (!is_leaf(path.back())) {
    const Node& node = nodes_[path.back()];
    const Scores p = node.regressors.scores(x);
    std::uint32_t best = std::countr_zero(node.reached);
    for (std::uint32_t m = best; m < params_.arity; ++m) {
      if ((node.reached >> m & 1) && p[m] > p[best]) best = m;
    }
    path.push_back(node.children + best);
  }
  return path;
}

}  // namespace labeltree
