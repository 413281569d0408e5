#include "baseline/one_against_all.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace labeltree {
namespace {

// Where a label's model begins, besides a row of the chunk.
constexpr std::int32_t known_before = -1;
constexpr std::int32_t never = std::numeric_limits<std::int32_t>::max();

constexpr float lowest = -std::numeric_limits<float>::infinity();

// Long enough to reuse a block's weights, short enough to stop within a fraction of a second.
std::size_t chunk_rows(std::size_t labels) {
  constexpr std::size_t models_touched = std::size_t{1} << 20;
  return std::clamp<std::size_t>(models_touched / std::max<std::size_t>(labels, 1), 1, 512);
}

}  // namespace

void OneAgainstAll::resize(std::size_t labels) {
  if (labels <= counts_.size()) return;
  counts_.resize(labels, 0.0);
  bank_.resize(labels);
}

void OneAgainstAll::set_counts(std::vector<double> counts) {
  resize(counts.size());
  counts_ = std::move(counts);
  learned_labels_ = counts_.size() - std::count(counts_.begin(), counts_.end(), 0.0);
}

// Encodes the rows of a chunk, turns their label sets into a list of rows per label, and finds
// where each new label's model begins.
void OneAgainstAll::begin_chunk(const Matrix& X, const LabelSets& y, const float* weight,
                                const std::int64_t* order, std::size_t rows) {
  Chunk& c = chunk_;
  c.examples.clear();
  c.weight.assign(rows, 1.0f);
  c.first.resize(labels());
  for (std::size_t label = 0; label < labels(); ++label) {
    c.first[label] = counts_[label] > 0.0 ? known_before : never;
  }
  c.positive_begin.assign(labels() + 1, 0);
  for (std::size_t i = 0; i < rows; ++i) {
    const std::size_t row = order[i];
    if (weight != nullptr) c.weight[i] = weight[row];
    if (c.weight[i] > 0.0f) {
      bank_.observe(X, row, c.weight[i], c.examples);
    } else {
      bank_.encode(X, row, c.examples);
    }
    for (const LabelId label : y[row]) {
      ++c.positive_begin[label + 1];
      if (c.weight[i] > 0.0f) {
        c.first[label] = std::min(c.first[label], static_cast<std::int32_t>(i));
        if (counts_[label] == 0.0) ++learned_labels_;
        counts_[label] += c.weight[i];
      }
    }
  }
  for (std::size_t label = 0; label < labels(); ++label) {
    c.positive_begin[label + 1] += c.positive_begin[label];
  }
  c.positive_row.resize(c.positive_begin.back());
  for (std::size_t i = 0; i < rows; ++i) {
    for (const LabelId label : y[order[i]]) {
      c.positive_row[c.positive_begin[label]++] = static_cast<std::uint32_t>(i);
    }
  }
  // Filling moved every beginning to the next one's place: move them back.
  for (std::size_t label = labels(); label > 0; --label) {
    c.positive_begin[label] = c.positive_begin[label - 1];
  }
  c.positive_begin[0] = 0;
}

// Takes eight labels through the chunk: predict, note the best so far of each row, learn.
void OneAgainstAll::learn_block(std::size_t block, std::vector<unsigned char>& positive,
                                float* best, LabelId* predicted) {
  const auto rows = static_cast<std::int32_t>(chunk_.examples.size());
  const std::size_t lanes = std::min<std::size_t>(8, labels() - 8 * block);
  std::int32_t first[8];
  std::int32_t begin = rows;
  positive.assign(rows, 0);
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    const std::size_t label = 8 * block + lane;
    first[lane] = chunk_.first[label];
    begin = std::min(begin, std::max(first[lane], 0));
    for (std::size_t i = chunk_.positive_begin[label]; i < chunk_.positive_begin[label + 1]; ++i) {
      positive[chunk_.positive_row[i]] |= static_cast<unsigned char>(1u << lane);
    }
  }
  const float negative_target = bank_.params().loss == Loss::squared ? 0.0f : -1.0f;
  for (std::int32_t i = begin; i < rows; ++i) {
    const Example x = chunk_.examples[i];
    float p[8], y[8];
    bank_.predict8(block, x, p);
    unsigned active = 0;
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      y[lane] = positive[i] >> lane & 1 ? 1.0f : negative_target;
      if (first[lane] <= i) active |= 1u << lane;
      if (first[lane] < i && p[lane] > best[i]) {
        best[i] = p[lane];
        predicted[i] = static_cast<LabelId>(8 * block + lane);
      }
    }
    if (chunk_.weight[i] > 0.0f) bank_.learn8(block, x, p, y, chunk_.weight[i], active);
  }
}

std::size_t OneAgainstAll::learn(const Matrix& X, const LabelSets& y, const float* weight,
                                 const std::int64_t* order, std::size_t n, std::size_t threads,
                                 LabelId* predicted, const StopRequested& stop) {
  const std::size_t blocks = (labels() + 7) / 8;
  threads = std::max<std::size_t>(1, std::min(threads, blocks));
  const std::size_t longest = std::min(n, chunk_rows(labels()));
  std::vector<std::vector<unsigned char>> positive(threads);
  std::vector<float> best(threads * longest);
  std::vector<LabelId> best_label(threads * longest);
  std::size_t done = 0;
  while (done < n && !stop()) {
    const std::size_t rows = std::min(longest, n - done);
    begin_chunk(X, y, weight, order + done, rows);
    std::fill(best.begin(), best.end(), lowest);
    std::fill(best_label.begin(), best_label.end(), no_label);
    parallel_for(blocks, threads, [&](std::size_t begin, std::size_t end, std::size_t thread) {
      for (std::size_t block = begin; block < end; ++block) {
        learn_block(block, positive[thread], &best[thread * longest],
                    &best_label[thread * longest]);
      }
    });
    for (std::size_t i = 0; i < rows; ++i) {
      std::size_t winner = i;
      for (std::size_t t = 1; t < threads; ++t) {
        if (best[t * longest + i] > best[winner]) winner = t * longest + i;
      }
      predicted[done + i] = best_label[winner];
    }
    done += rows;
    examples_ += rows;
  }
  return done;
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
std::size_t OneAgainstAll::in_chunks(std::size_t rows, std::size_t threads,
                                     const StopRequested& stop, Work work) const {
  const std::size_t chunk = chunk_rows(labels()) * threads;
  std::vector<ExampleBuffer> examples(threads);
  std::size_t done = 0;
  while (done < rows && !stop()) {
    const std::size_t n = std::min(chunk, rows - done);
    parallel_for(n, threads, [&](std::size_t begin, std::size_t end, std::size_t thread) {
      work(done + begin, done + end, examples[thread]);
    });
    done += n;
  }
  return done;
}

std::size_t OneAgainstAll::predict_topk(const Matrix& X, std::size_t k, std::size_t threads,
                                        LabelId* ids, float* margins, double* total,
                                        const StopRequested& stop) const {
  struct Scored {  // kept in heaps whose front is the worst
    float margin;
    LabelId label;
    bool operator<(const Scored& other) const {  // "better"
      return margin != other.margin ? margin > other.margin : label < other.label;
    }
  };
  const Loss loss = bank_.params().loss;
  return in_chunks(X.rows, threads, stop, [&](std::size_t begin, std::size_t end,
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

std::size_t OneAgainstAll::predict_margins(const Matrix& X, std::size_t threads, float* margins,
                                           const StopRequested& stop) const {
  std::fill(margins, margins + X.rows * labels(), lowest);
  return in_chunks(X.rows, threads, stop, [&](std::size_t begin, std::size_t end,
                                              ExampleBuffer& examples) {
    visit_margins(examples, X, begin, end, [&](std::size_t i, LabelId label, float margin) {
      margins[(begin + i) * labels() + label] = margin;
    });
  });
}

std::size_t OneAgainstAll::predict_above(const Matrix& X, float threshold, std::size_t threads,
                                         std::vector<std::vector<LabelId>>& sets,
                                         const StopRequested& stop) const {
  sets.assign(X.rows, {});
  return in_chunks(X.rows, threads, stop, [&](std::size_t begin, std::size_t end,
                                              ExampleBuffer& examples) {
    visit_margins(examples, X, begin, end, [&](std::size_t i, LabelId label, float margin) {
      if (margin > threshold) sets[begin + i].push_back(label);
    });
  });
}

}  // namespace labeltree
