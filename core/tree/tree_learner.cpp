#include "tree/tree_learner.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <stdexcept>

namespace labeltree {
namespace {

// Asks for a row while another is learned, and for where the one after it begins.
void prefetch_row(const Matrix& X, std::size_t row, std::size_t later) {
  constexpr std::size_t line = 64 / sizeof(float), most = 16 * line;  // of longer rows the first values
  if (X.dense()) {
    const float* values = X.values + row * X.cols;
    for (std::size_t i = 0; i < std::min(X.cols, most); i += line) __builtin_prefetch(values + i);
    return;
  }
  __builtin_prefetch(X.indptr + later);
  const auto begin = static_cast<std::size_t>(X.indptr[row]);
  const std::size_t size = static_cast<std::size_t>(X.indptr[row + 1]) - begin;
  for (std::size_t i = 0; i < std::min(size + line, most); i += line) {
    __builtin_prefetch(X.indices + begin + i);
    __builtin_prefetch(X.values + begin + i);
  }
}

}  // namespace

void TreeLearner::visit_state(StateVisitor& state) {
  state.value("examples", examples_);
  state.array("counts", counts_);
  bank_.visit_state(state);
  if (!state.restoring()) return;
  for (const double count : counts_) {
    StateVisitor::require(std::isfinite(count) && count >= 0.0,
                          "the saved model has a label with a count that is none");
  }
  learned_labels_ = labels() - std::count(counts_.begin(), counts_.end(), 0.0);
}

void TreeLearner::forget_counts(const Forgotten& forgotten) {
  forgotten.apply_to_entries(counts_, 0.0);
  learned_labels_ = labels() - std::count(counts_.begin(), counts_.end(), 0.0);
}

void TreeLearner::start_pass(bool /*again*/, std::size_t rows, bool /*more*/) {
  one_matrix_ = rows > 0;
  passed_ = 0;
}

void TreeLearner::learn_row(const Matrix& X, const LabelSets& y, std::size_t row,
                            std::size_t number, float weight, LabelId* predicted,
                            float* probability, Scratch& scratch) {
  scratch.row = number;
  scratch.examples.clear();
  {
    const std::lock_guard lock(observing_);
    if (weight > 0.0f) {
      bank_.observe(X, row, weight, scratch.examples);
    } else {
      bank_.encode(X, row, scratch.examples);
    }
  }
  const bool ranked = predicted != nullptr && learned_labels() > 0;
  if (predicted != nullptr) {
    const std::shared_lock lock(growth_);
    scratch.ranked.clear();
    if (ranked) rank(1, scratch);
    *predicted = scratch.ranked.empty() ? no_label : scratch.ranked[0].label;
  }
  if (probability != nullptr && !y[row].empty()) *probability = probability_of(y[row][0], scratch);
  if (weight > 0.0f && !y[row].empty()) {
    learn_set(y[row], weight, ranked, scratch);
    after_row(X, row, y[row], weight, scratch);
  }
  std::atomic_ref(examples_).fetch_add(1, std::memory_order_relaxed);
}

void TreeLearner::learn(const Matrix& X, const LabelSets& y, const float* weight,
                        const std::int64_t* order, std::size_t n, std::size_t threads,
                        LabelId* predicted, float* probability, const StopRequested& stop) {
  if (!learns_together()) threads = 1;
  const std::size_t together = rows_at_once(threads);
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> stopped = false;
  const std::uint64_t before = examples();
  together_ = threads > 1;
  parallel_for(threads, threads, [&](std::size_t, std::size_t, std::size_t thread) {
    const auto loan = scratch_.borrow();
    while (!stopped) {
      if (thread == 0 && stop()) stopped = true;
      const std::size_t begin = stopped ? n : next.fetch_add(together);
      if (begin >= n) return;
      const std::size_t end = std::min(begin + together, n);
      before_rows(X, y, weight, {order + begin, end - begin}, begin, *loan);
      for (std::size_t i = begin; i < end; ++i) {
        const auto row = static_cast<std::size_t>(order[i]);
        if (i + 2 < n) {
          prefetch_row(X, static_cast<std::size_t>(order[i + 1]),
                       static_cast<std::size_t>(order[i + 2]));
        }
        learn_row(X, y, row, number(X, row, i),
                  weight == nullptr ? 1.0f : weight[row],
                  predicted == nullptr ? nullptr : predicted + i,
                  probability == nullptr ? nullptr : probability + i, *loan);
      }
    }
  });
  together_ = false;
  passed_ += examples() - before;
}

bool TreeLearner::count(LabelId y, float weight) {
  const bool seen =
      std::atomic_ref(counts_[y]).fetch_add(weight, std::memory_order_relaxed) > 0.0;
  if (!seen) ++learned_labels_;
  return seen;
}

void TreeLearner::learn_set(std::span<const LabelId> y, float weight, bool /*ranked*/,
                            Scratch& scratch) {
  learn_one(y[0], weight, count(y[0], weight), scratch);
}

// Threads take turns at the rows, a share of them at a time, so that all end at about the same time.
void TreeLearner::predict_topk(const Matrix& X, std::size_t k, std::size_t threads,
                               LabelId* labels, float* scores, const StopRequested& stop) const {
  constexpr std::size_t most = 1024, turns = 16;         // rows of a share; shares of a thread
  constexpr std::size_t enough = std::size_t{1} << 20;  // values, or labels, of rows taken at once
  const std::size_t together =
      std::min(ranks_together(k), std::max<std::size_t>(enough / std::max<std::size_t>(k, 1), 1));
  threads = std::clamp<std::size_t>(threads, 1, std::max<std::size_t>(1, X.rows));
  const std::size_t share =
      threads == 1 ? most : std::clamp<std::size_t>(X.rows / (turns * threads), 1, most);
  std::atomic<std::size_t> next_share = 0;
  std::atomic<bool> stopped = false;
  parallel_for(threads, threads, [&](std::size_t, std::size_t, std::size_t thread) {
    const auto loan = scratch_.borrow();
    Scratch& s = *loan;
    while (!stopped) {
      if (thread == 0 && stop()) stopped = true;
      const std::size_t first = stopped ? X.rows : next_share.fetch_add(share);
      const std::size_t last = std::min(first + share, X.rows);
      if (first >= last) return;
      for (std::size_t row = first, next = row; row < last; row = next) {
        s.examples.clear();
        s.ranked.clear();
        do {
          bank_.encode(X, next++, s.examples);
        } while (next < std::min(row + together, last) && s.examples.values() < enough);
        if (learned_labels_ > 0) rank(k, s);
        s.ranked.resize(k * (next - row), missing);
        for (std::size_t i = 0; i < s.ranked.size(); ++i) {
          labels[row * k + i] = s.ranked[i].label;
          scores[row * k + i] = s.ranked[i].score;
        }
      }
    }
  });
}

void TreeLearner::predict_all(const Matrix& X, std::size_t threads, float* p,
                              const StopRequested& stop) const {
  constexpr std::size_t together = 16;  // rows
  threads = std::clamp<std::size_t>(threads, 1, std::max<std::size_t>(1, X.rows));
  for (std::size_t done = 0; done < X.rows && !stop(); done += together * threads) {
    const std::size_t rows = std::min(together * threads, X.rows - done);
    parallel_for(rows, threads, [&](std::size_t begin, std::size_t end, std::size_t /*thread*/) {
      if (begin == end || learned_labels_ == 0) return;
      const auto loan = scratch_.borrow();
      Scratch& s = *loan;
      s.examples.clear();
      for (std::size_t row = begin; row < end; ++row) bank_.encode(X, done + row, s.examples);
      all_probabilities(s, p + (done + begin) * labels());
    });
  }
}

void TreeLearner::all_probabilities(Scratch& /*scratch*/, float* /*p*/) const {
  throw std::invalid_argument("this learner does not know the probability of every label");
}

std::vector<std::uint32_t> TreeLearner::path(const Matrix& X, std::size_t row) const {
  if (learned_labels_ == 0) return {};
  const auto loan = scratch_.borrow();
  Scratch& scratch = *loan;
  scratch.examples.clear();
  scratch.ranked.clear();
  bank_.encode(X, row, scratch.examples);
  rank(1, scratch);
  trace(scratch);
  return scratch.path;
}

}  // namespace labeltree
