#include "tree/ldsm_forest.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <thread>

#include "hash.hpp"
#include "tree/ldsm_state.hpp"

namespace labeltree {
namespace {

void prefetch(const LabelId* label, const double* count, std::size_t size) {
  constexpr std::size_t line = 64, most = 64;
  for (std::size_t k = 0; k < std::min(size, most); k += line / sizeof(double)) {
    __builtin_prefetch(count + k);
    if (k % (line / sizeof(LabelId)) == 0) __builtin_prefetch(label + k);
  }
}

}  // namespace

LdsmForest::LdsmForest(const BankParams& bank, const LdsmParams& params)
    : params_(params), bank_(bank), recent_(params.recent_rows), trainer_(params) {
  for (std::size_t t = 0; t < params.trees; ++t) {
    trees_.emplace_back(params, mix64(params.seed * 0x9e3779b97f4a7c15ULL + params.first_tree + t + 1));
  }
}

void LdsmForest::count_labels(std::span<const LabelId> labels, float weight) {
  for (const LabelId label : labels) {
    if (counts_[label] == 0.0) ++learned_labels_;
    counts_[label] += weight;
  }
}

void LdsmForest::fit(const Matrix& X, const LabelSets& y, const float* weight, std::size_t threads,
                     const StopRequested& stop) {
  LdsmExamples examples;
  ExampleBuffer buffer;
  const auto weight_of = [&](std::size_t row) { return weight == nullptr ? 1.0f : weight[row]; };
  for (std::size_t row = 0; row < X.rows; ++row) {
    if (weight_of(row) == 0.0f) continue;
    buffer.clear();
    bank_.observe(X, row, weight_of(row), buffer);
    examples.rate = buffer[0].rate;
  }
  LdsmRows rows;
  for (std::size_t row = 0; row < X.rows; ++row) {
    buffer.clear();
    bank_.encode(X, row, buffer);
    rows.add(buffer[0]);
  }
  LdsmScale scale;
  if (params_.idf != 0.0) {
    scale = rows.inverse_frequencies(params_.idf, bank_.slots());
    rows.multiply(scale);
    examples.scale = &scale;
  }
  double weights = 0.0, norms = 0.0;  // of the examples, for their average length
  std::vector<LdsmExample> all;
  for (std::size_t row = 0; row < X.rows; ++row) {
    LdsmExample x = rows[row];
    x.labels = y[row];
    x.weight = weight_of(row);
    if (x.weight == 0.0f || !x.learnable()) continue;
    count_labels(x.labels, x.weight);
    weights += x.weight;
    norms += double{x.weight} * x.squared_norm;
    all.push_back(x);
  }
  if (!scale.empty() && norms > 0.0) examples.rate = static_cast<float>(std::sqrt(weights / norms));
  examples.all = all;
  examples_ += X.rows;

  // Trees are handed out one by one; only the calling thread may ask whether to stop.
  threads = std::clamp<std::size_t>(threads, 1, trees_.size());
  std::atomic<std::size_t> next = 0;
  std::atomic<std::size_t> working = threads;
  std::atomic<bool> stopped = false;
  parallel_for(threads, threads, [&](std::size_t, std::size_t, std::size_t thread) {
    const auto should_stop = [&] {
      if (thread == 0 && !stopped && stop()) stopped = true;
      return stopped.load();
    };
    struct Done {  // also if memory runs out
      std::atomic<std::size_t>& working;
      ~Done() { --working; }
    };
    {
      const Done done{working};
      LdsmTrainer trainer(params_);
      for (std::size_t t = next++; t < trees_.size(); t = next++) {
        trees_[t].fit(examples, trainer, should_stop);
      }
    }
    while (thread == 0 && working > 0) {
      should_stop();
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  });
}

void LdsmForest::learn(const Matrix& X, const LabelSets& y, const float* weight,
                       const std::int64_t* order, std::size_t n, std::size_t /*threads*/,
                       LabelId* predicted, float* /*probability*/, const StopRequested& stop) {
  Scratch& scratch = learning_;
  for (std::size_t i = 0; i < n && !stop(); ++i) {
    const auto row = static_cast<std::size_t>(order[i]);
    if (predicted != nullptr) {
      predict_rows(X, row, row + 1, scratch, [&](std::size_t) {
        rank(1, scratch);
        predicted[i] = scratch.ranked[0].label;
      });
    }
    ++examples_;
    const float w = weight == nullptr ? 1.0f : weight[row];
    if (w == 0.0f) continue;
    scratch.buffer.clear();
    bank_.observe(X, row, w, scratch.buffer);
    scratch.rows.clear();
    scratch.rows.add(scratch.buffer[0]);
    LdsmExample x = scratch.rows[0];
    x.labels = y[row];
    x.weight = w;
    if (!x.learnable()) continue;
    count_labels(x.labels, w);
    const std::uint64_t number = recent_.add(x);
    const LdsmExamples examples = recent_.view(scratch.buffer[0].rate);
    for (LdsmTree& tree : trees_) tree.learn(examples, number, trainer_);
  }
}

// Calls visit(row) for rows begin .. end - 1, with the labels that the row may have in
// scratch.touched and their probabilities in scratch.scores: the mean over the leaves that it
// reaches in a tree, and over the trees.
template <class Visit>
void LdsmForest::predict_rows(const Matrix& X, std::size_t begin, std::size_t end, Scratch& s,
                              Visit visit) const {
  s.scores.resize(labels(), 0.0);
  s.rows.clear();
  s.examples.clear();
  s.reached.resize(std::max(s.reached.size(), end - begin));
  for (std::size_t row = begin; row < end; ++row) {
    s.buffer.clear();
    bank_.encode(X, row, s.buffer);
    s.rows.add(s.buffer[0]);
    s.reached[row - begin].clear();
  }
  for (std::size_t i = 0; i < end - begin; ++i) s.examples.push_back(s.rows[i]);
  for (const LdsmTree& tree : trees_) {
    tree.descend(s.examples, s.descent);
    s.leaves.assign(end - begin, 0);
    for (const LdsmTree::Reached& r : s.descent.reached) ++s.leaves[r.row];
    for (const LdsmTree::Reached& r : s.descent.reached) {
      const LdsmTree::Node& leaf = tree.nodes()[r.leaf];
      const double leaves = static_cast<double>(s.leaves[r.row] * trees_.size());
      const LabelCounts& histogram = leaf.histogram;
      const double whole = params_.leaf_shares == LeafShares::rows ? leaf.weight : leaf.mass;
      if (whole == 0.0) continue;
      s.reached[r.row].push_back({histogram.labels().data(), histogram.counts().data(),
                                  histogram.size(), 1.0 / (whole * leaves)});
    }
  }
  for (std::size_t i = 0; i < end - begin; ++i) {
    const std::vector<Scratch::Share>& reached = s.reached[i];
    for (std::size_t j = 0; j < reached.size(); ++j) {
      // Histograms are all over the memory: ask for one a few leaves ahead.
      if (j + 3 < reached.size()) {
        const Scratch::Share& next = reached[j + 3];
        prefetch(next.label, next.count, next.size);
      }
      const auto& [label, count, size, share] = reached[j];
      for (std::size_t k = 0; k < size; ++k) {
        double& score = s.scores[label[k]];
        if (score == 0.0) s.touched.push_back(label[k]);
        score += share * count[k];
      }
    }
    visit(begin + i);
    for (const LabelId label : s.touched) s.scores[label] = 0.0;
    s.touched.clear();
  }
}

template <class Visit>
void LdsmForest::predict(const Matrix& X, std::size_t threads, const StopRequested& stop,
                         Visit visit) const {
  constexpr std::size_t chunk = 4096;  // rows that go down a tree together
  threads = std::clamp<std::size_t>(threads, 1, std::max<std::size_t>(1, X.rows));
  std::vector<Scratch> scratch(threads);
  for (std::size_t done = 0; done < X.rows && !stop(); done += chunk * threads) {
    const std::size_t rows = std::min(chunk * threads, X.rows - done);
    parallel_for(rows, threads, [&](std::size_t begin, std::size_t end, std::size_t thread) {
      Scratch& s = scratch[thread];
      predict_rows(X, done + begin, done + end, s, [&](std::size_t row) { visit(row, s); });
    });
  }
}

// The k labels with the best scores into scratch.ranked, best first.
void LdsmForest::rank(std::size_t k, Scratch& s) {
  s.ranked.clear();
  for (const LabelId label : s.touched) {
    s.ranked.push_back({static_cast<float>(s.scores[label]), label});
  }
  const auto found = std::min(k, s.ranked.size());
  std::partial_sort(s.ranked.begin(), s.ranked.begin() + static_cast<std::ptrdiff_t>(found),
                    s.ranked.end(), better);
  s.ranked.resize(found);
  s.ranked.resize(k, {0.0f, no_label});
}

void LdsmForest::predict_topk(const Matrix& X, std::size_t k, std::size_t threads, LabelId* labels,
                              float* scores, const StopRequested& stop) const {
  predict(X, threads, stop, [&](std::size_t row, Scratch& s) {
    rank(k, s);
    for (std::size_t j = 0; j < k; ++j) {
      labels[row * k + j] = s.ranked[j].label;
      scores[row * k + j] = s.ranked[j].score;
    }
  });
}

void LdsmForest::predict_above(const Matrix& X, float threshold, std::size_t threads,
                               std::vector<std::vector<LabelId>>& sets,
                               const StopRequested& stop) const {
  sets.assign(X.rows, {});
  predict(X, threads, stop, [&](std::size_t row, Scratch& s) {
    for (const LabelId label : s.touched) {
      if (s.scores[label] > threshold) sets[row].push_back(label);
    }
    std::sort(sets[row].begin(), sets[row].end());
  });
}

TreeView LdsmForest::view() const {
  TreeView view;
  for (const LdsmTree& tree : trees_) {
    const auto root = static_cast<std::uint32_t>(view.parent.size());
    for (const LdsmTree::Node& node : tree.nodes()) {
      view.parent.push_back(node.parent == no_node ? no_node : root + node.parent);
      view.label.push_back(node.histogram.most_frequent());
      view.weight.push_back(node.weight);
      view.distinct.push_back(static_cast<std::uint32_t>(node.histogram.size()));
    }
  }
  return view;
}

std::vector<std::uint32_t> LdsmForest::path(const Matrix& X, std::size_t row) const {
  Scratch scratch;
  bank_.encode(X, row, scratch.buffer);
  scratch.rows.add(scratch.buffer[0]);
  std::vector<std::uint32_t> path;
  std::uint32_t root = 0;
  for (const LdsmTree& tree : trees_) {
    for (const std::uint32_t node : tree.path(scratch.rows[0])) path.push_back(root + node);
    root += static_cast<std::uint32_t>(tree.nodes().size());
  }
  return path;
}

void LdsmForest::visit_state(StateVisitor& state) {
  state.value("examples", examples_);
  state.array("counts", counts_);
  bank_.visit_state(state);
  const std::size_t slots = bank_.slots() + 1;  // the constant is the last
  LdsmFlatTrees flat(trees_);
  if (bank_.params().frozen || state.freezing()) {
    LdsmCodes codes = codes_;
    flat.visit_frozen(state, slots, codes);
    if (state.restoring()) codes_ = codes;
  } else {
    recent_.visit_state(state, labels(), slots);
    flat.visit(state);
  }
  if (!state.restoring()) return;
  for (const double count : counts_) {
    StateVisitor::require(count >= 0.0, "the saved model has a label with a count that is none");
  }
  learned_labels_ = labels() - std::count(counts_.begin(), counts_.end(), 0.0);
  flat.unpack(trees_, labels(), params_.arity, recent_.end());
}

}  // namespace labeltree
