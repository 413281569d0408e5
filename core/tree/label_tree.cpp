#include "tree/label_tree.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <string>

namespace labeltree {
namespace {

constexpr float surest = 16.0f;  // log-odds beyond this are taken for this
constexpr float gap = 1.0f;      // how much less probable than the last found a label not found is

float log_odds(float log_probability) {
  const float rest = -std::expm1(log_probability);  // 1 - p
  if (!(rest > 0.0f)) return surest;
  return std::clamp(log_probability - std::log(rest), -surest, surest);
}

bool contains(std::span<const LabelId> labels, LabelId label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

}  // namespace

LabelTree::LabelTree(const BankParams& bank, const LabelTreeParams& params)
    : TreeLearner(bank), params_(params), index_(params.index_length, bank_.slots(), bank.frozen) {
  for (std::size_t tree = 0; tree < params.trees; ++tree) {
    trees_.emplace_back(params.alpha, params.exclusive, params.seed + tree);
  }
}

void LabelTree::resize(std::size_t labels) {
  TreeLearner::resize(labels);
  for (ChoiceTree& tree : trees_) tree.resize(labels);
  index_.resize(labels);
  scorer_.resize(labels, none);
}

// Scorers take their places in the order of the first tree: those of siblings, which are often
// candidates together, share their lines.
void LabelTree::organize(const Matrix& X, const LabelSets& y) {
  LabelClusters clusters(X, y, labels(), params_.seed);
  const std::size_t known = clusters.labels().size();
  bank_.reserve(8 * trees_.size() * ChoiceTree::inner_nodes(known) + (known + 7) / 8 * 8);
  for (ChoiceTree& tree : trees_) tree.organize(clusters, bank_);
  if (!params_.scorers || trees_.empty()) return;
  for (std::uint32_t node = 0; node < trees_[0].nodes(); ++node) {
    if (trees_[0].label(node) != no_label) add_scorer(trees_[0].label(node));
  }
}

void LabelTree::add_scorer(LabelId label) {
  if (next_scorer_ % 8 == 0) {
    next_scorer_ = static_cast<std::uint32_t>(8 * bank_.add_block());
  }
  scorer_[label] = next_scorer_++;
}

// Beside an index, nothing that proposes candidates changes in later passes, but for scorers that
// share a line of a hashed table with a tree.
void LabelTree::begin_pass(bool again, std::size_t rows) {
  const std::size_t kept = again && params_.index_length > 0 ? rows : 0;
  if (!again_ || kept != kept_.rows()) {
    kept_.reset(kept, trees_.size() * params_.tree_candidates + params_.index_candidates + 1);
  }
  again_ = again;
}

// Fills scratch.candidates, and scratch.evidence with what trees and index say for each.
void LabelTree::gather(std::size_t k, std::span<const LabelId> without, float weight,
                       Scratch& scratch) const {
  const Example x = scratch.examples[0];
  std::vector<LabelId>& candidates = scratch.candidates;
  std::vector<float>& evidence = scratch.evidence;
  candidates.clear();
  evidence.clear();
  scratch.scores.clear();
  const auto place = [&](LabelId label) {
    const auto at = static_cast<std::size_t>(
        std::find(candidates.begin(), candidates.end(), label) - candidates.begin());
    if (at == candidates.size()) {
      candidates.push_back(label);
      evidence.push_back(0.0f);
    }
    return at;
  };
  scratch.unfound = 0.0f;
  const std::size_t wanted = std::max(k, params_.tree_candidates);
  for (const ChoiceTree& tree : trees_) {
    scratch.found.clear();
    tree.search(x, wanted, std::max(k, params_.beam), bank_, counts_, scratch.beam, scratch.found);
    const float unfound =
        scratch.found.empty() ? -surest : log_odds(scratch.found.back().score - gap);
    const auto share = 1.0f / static_cast<float>(trees_.size());
    scratch.unfound += share * unfound;
    for (const ScoredLabel& found : scratch.found) {
      evidence[place(found.label)] += share * (log_odds(found.score) - unfound);
    }
  }
  std::shared_lock lock(index_mutex_, std::defer_lock);
  if (params_.index_length > 0) {
    lock.lock();
    LabelIndex::forget(scratch.similar);
    index_.find(x, std::max(k, params_.index_candidates), without, weight, scratch.similar);
    for (const Similar::Near& near : scratch.similar.near) {
      if (counts_[near.label] > 0.0) place(near.label);
    }
  }
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    evidence[i] = params_.tree_weight * evidence[i] + prior(candidates[i], scratch);
  }
}

// What trees that did not find a label, and the index, say for it.
float LabelTree::prior(LabelId label, const Scratch& scratch) const {
  const float of_trees = params_.tree_weight * scratch.unfound;
  return params_.index_length == 0
             ? of_trees
             : of_trees + params_.index_weight * index_.similarity(label, scratch.similar);
}

// Calls visit(block, candidates) for every block of scorers that has candidates, from the given
// one on, with a scorer.
template <class Visit>
void LabelTree::visit_blocks(std::size_t first, Scratch& scratch, Visit visit) const {
  std::vector<std::uint32_t>& order = scratch.order;
  order.clear();
  for (auto i = static_cast<std::uint32_t>(first); i < scratch.candidates.size(); ++i) {
    if (scorer_[scratch.candidates[i]] != none) order.push_back(i);
  }
  const auto model = [&](std::uint32_t i) { return scorer_[scratch.candidates[i]]; };
  std::sort(order.begin(), order.end(),
            [&](std::uint32_t a, std::uint32_t b) { return model(a) < model(b); });
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    const std::size_t block = model(order[begin]) / 8;
    while (end < order.size() && model(order[end]) / 8 == block) ++end;
    if (end < order.size()) bank_.prefetch(model(order[end]) / 8, scratch.examples[0]);
    visit(block, std::span<const std::uint32_t>(order.data() + begin, end - begin));
  }
}

// Sets scratch.scores to those of the candidates; such as are there stay.
void LabelTree::score(Scratch& scratch) const {
  const std::size_t known = scratch.scores.size();
  scratch.scores.insert(scratch.scores.end(),
                        scratch.evidence.begin() + static_cast<std::ptrdiff_t>(known),
                        scratch.evidence.end());
  if (!params_.scorers) return;
  visit_blocks(known, scratch, [&](std::size_t block, std::span<const std::uint32_t> members) {
    float p[8];
    bank_.predict8(block, scratch.examples[0], p);
    for (const std::uint32_t i : members) {
      scratch.scores[i] += p[scorer_[scratch.candidates[i]] % 8];
    }
  });
}

// Turns scores, largest first, into probabilities. Of labels that exclude each other, all that are
// no candidates have the share of the misses so far between them.
void LabelTree::normalize(std::vector<ScoredLabel>& scored) const {
  if (!params_.exclusive) {
    for (ScoredLabel& s : scored) {
      s.score = static_cast<float>(probability(Loss::logistic, s.score));
    }
    return;
  }
  double total = 0.0;
  for (const ScoredLabel& s : scored) total += std::exp(double{s.score} - scored[0].score);
  const double share = scored.size() == learned_labels() ? 1.0 : recall();
  const float largest = scored[0].score;
  for (ScoredLabel& s : scored) {
    s.score = static_cast<float>(share * std::exp(double{s.score} - largest) / total);
  }
}

void LabelTree::rank(std::size_t k, Scratch& scratch) const {
  gather(k, {}, 0.0f, scratch);
  score(scratch);
  scratch.path.clear();
  scratch.ranked.clear();
  for (std::size_t i = 0; i < scratch.candidates.size(); ++i) {
    scratch.ranked.push_back({scratch.scores[i], scratch.candidates[i]});
  }
  if (scratch.ranked.empty()) {  // only leaves not yet learned were found
    const auto any = std::find_if(counts_.begin(), counts_.end(), [](double c) { return c > 0.0; });
    scratch.ranked.push_back({0.0f, static_cast<LabelId>(any - counts_.begin())});
  }
  std::sort(scratch.ranked.begin(), scratch.ranked.end(),
            [](const ScoredLabel& a, const ScoredLabel& b) {
              return a.score != b.score ? a.score > b.score : a.label < b.label;
            });
  normalize(scratch.ranked);
  const LabelId best = scratch.ranked[0].label;
  scratch.ranked.resize(std::min(k, scratch.ranked.size()));
  std::uint32_t first = 0;  // node of the tree, in a numbering of all
  for (const ChoiceTree& tree : trees_) {
    const std::size_t begin = scratch.path.size();
    for (std::uint32_t node = tree.leaf(best); node != none; node = tree.parent(node)) {
      scratch.path.push_back(first + node);
    }
    std::reverse(scratch.path.begin() + static_cast<std::ptrdiff_t>(begin), scratch.path.end());
    first += static_cast<std::uint32_t>(tree.nodes());
  }
}

// Candidates that exclude each other learn by the gradient of their softmax, which is that of a
// logistic loss at the log-odds of their shares.
void LabelTree::train_scorers(std::span<const LabelId> y, float weight, Scratch& scratch) {
  score(scratch);
  std::vector<float>& scores = scratch.scores;
  if (params_.exclusive) {
    double total = 0.0;
    float largest = -std::numeric_limits<float>::infinity();
    for (const float s : scores) largest = std::max(largest, s);
    for (const float s : scores) total += std::exp(double{s} - largest);
    const auto log_total = static_cast<float>(std::log(total)) + largest;
    for (float& s : scores) s = log_odds(s - log_total);
  }
  visit_blocks(0, scratch, [&](std::size_t block, std::span<const std::uint32_t> members) {
    float p[8] = {}, target[8] = {};
    unsigned active = 0;
    for (const std::uint32_t i : members) {
      const LabelId label = scratch.candidates[i];
      const unsigned lane = scorer_[label] % 8;
      p[lane] = scores[i];
      target[lane] = contains(y, label) ? 1.0f : -1.0f;
      active |= 1u << lane;
    }
    bank_.learn8(block, scratch.examples[0], p, target, weight, params_.scorer, active);
  });
}

// Whether the labels of an example have their leaves, and its candidates their scorers.
bool LabelTree::has_places(std::span<const LabelId> y, const Scratch& scratch) const {
  for (const ChoiceTree& tree : trees_) {
    if (!std::all_of(y.begin(), y.end(), [&](LabelId label) { return tree.has(label); })) {
      return false;
    }
  }
  return !params_.scorers ||
         std::all_of(scratch.candidates.begin(), scratch.candidates.end(),
                     [&](LabelId label) { return scorer_[label] != none; });
}

// Makes the places that are missing.
void LabelTree::make_places(std::span<const LabelId> y, Scratch& scratch) {
  const std::unique_lock lock(growth_);
  for (const LabelId label : y) {
    for (ChoiceTree& tree : trees_) {
      if (!tree.has(label)) tree.insert(label, scratch.examples[0], bank_);
    }
  }
  if (!params_.scorers) return;
  for (const LabelId label : scratch.candidates) {
    if (scorer_[label] == none) add_scorer(label);
  }
  scratch.scores.clear();  // new scorers may have met others in a hashed table
}

// The true label learns even if it was missed. Of a set this would favour labels that are often
// missed: nothing weighs against it when they should not be predicted.
void LabelTree::add_missed(std::span<const LabelId> y, float weight, Scratch& scratch) {
  for (const LabelId label : y) {
    const bool found = contains(scratch.candidates, label);
    if (!again_) {
      std::atomic_ref(sought_).fetch_add(weight, std::memory_order_relaxed);
      if (found) std::atomic_ref(found_).fetch_add(weight, std::memory_order_relaxed);
    }
    if (!found && params_.exclusive && counts_[label] > 0.0) {
      std::shared_lock lock(index_mutex_, std::defer_lock);
      if (params_.index_length > 0) lock.lock();
      scratch.candidates.push_back(label);
      scratch.evidence.push_back(prior(label, scratch));
    }
  }
}

void LabelTree::learn_set(std::span<const LabelId> y, float weight, bool ranked,
                          Scratch& scratch) {
  const Example x = scratch.examples[0];
  std::shared_lock lock(growth_);
  if (again_ && !params_.scorers) {  // nothing would learn from candidates
    scratch.candidates.clear();
  } else if (kept_.has(scratch.row)) {
    kept_.restore(scratch.row, scratch.candidates, scratch.evidence);
    scratch.scores.clear();
  } else {
    if (!ranked || again_) {  // in a later pass the index has the example already: leave it out
      gather(0, again_ ? y : std::span<const LabelId>{}, weight, scratch);
    }
    add_missed(y, weight, scratch);
    kept_.keep(scratch.row, scratch.candidates, scratch.evidence);
  }
  if (!has_places(y, scratch)) {
    lock.unlock();
    make_places(y, scratch);
    lock.lock();
  }
  if (params_.scorers) train_scorers(y, weight, scratch);
  const bool indexed = params_.index_length > 0;
  if (!indexed || !again_) {  // beside an index, trees that see a row again only learn it by heart
    for (const ChoiceTree& tree : trees_) {
      tree.learn(y, x, weight, params_.tree, bank_, scratch.below, scratch.above);
    }
  }
  for (const LabelId label : y) count(label, weight);
  if (!indexed || again_) return;
  const std::unique_lock adding(index_mutex_);
  for (const LabelId label : y) index_.add(label, x, weight);
}

void LabelTree::label_probability(const Matrix& X, const LabelId* labels,
                                  float* probability) const {
  ExampleBuffer examples;
  for (std::size_t row = 0; row < X.rows; ++row) {
    probability[row] = 0.0f;
    if (counts_[labels[row]] == 0.0) continue;
    examples.clear();
    bank_.encode(X, row, examples);
    float sum = 0.0f;
    for (const ChoiceTree& tree : trees_) {
      sum += tree.log_probability(labels[row], examples[0], bank_);
    }
    probability[row] = std::exp(sum / static_cast<float>(trees_.size()));
  }
}

TreeView LabelTree::view() const {
  TreeView view;
  for (const ChoiceTree& tree : trees_) {
    const auto first = static_cast<std::uint32_t>(view.parent.size());
    view.weight.resize(first + tree.nodes(), 0.0);
    for (std::uint32_t node = 0; node < tree.nodes(); ++node) {
      view.parent.push_back(tree.parent(node) == none ? no_node : first + tree.parent(node));
      view.label.push_back(tree.label(node));
      view.distinct.push_back(tree.leaves(node));
    }
    for (std::uint32_t node = static_cast<std::uint32_t>(tree.nodes()); node-- > 0;) {
      if (tree.label(node) != no_label) view.weight[first + node] = counts_[tree.label(node)];
      if (tree.parent(node) != none) {
        view.weight[first + tree.parent(node)] += view.weight[first + node];
      }
    }
  }
  return view;
}

void LabelTree::visit_state(StateVisitor& state) {
  TreeLearner::visit_state(state);
  for (std::size_t tree = 0; tree < trees_.size(); ++tree) {
    trees_[tree].visit_state(state, "tree" + std::to_string(tree) + "_", labels(), bank_.models());
  }
  index_.visit_state(state, labels());
  state.array("scorer", scorer_);
  state.value("next_scorer", next_scorer_);
  state.value("sought", sought_);
  state.value("found", found_);
  state.value("again", again_);
  if (!state.restoring()) return;
  const auto require = StateVisitor::require;
  require(scorer_.size() == labels() && next_scorer_ <= bank_.models() && bank_.models() % 8 == 0,
          "the arrays of the saved scorers differ in length");
  require(found_ >= 0.0 && found_ <= sought_ && std::isfinite(sought_),
          "the saved model has found more labels than it sought");
  for (const std::uint32_t model : scorer_) {
    require(model == none || model < bank_.models(), "the saved model has a scorer that is missing");
  }
  for (std::size_t label = 0; label < labels(); ++label) {
    for (const ChoiceTree& tree : trees_) {
      require(counts_[label] == 0.0 || tree.has(static_cast<LabelId>(label)),
              "the saved tree has a label without a leaf");
    }
  }
}

}  // namespace labeltree
