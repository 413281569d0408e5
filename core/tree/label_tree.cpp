#include "tree/label_tree.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>

#include "hash.hpp"
#include "relaxed.hpp"
#include "tree/log_odds.hpp"

namespace labeltree {

namespace {

// Steps of models are counted where plain steps shrink.
BankParams without_counts(BankParams bank, const LabelTreeParams& params) {
  bank.step_counts = params.tree.power != 0.0f || params.scorer.power != 0.0f;
  return bank;
}

}  // namespace

LabelTree::LabelTree(const BankParams& bank, const LabelTreeParams& params)
    : TreeLearner(without_counts(bank, params)),
      params_(params),
      index_(params.index_length, bank_.slots(), bank.frozen),
      confidence_(params.exclusive, params.slope, params.shift),
      reservoir_(params.replay, params.seed) {
  trees_ = make_trees();
}

std::vector<ChoiceTree> LabelTree::make_trees() const {
  std::vector<ChoiceTree> trees;
  for (std::size_t tree = 0; tree < params_.trees; ++tree) {
    trees.emplace_back(params_.alpha, params_.exclusive, is_dual() ? params_.slope : 1.0f,
                       params_.seed + tree);
    trees.back().resize(labels());
  }
  return trees;
}

void LabelTree::set_labels(std::size_t labels) {
  TreeLearner::set_labels(labels);
  for (ChoiceTree& tree : trees_) tree.resize(labels);
  regrowth_.resize(labels);
  index_.resize(labels);
  scorer_.resize(labels, none);
  if (params_.stamps) last_seen_.resize(labels, 0);
}

// Scorers take their places in the order of the first tree: those of siblings, which are often
// candidates together, share their lines.
void LabelTree::organize(const Matrix& X, const LabelSets& y) {
  LabelClusters clusters(labels(), params_.seed, Pace(Pace::without_pause));
  const LabelledRows rows = labelled_rows(X, y);
  clusters.gather(rows, bank_).finish();
  const std::size_t known = clusters.labels().size();
  const std::size_t scorers = params_.scorers ? (known + 7) / 8 * 8 : 0;
  bank_.reserve(8 * trees_.size() * ChoiceTree::inner_nodes(known) + scorers);
  for (ChoiceTree& tree : trees_) {
    tree.organize(clusters).finish();
    for (std::size_t inner = 0; inner < tree.blocks().size(); ++inner) {
      tree.set_block(inner, static_cast<std::uint32_t>(bank_.add_block()));
    }
  }
  if (!params_.scorers || trees_.empty()) return;
  for (std::uint32_t node = 0; node < trees_[0].nodes(); ++node) {
    if (trees_[0].label(node) != no_label) add_scorer(trees_[0].label(node));
  }
}

void LabelTree::add_scorer(LabelId label) {
  if (!spare_scorers_.empty()) {
    scorer_[label] = spare_scorers_.back();
    spare_scorers_.pop_back();
    return;
  }
  if (next_scorer_ % 8 == 0) {
    next_scorer_ = static_cast<std::uint32_t>(8 * bank_.add_block());
  }
  scorer_[label] = next_scorer_++;
}

// Beside an index, nothing that proposes candidates changes in later passes, but for scorers that
// share a line of a hashed table with a tree.
void LabelTree::start_pass(bool again, std::size_t rows, bool more) {
  TreeLearner::start_pass(again, rows, more);
  more_ = more;
  if (is_dual()) {
    if (!again) pairs_.reset();
    if (again || more) pairs_.resize(rows);
    again_ = again ? again_ + 1 : 0;
    return;
  }
  const bool third = more || kept_.rows() > 0;  // a pass that gains from what is kept
  const std::size_t kept = again && third && params_.index_length > 0 ? rows : 0;
  if (!again_ || kept != kept_.rows()) {
    kept_.reset(kept, most_candidates());
  }
  again_ = again;
}

void LabelTree::learn(const Matrix& X, const LabelSets& y, const float* weight,
                      const std::int64_t* order, std::size_t n, std::size_t threads,
                      LabelId* predicted, float* probability, const StopRequested& stop) {
  if (is_dual() && (again_ || more_) && !one_matrix_) {
    std::size_t largest = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const auto row = static_cast<std::size_t>(order[i]);
      largest = std::max(largest, number(X, row, i));
      if (weight != nullptr && weight[row] == 0.0f) continue;
      if (again_ && !pairs_.may_be(number(X, row, i), y[row])) {
        throw std::invalid_argument(
            "row " + std::to_string(number(X, row, i)) +
            " has other labels than in the pass before: rows come in another order; bring them in "
            "the same order in every pass, or tell which they are by row_numbers");
      }
    }
    if (n > 0) pairs_.resize(largest + 1);
  }
  TreeLearner::learn(X, y, weight, order, n, threads, predicted, probability, stop);
}

// Exact steps fit the rows that they have seen so closely that what a model says of these tells little of
// others. One row in sixteen therefore waits until the third pass, or the last, of several: what
// the model says of it then is what it would say of a new one.
bool LabelTree::is_late(std::size_t row) const {
  constexpr std::size_t few = 256;  // of which none can be spared
  return is_dual() && params_.calibrated && (again_ || more_) && row >= few && mix64(row) % 16 == 0;
}

// Learns what the scores of an example's candidates were worth.
void LabelTree::note_confidence(std::span<const LabelId> y, float weight, Scratch& scratch) {
  Candidates& candidates = scratch.candidates[0];
  candidates.hopeful = candidates.labels.size();
  score(scratch);
  const std::unique_lock lock(confidence_lock_);
  confidence_.note(candidates.labels, candidates.scores, y, weight, scratch.values);
}

// Candidates that exclude each other learn by the gradient of their softmax, which is that of a
// logistic loss at the log-odds of their shares.
void LabelTree::train_scorers(std::span<const LabelId> y, float weight, Scratch& scratch) {
  auto& [labels, evidence, unfound, scores, hopeful] = scratch.candidates[0];
  hopeful = labels.size();  // all learn
  score(scratch);
  if (params_.exclusive && !scores.empty()) {
    const std::size_t n = scores.size();
    scores.resize((n + 7) / 8 * 8, no_share);
    const auto best = std::max_element(scores.begin(), scores.end()) - scores.begin();
    to_log_odds_of_shares(scores.data(), scores.size(), static_cast<std::size_t>(best));
    scores.resize(n);
  }
  std::vector<std::uint32_t>& order = scratch.order;
  order.resize(labels.size());
  std::iota(order.begin(), order.end(), 0u);
  const auto model = [&, &labels = labels](std::uint32_t c) { return scorer_[labels[c]]; };
  std::sort(order.begin(), order.end(),
            [&](std::uint32_t a, std::uint32_t b) { return model(a) < model(b); });
  for (std::size_t next = 0; next < order.size();) {
    const std::size_t block = model(order[next]) / 8;
    float p[8] = {}, target[8] = {};
    unsigned active = 0;
    for (; next < order.size() && model(order[next]) / 8 == block; ++next) {
      const unsigned lane = model(order[next]) % 8;
      p[lane] = scores[order[next]];
      target[lane] = contains(y, labels[order[next]]) ? 1.0f : -1.0f;
      active |= 1u << lane;
    }
    bank_.learn8(block, scratch.examples[0], p, target, weight, params_.scorer, active);
  }
}

void LabelTree::train_trees(std::span<const LabelId> y, float weight, Scratch& scratch) {
  for (const ChoiceTree& tree : trees_) {
    tree.learn(y, scratch.examples, weight, params_.tree, bank_, scratch.above, scratch.blocks);
  }
}

// The models that a row is shown to are its candidates' scorers and those of the nodes above its labels;
// from the third pass on, where they are settled, just those that it was shown to before. A row that
// is not kept starts from zero every time.
void LabelTree::learn_pairs(std::span<const LabelId> y, float weight, bool settled,
                            Scratch& scratch) {
  RowPairs& pairs = scratch.pairs;
  if (!settled) {
    if (params_.scorers) {
      for (const LabelId label : scratch.candidates[0].labels) {
        pairs.add(scorer_[label], contains(y, label));
      }
    }
    for (const ChoiceTree& tree : trees_) tree.add_pairs(y, scratch.above, pairs);
    pairs.settle();
  }
  pairs.learn(scratch.examples, weight, params_.scorer, bank_, scratch.blocks);
}

// Whether the labels of an example have their leaves, and its candidates their scorers.
bool LabelTree::has_places(std::span<const LabelId> y, const Scratch& scratch) const {
  const std::vector<LabelId>& candidates = scratch.candidates[0].labels;
  for (const ChoiceTree& tree : trees_) {
    if (!std::all_of(y.begin(), y.end(), [&](LabelId label) { return tree.has(label); })) {
      return false;
    }
  }
  return !params_.scorers ||
         std::all_of(candidates.begin(), candidates.end(),
                     [&](LabelId label) { return scorer_[label] != none; });
}

// Makes the places that are missing, if any, while nobody else learns.
void LabelTree::make_places(std::span<const LabelId> y, std::shared_lock<std::shared_mutex>& shared,
                            Scratch& scratch) {
  while (!has_places(y, scratch)) {  // nor any more, if others have exchanged the trees meanwhile
    shared.unlock();
    add_places(y, scratch);
    shared.lock();
  }
}

void LabelTree::add_places(std::span<const LabelId> y, Scratch& scratch) {
  const std::unique_lock lock(growth_);
  for (const LabelId label : y) {
    for (ChoiceTree& tree : trees_) {
      if (!tree.has(label)) tree.insert(label, scratch.examples[0], bank_);
    }
  }
  if (!params_.scorers) return;
  for (const LabelId label : scratch.candidates[0].labels) {
    if (scorer_[label] == none) add_scorer(label);
  }
  scratch.candidates[0].scores.clear();  // new scorers may have met others in a hashed table
}

// The true label learns even if it was missed. Of a set this would favour labels that are often
// missed: nothing weighs against it when they should not be predicted.
void LabelTree::add_missed(std::span<const LabelId> y, Candidates& candidates,
                           const Similar& similar) const {
  if (!params_.exclusive && !is_dual()) return;
  for (const LabelId label : y) {
    if (contains(candidates.labels, label) || read_relaxed(counts_[label]) == 0.0) continue;
    const auto lock = lock_index();
    candidates.evidence[candidates.place(label)] = prior(label, candidates.unfound, similar);
  }
}

void LabelTree::count_found(std::span<const LabelId> y, float weight, const Scratch& scratch) {
  for (const LabelId label : y) {
    std::atomic_ref(sought_).fetch_add(weight, std::memory_order_relaxed);
    if (!contains(scratch.candidates[0].labels, label)) continue;
    std::atomic_ref(found_).fetch_add(weight, std::memory_order_relaxed);
  }
}

void LabelTree::learn_set(std::span<const LabelId> y, float weight, bool ranked,
                          Scratch& scratch) {
  if (is_held_back(scratch.row)) return;
  const bool is_first = is_new(scratch.row);
  std::shared_lock lock(growth_);
  scratch.candidates.resize(std::max<std::size_t>(scratch.candidates.size(), 1));
  Candidates& candidates = scratch.candidates[0];
  const bool settled = is_dual() && again_ > 1 && pairs_.is_settled(scratch.row);
  if (settled || (again_ && !params_.scorers)) {  // nothing would learn from candidates
    candidates.clear();
  } else if (kept_.has(scratch.row)) {
    kept_.restore(scratch.row, candidates.labels, candidates.evidence);
    candidates.scores.clear();
  } else {
    if (!ranked || again_) {  // in a later pass the index has the example already: leave it out
      gather(0, is_first ? std::span<const LabelId>{} : y, weight, scratch);
    }
    if (params_.calibrated && is_first && (!is_dual() || again_ || !more_)) {
      note_confidence(y, weight, scratch);
    }
    if (is_first) count_found(y, weight, scratch);
    add_missed(y, candidates, scratch.similar);
    kept_.keep(scratch.row, candidates.labels, candidates.evidence);
  }
  make_places(y, lock, scratch);
  const bool indexed = params_.index_length > 0;
  if (is_dual()) {
    scratch.pairs.assign(pairs_.of(scratch.row));
    learn_pairs(y, weight, settled, scratch);
    if (again_ || more_) pairs_.keep(scratch.row, y, scratch.pairs);
  } else if (params_.scorers) {
    train_scorers(y, weight, scratch);
  }
  if (!is_dual() && (!indexed || !again_)) {  // beside an index, trees that see a row again only learn it by heart
    train_trees(y, weight, scratch);
  }
  if (params_.stamps) {
    for (const LabelId label : y) {
      std::atomic_ref(last_seen_[label]).store(examples() + 1, std::memory_order_relaxed);
    }
  }
  for (const LabelId label : y) {
    const bool seen = count(label, weight);
    if (!indexed || (seen && !is_first)) continue;
    const std::unique_lock adding(index_lock_);
    index_.add(label, scratch.examples[0], weight);
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

void LabelTree::visit_rows(StateVisitor& state) {
  if (is_dual()) {
    pairs_.visit_state(state, bank_.models());
  } else {
    kept_.visit_state(state, most_candidates(), labels());
  }
}

void LabelTree::visit_state(StateVisitor& state) {
  TreeLearner::visit_state(state);
  const bool learns = !bank_.params().frozen && !state.freezing();
  for (std::size_t tree = 0; tree < trees_.size(); ++tree) {
    trees_[tree].visit_state(state, "tree" + std::to_string(tree) + "_", labels(), bank_.models());
  }
  index_.visit_state(state, labels());
  state.array("scorer", scorer_);
  state.value("next_scorer", next_scorer_);
  if (learns) state.optional("scorer_spare", spare_scorers_);
  if (learns && params_.stamps) state.array("last_seen", last_seen_);
  state.value("sought", sought_);
  state.value("found", found_);
  state.value("again", again_);
  if (params_.calibrated) {
    confidence_.visit_state(state, learns);
  }
  if (learns && (is_dual() || reservoir_.is_kept())) state.value("more", more_);
  if (learns && is_dual()) {
    state.value("passed", passed_);
    pairs_.visit_state(state, bank_.models());
  }
  if (learns && reservoir_.is_kept()) {
    reservoir_.visit_state(state, bank_.params().features, labels(), bank_.models());
    if (regrows()) regrowth_.visit_state(state, labels(), bank_.models(), make_trees());
  }
  if (!state.restoring()) return;
  const auto require = StateVisitor::require;
  require(scorer_.size() == labels() && next_scorer_ <= bank_.models() && bank_.models() % 8 == 0,
          "the arrays of the saved scorers differ in length");
  require(found_ >= 0.0 && found_ <= sought_ && std::isfinite(sought_),
          "the saved model has found more labels than it sought");
  require(last_seen_.size() == (learns && params_.stamps ? labels() : 0),
          "the saved model does not tell when each label was last seen");
  for (const std::uint32_t model : spare_scorers_) {
    require(model < bank_.models(), "the saved model has a spare scorer that is missing");
  }
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
