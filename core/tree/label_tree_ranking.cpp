// What a label tree says of rows: candidates, their scores, and their order.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "relaxed.hpp"
#include "tree/label_tree.hpp"
#include "tree/log_odds.hpp"

namespace labeltree {
namespace {

constexpr float gap = 1.0f;  // how much less probable than the last found a label not found is

}  // namespace

// Finds the candidates of all examples, at least k of each if there are as many, with what trees and
// index say for each. `without` is for one example only.
void LabelTree::gather(std::size_t k, std::span<const LabelId> without, float weight,
                       Scratch& scratch) const {
  search(k, scratch);
  for (std::size_t i = 0; i < scratch.examples.size(); ++i) look_up(k, i, without, weight, scratch);
}

// What the trees find, and how much more they say for it than for what they do not find.
void LabelTree::search(std::size_t k, Scratch& scratch) const {
  const std::size_t examples = scratch.examples.size();
  scratch.candidates.resize(std::max(scratch.candidates.size(), examples));
  for (std::size_t i = 0; i < examples; ++i) scratch.candidates[i].clear();
  const auto share = 1.0f / static_cast<float>(trees_.size());
  const Breadth breadth{std::max(k, params_.tree_candidates), std::max(k, params_.beam),
                        -std::log(params_.improbable), std::max(k, usual)};
  for (const ChoiceTree& tree : trees_) {
    tree.search(scratch.examples, breadth, bank_, counts_, scratch.beam, scratch.blocks);
    for (std::size_t i = 0; i < examples; ++i) {
      const std::vector<Reached>& leaves = scratch.beam.leaves[i];
      Candidates& candidates = scratch.candidates[i];
      if (leaves.empty()) {
        candidates.unfound -= share * surest;
        continue;
      }
      std::vector<float>& odds = scratch.values;
      odds.resize((leaves.size() + 8) / 8 * 8, -1.0f);
      for (std::size_t leaf = 0; leaf < leaves.size(); ++leaf) {
        odds[leaf] = leaves[leaf].log_probability;
      }
      odds[leaves.size()] = leaves.back().log_probability - gap;
      to_log_odds(odds.data(), odds.size());
      const float unfound = odds[leaves.size()];
      candidates.unfound += share * unfound;
      for (std::size_t leaf = 0; leaf < leaves.size(); ++leaf) {
        const LabelId label = tree.label(leaves[leaf].node);
        const float evidence = share * (odds[leaf] - unfound);
        if (&tree == &trees_[0]) {
          candidates.append(label, evidence);
        } else {
          candidates.evidence[candidates.place(label)] += evidence;
        }
      }
    }
  }
}

// Adds to what the trees have found for an example what the index finds, and says for each. Of the labels
// in `without` it is taken out of the index, where it has the given weight.
void LabelTree::look_up(std::size_t k, std::size_t example, std::span<const LabelId> without,
                        float weight, Scratch& scratch) const {
  const auto lock = lock_index();
  Candidates& candidates = scratch.candidates[example];
  if (params_.index_length > 0) {
    LabelIndex::forget(scratch.similar);
    index_.find(scratch.examples[example], std::max(k, params_.index_candidates), without, weight,
                scratch.similar);
    for (const Similar::Near& near : scratch.similar.near) {
      if (read_relaxed(counts_[near.label]) > 0.0) candidates.place(near.label);
    }
  }
  for (std::size_t c = 0; c < candidates.labels.size(); ++c) {
    candidates.evidence[c] = params_.tree_weight * candidates.evidence[c] +
                             prior(candidates.labels[c], candidates.unfound, scratch.similar);
  }
}

std::size_t LabelTree::rows_at_once(std::size_t threads) const {
  return keeps_candidates() ? looked_up_together : TreeLearner::rows_at_once(threads);
}

// Candidates of several rows are found in less time together.
void LabelTree::before_rows(const Matrix& X, const LabelSets& y, const float* weight,
                            std::span<const std::int64_t> rows, std::size_t first,
                            Scratch& scratch) {
  if (!keeps_candidates()) return;
  scratch.examples.clear();
  std::vector<std::uint32_t>& places = scratch.order;
  places.clear();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto row = static_cast<std::size_t>(rows[i]);
    if (y[row].empty() || (weight != nullptr && weight[row] == 0.0f)) continue;
    if (kept_.has(number(X, row, first + i))) continue;
    bank_.encode(X, row, scratch.examples);
    places.push_back(static_cast<std::uint32_t>(i));
  }
  if (places.empty()) return;
  const std::shared_lock lock(growth_);
  search(0, scratch);
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto row = static_cast<std::size_t>(rows[places[i]]);
    look_up(0, i, y[row], weight == nullptr ? 1.0f : weight[row], scratch);
    Candidates& candidates = scratch.candidates[i];
    add_missed(y[row], candidates, scratch.similar);
    kept_.keep(number(X, row, first + places[i]), candidates.labels, candidates.evidence);
  }
}

// Nothing is locked where there is no index, or nobody changes it.
std::shared_lock<ShortLock> LabelTree::lock_index() const {
  return params_.index_length > 0 && together_ ? std::shared_lock(index_lock_)
                                               : std::shared_lock<ShortLock>();
}

// What trees that did not find a label, and the index, say for it.
float LabelTree::prior(LabelId label, float unfound, const Similar& similar) const {
  const float of_trees = params_.tree_weight * unfound;
  return params_.index_length == 0
             ? of_trees
             : of_trees + params_.index_weight * index_.similarity(label, similar);
}

// Scores the hopeful candidates of all examples that have no score yet.
void LabelTree::score(Scratch& scratch) const {
  const auto has_scorer = [&](LabelId label) { return params_.scorers && scorer_[label] != none; };
  const std::size_t examples = scratch.examples.size();
  scratch.blocks.clear();
  for (std::size_t i = 0; i < examples; ++i) {
    const auto& [labels, evidence, unfound, scores, hopeful] = scratch.candidates[i];
    for (std::size_t c = scores.size(); c < hopeful; ++c) {
      if (has_scorer(labels[c])) scratch.blocks.ask(scorer_[labels[c]] / 8, i);
    }
  }
  scratch.blocks.answer(bank_, scratch.examples);
  for (std::size_t i = 0, answer = 0; i < examples; ++i) {
    auto& [labels, evidence, unfound, scores, hopeful] = scratch.candidates[i];
    for (std::size_t c = scores.size(); c < hopeful; ++c) {
      scores.push_back(evidence[c]);
      if (has_scorer(labels[c])) scores[c] += scratch.blocks[answer++][scorer_[labels[c]] % 8];
    }
  }
}

// Makes k labels of each example hopeful, and finds more where there are fewer.
void LabelTree::widen(std::size_t k, Scratch& scratch) const {
  const std::size_t enough = std::min(k, learned_labels());
  const auto has_few = [&](const Candidates& c) { return c.labels.size() < enough; };
  const auto end =
      scratch.candidates.begin() + static_cast<std::ptrdiff_t>(scratch.examples.size());
  if (std::any_of(scratch.candidates.begin(), end, has_few)) {
    scratch.few.swap(scratch.candidates);
    gather(k, {}, 0.0f, scratch);
    scratch.few.swap(scratch.candidates);
    for (std::size_t i = 0; i < scratch.examples.size(); ++i) {
      if (has_few(scratch.candidates[i])) scratch.candidates[i].add(scratch.few[i]);
    }
  }
  for (std::size_t i = 0; i < scratch.examples.size(); ++i) {
    Candidates& candidates = scratch.candidates[i];
    if (candidates.hopeful < enough) candidates.hopeful = candidates.labels.size();
  }
}

// Many, unless the nodes that are expanded on a level for each would take much memory.
std::size_t LabelTree::ranks_together(std::size_t k) const {
  const std::size_t nodes = std::min(std::max(k, params_.beam), labels());
  return std::clamp<std::size_t>((std::size_t{1} << 14) / std::max<std::size_t>(nodes, 1), 1, 1024);
}

// Candidates have the same order and the same probabilities for every k. Where more labels are asked for,
// others are looked for, which follow them.
void LabelTree::rank(std::size_t k, Scratch& scratch) const {
  gather(finds_the_same() ? k : 0, {}, 0.0f, scratch);
  const std::size_t examples = scratch.examples.size();
  // Of each example's candidates, which are the same for every k: those that are hopeful, and all.
  std::vector<std::pair<std::size_t, std::size_t>>& own = scratch.own;
  own.resize(examples);
  for (std::size_t i = 0; i < examples; ++i) {
    Candidates& candidates = scratch.candidates[i];
    const bool all = candidates.labels.size() == learned_labels();
    candidates.put_hopeful_first(all ? 0 : usual, params_.hopeless, scratch.values);
    own[i] = {candidates.hopeful, candidates.labels.size()};
  }
  widen(k, scratch);
  score(scratch);
  const auto lock = together_ ? std::shared_lock(confidence_lock_) : std::shared_lock<ShortLock>();
  for (std::size_t i = 0; i < examples; ++i) {
    const auto& [labels, evidence, unfound, scores, hopeful] = scratch.candidates[i];
    const std::size_t begin = scratch.ranked.size();
    for (std::size_t c = 0; c < hopeful; ++c) {
      scratch.ranked.push_back({scores[c], labels[c]});
    }
    if (labels.empty()) {  // only leaves not yet learned were found
      const auto any =
          std::find_if(counts_.begin(), counts_.end(),
                       [](const double& c) { return read_relaxed(c) > 0.0; });
      scratch.ranked.push_back({0.0f, static_cast<LabelId>(any - counts_.begin())});
      own[i] = {1, 1};
    }
    const std::span<ScoredLabel> ranked(scratch.ranked.begin() + static_cast<std::ptrdiff_t>(begin),
                                        scratch.ranked.end());
    const auto [first, all] = own[i];
    const auto end_of = [&](std::size_t n) {
      return ranked.begin() + static_cast<std::ptrdiff_t>(std::min(n, ranked.size()));
    };
    if (k < first && !params_.exclusive) {  // the others do not matter
      std::partial_sort(ranked.begin(), end_of(k), end_of(first), better);
      confidence_.weigh(ranked.first(k), first, learned_labels(), scratch.values);
    } else {
      std::sort(ranked.begin(), end_of(first), better);
      std::sort(end_of(first), end_of(all), better);
      std::sort(end_of(all), ranked.end(), better);
      confidence_.weigh(ranked, first, learned_labels(), scratch.values);
    }
    scratch.ranked.resize(begin + k, missing);
  }
}

void LabelTree::trace(Scratch& scratch) const {
  scratch.path.clear();
  std::uint32_t first = 0;  // node of the tree, in a numbering of all
  for (const ChoiceTree& tree : trees_) {
    const std::size_t begin = scratch.path.size();
    const LabelId best = scratch.ranked[0].label;
    for (std::uint32_t node = tree.leaf(best); node != none; node = tree.parent(node)) {
      scratch.path.push_back(first + node);
    }
    std::reverse(scratch.path.begin() + static_cast<std::ptrdiff_t>(begin), scratch.path.end());
    first += static_cast<std::uint32_t>(tree.nodes());
  }
}

// Of one tree that decides alone.
void LabelTree::all_probabilities(Scratch& scratch, float* p) const {
  if (trees_.size() != 1 || params_.scorers || params_.index_length > 0) {
    return TreeLearner::all_probabilities(scratch, p);
  }
  trees_[0].all_probabilities(scratch.examples, bank_, scratch.reach, labels(), p);
  for (std::size_t i = 0; i < scratch.examples.size() * labels(); ++i) {
    if (counts_[i % labels()] == 0.0) p[i] = 0.0f;
  }
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

}  // namespace labeltree
