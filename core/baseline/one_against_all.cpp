#include "baseline/one_against_all.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

namespace labeltree {
namespace {

// Values of first_ besides a row of the chunk.
constexpr std::int32_t known = -1;
constexpr std::int32_t never = std::numeric_limits<std::int32_t>::max();

constexpr float lowest = -std::numeric_limits<float>::infinity();

// Long enough to reuse a block's weights, short enough to stop within a fraction of a second and
// to keep the encoded rows in the cache.
std::size_t chunk_rows(std::size_t labels, const Matrix& X) {
  const std::size_t entries = X.dense() ? X.cols : (X.indptr[X.rows] - X.indptr[0]) / X.rows;
  const std::size_t weights = std::max<std::size_t>(1, labels * (entries + 1));
  return std::clamp<std::size_t>(
      std::min((std::size_t{1} << 28) / weights, (std::size_t{1} << 20) / (entries + 1)), 1, 512);
}

// Of dual variables.
constexpr std::size_t most_bytes = std::size_t{1} << 32;

}  // namespace

void OneAgainstAll::start_pass(bool again, std::size_t rows, bool more) {
  if (again && rows == rows_) return;
  alpha_ = AlignedFloats();
  rows_kept_ = 0;
  rows_ = more ? rows : 0;
}

void OneAgainstAll::make_room_for_duals() {
  if (rule_.update != Update::dual || rows_ == 0 || alpha_.size() > 0) return;
  const std::size_t models = (labels() + 7) / 8 * 8;
  if (models == 0) return;
  rows_kept_ = std::min(rows_, most_bytes / sizeof(float) / models);
  alpha_ = AlignedFloats(models * rows_kept_);
}

float* OneAgainstAll::duals(std::size_t block, std::size_t row) {
  return row < rows_kept_ ? alpha_.data() + 8 * (block * rows_kept_ + row) : nullptr;
}

void OneAgainstAll::set_labels(std::size_t labels) {
  first_.resize(labels, never);
  counts_.resize(labels, 0.0);
  bank_.resize(labels);
}

void OneAgainstAll::visit_state(StateVisitor& state) {
  state.value("examples", examples_done_);
  state.array("counts", counts_);
  bank_.visit_state(state);
  if (!state.restoring()) return;
  StateVisitor::require(bank_.models() == labels(), "counts and steps differ in length");
  for (const double count : counts_) {
    StateVisitor::require(count >= 0.0, "the saved model has a label with a count that is none");
  }
  learned_labels_ = labels() - std::count(counts_.begin(), counts_.end(), 0.0);
  first_.resize(labels());
  for (std::size_t label = 0; label < labels(); ++label) {
    first_[label] = counts_[label] > 0.0 ? known : never;
  }
}

// Encodes the rows of a chunk, lists their labels by row and block, and counts them.
void OneAgainstAll::begin_chunk(const Matrix& X, const LabelSets& y, const float* weight,
                                const std::int64_t* order, std::size_t rows) {
  examples_.clear();
  number_.clear();
  weight_.assign(rows, 1.0f);
  positives_.clear();
  for (std::size_t i = 0; i < rows; ++i) {
    const auto row = static_cast<std::size_t>(order[i]);
    number_.push_back(row);
    if (weight != nullptr) weight_[i] = weight[row];
    if (weight_[i] > 0.0f) {
      bank_.observe(X, row, weight_[i], examples_);
    } else {
      bank_.encode(X, row, examples_);
      continue;
    }
    for (const LabelId label : y[row]) {
      positives_.push_back({label / 8, static_cast<std::uint32_t>(i), 1u << label % 8});
      if (first_[label] == never) {
        first_[label] = static_cast<std::int32_t>(i);
        new_labels_.push_back(label);
      }
      counts_[label] += weight_[i];
    }
  }
}

void OneAgainstAll::end_chunk() {
  for (const LabelId label : new_labels_) first_[label] = known;
  learned_labels_ += new_labels_.size();
  new_labels_.clear();
  examples_done_ += examples_.size();
}

// Takes eight labels through one row: predict, note the best so far, learn.
void OneAgainstAll::learn_cell(std::size_t block, std::size_t row, unsigned positive,
                               Best& best) {
  const std::size_t lanes = std::min<std::size_t>(8, labels() - 8 * block);
  const std::int32_t* first = first_.data() + 8 * block;
  const auto now = static_cast<std::int32_t>(row);
  const float negative_target = rule_.loss == Loss::squared ? 0.0f : -1.0f;
  const Example x = examples_[row];
  float p[8], y[8];
  bank_.predict8(block, x, p);
  unsigned active = 0;
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    y[lane] = positive >> lane & 1 ? 1.0f : negative_target;
    if (first[lane] <= now) active |= 1u << lane;
    if (first[lane] < now && p[lane] > best.margin[row]) {
      best.margin[row] = p[lane];
      best.label[row] = static_cast<LabelId>(8 * block + lane);
    }
  }
  if (active != 0 && weight_[row] > 0.0f) {
    bank_.learn8(block, x, p, y, weight_[row], rule_, active, duals(block, number_[row]));
  }
}

// The lanes of one block and row; positives_ must be visited in their order.
unsigned OneAgainstAll::take_lanes(PositiveIterator& next, std::size_t block, std::size_t row) {
  unsigned lanes = 0;
  for (; next != positives_.end() && next->block == block && next->row == row; ++next) {
    lanes |= next->lanes;
  }
  return lanes;
}

// Blocks outside, rows inside; positives_ are ordered by block, then row.
void OneAgainstAll::learn_blocks(std::size_t begin, std::size_t end, Best& best) {
  PositiveIterator next = std::lower_bound(
      positives_.begin(), positives_.end(), begin,
      [](const Positive& p, std::size_t block) { return p.block < block; });
  for (std::size_t block = begin; block < end; ++block) {
    for (std::size_t row = 0; row < examples_.size(); ++row) {
      learn_cell(block, row, take_lanes(next, block, row), best);
    }
  }
}

// Rows outside, blocks inside; positives_ are ordered by row, then block.
void OneAgainstAll::learn_rows(Best& best) {
  PositiveIterator next = positives_.begin();
  for (std::size_t row = 0; row < examples_.size(); ++row) {
    for (std::size_t block = 0; 8 * block < labels(); ++block) {
      learn_cell(block, row, take_lanes(next, block, row), best);
    }
  }
}

void OneAgainstAll::learn(const Matrix& X, const LabelSets& y, const float* weight,
                          const std::int64_t* order, std::size_t n, std::size_t threads,
                          LabelId* predicted, float* /*probability*/,
                          const StopRequested& stop) {
  const bool by_block = bank_.params().layout != Layout::hashed;
  const std::size_t blocks = (labels() + 7) / 8;
  threads = by_block ? std::max<std::size_t>(1, std::min(threads, blocks)) : 1;
  std::vector<Best> best(threads);
  make_room_for_duals();
  std::size_t done = 0;
  while (done < n && !stop()) {
    const std::size_t rows = std::min(chunk_rows(labels(), X), n - done);
    begin_chunk(X, y, weight, order + done, rows);
    for (Best& b : best) {
      b.margin.assign(rows, lowest);
      b.label.assign(rows, no_label);
    }
    std::sort(positives_.begin(), positives_.end(), [&](const Positive& a, const Positive& b) {
      return by_block ? std::tie(a.block, a.row) < std::tie(b.block, b.row)
                      : std::tie(a.row, a.block) < std::tie(b.row, b.block);
    });
    if (by_block) {
      parallel_for(blocks, threads, [&](std::size_t begin, std::size_t end, std::size_t thread) {
        learn_blocks(begin, end, best[thread]);
      });
    } else {
      learn_rows(best[0]);
    }
    for (std::size_t i = 0; i < rows && predicted != nullptr; ++i) {
      const Best* winner = &best[0];
      for (const Best& b : best) {
        if (b.margin[i] > winner->margin[i]) winner = &b;
      }
      predicted[done + i] = winner->label[i];
    }
    end_chunk();
    done += rows;
  }
}

unsigned OneAgainstAll::learned_lanes(std::size_t block) const {
  unsigned lanes = 0;
  for (std::size_t label = 8 * block; label < std::min(8 * block + 8, labels()); ++label) {
    if (counts_[label] > 0.0) lanes |= 1u << (label - 8 * block);
  }
  return lanes;
}

// Calls visit(row - begin, label, margin) for every label learned, in ascending order per row.
template <class Visit>
void OneAgainstAll::visit_margins(ExampleBuffer& examples, const Matrix& X, std::size_t begin,
                                  std::size_t end, Visit visit) const {
  examples.clear();
  for (std::size_t row = begin; row < end; ++row) bank_.encode(X, row, examples);
  for (std::size_t block = 0; 8 * block < labels(); ++block) {
    const unsigned lanes = learned_lanes(block);
    if (lanes == 0) continue;
    for (std::size_t i = 0; i < examples.size(); ++i) {
      float p[8];
      bank_.predict8(block, examples[i], p);
      for (unsigned lane = 0; lane < 8; ++lane) {
        if (lanes >> lane & 1) visit(i, static_cast<LabelId>(8 * block + lane), p[lane]);
      }
    }
  }
}

// Calls work(begin, end, examples) on shares of the rows, one buffer a thread.
template <class Work>
void OneAgainstAll::in_chunks(const Matrix& X, std::size_t threads, const StopRequested& stop,
                              Work work) const {
  if (X.rows == 0) return;
  threads = std::clamp<std::size_t>(threads, 1, X.rows);
  const std::size_t chunk = chunk_rows(labels(), X) * threads;
  std::vector<ExampleBuffer> examples(threads);
  std::size_t done = 0;
  while (done < X.rows && !stop()) {
    const std::size_t n = std::min(chunk, X.rows - done);
    parallel_for(n, threads, [&](std::size_t begin, std::size_t end, std::size_t thread) {
      work(done + begin, done + end, examples[thread]);
    });
    done += n;
  }
}

void OneAgainstAll::predict_topk(const Matrix& X, std::size_t k, std::size_t threads,
                                 LabelId* ids, float* margins, double* total,
                                 const StopRequested& stop) const {
  struct Scored {  // kept in heaps whose front is the worst
    float margin;
    LabelId label;
    bool operator<(const Scored& other) const {  // "better"
      return margin != other.margin ? margin > other.margin : label < other.label;
    }
  };
  const Loss loss = rule_.loss;
  in_chunks(X, threads, stop, [&](std::size_t begin, std::size_t end,
                                              ExampleBuffer& examples) {
    std::vector<std::vector<Scored>> heaps(end - begin);
    for (auto& heap : heaps) heap.reserve(k);
    if (total != nullptr) std::fill(total + begin, total + end, 0.0);
    visit_margins(examples, X, begin, end, [&](std::size_t i, LabelId label, float margin) {
      std::vector<Scored>& heap = heaps[i];
      const Scored scored{margin, label};
      if (heap.size() < k) {
        heap.push_back(scored);
        std::push_heap(heap.begin(), heap.end());
      } else if (scored < heap.front()) {
        std::pop_heap(heap.begin(), heap.end());
        heap.back() = scored;
        std::push_heap(heap.begin(), heap.end());
      }
      if (total != nullptr) total[begin + i] += probability(loss, margin);
    });
    for (std::size_t i = 0; i < heaps.size(); ++i) {
      std::sort_heap(heaps[i].begin(), heaps[i].end());
      heaps[i].resize(k, {lowest, no_label});
      for (std::size_t j = 0; j < k; ++j) {
        ids[(begin + i) * k + j] = heaps[i][j].label;
        margins[(begin + i) * k + j] = heaps[i][j].margin;
      }
    }
  });
}

void OneAgainstAll::predict_margins(const Matrix& X, std::size_t threads, float* margins,
                                    const StopRequested& stop) const {
  std::fill(margins, margins + X.rows * labels(), lowest);
  in_chunks(X, threads, stop, [&](std::size_t begin, std::size_t end,
                                              ExampleBuffer& examples) {
    visit_margins(examples, X, begin, end, [&](std::size_t i, LabelId label, float margin) {
      margins[(begin + i) * labels() + label] = margin;
    });
  });
}

void OneAgainstAll::predict_above(const Matrix& X, float threshold, std::size_t threads,
                                  std::vector<std::vector<LabelId>>& sets,
                                  const StopRequested& stop) const {
  sets.assign(X.rows, {});
  in_chunks(X, threads, stop, [&](std::size_t begin, std::size_t end,
                                              ExampleBuffer& examples) {
    visit_margins(examples, X, begin, end, [&](std::size_t i, LabelId label, float margin) {
      if (margin > threshold) sets[begin + i].push_back(label);
    });
  });
}

}  // namespace labeltree
