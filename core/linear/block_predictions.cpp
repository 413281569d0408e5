#include "linear/block_predictions.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace labeltree {
namespace {

// Questions are looked at before they are answered: twice so many before, it is asked where what they
// read is, and so many before, for what they read.
constexpr std::size_t ahead = 6;

}  // namespace

void BlockPredictions::answer(const Bank& bank, const ExampleBuffer& examples) {
  sort();
  p_.resize(8 * asked_.size());
  bank.visit_weights([&](const auto& weights) {
    if constexpr (requires { weights.unpack(0, unpacked_); }) {
      answer_unpacked(weights, bank, examples);
    }
    answer_by(weights, bank, examples);
  });
}

template <class Weights>
void BlockPredictions::answer_by(const Weights& weights, const Bank& bank,
                                 const ExampleBuffer& examples) {
  constexpr bool has_lines = requires(FoundLines& found) { weights.find(0, examples[0], found); };
  const Question* asked = asked_.data();
  const std::size_t n = asked_.size();
  const auto is_asked_again = [&](std::size_t i) { return i > 0 && asked[i - 1].is_like(asked[i]); };
  FoundLines found[ahead];
  const auto prefetch = [&](std::size_t i) {
    if constexpr (has_lines) {
      if (i >= n || is_asked_again(i)) return;
      if (i > 0 && asked[i - 1].block == asked[i].block && weights.keeps_near()) return;
      weights.prefetch(asked[i].block, examples[asked[i].example]);
    }
  };
  const auto find = [&](std::size_t i) {
    if constexpr (has_lines) {
      if (i >= n || is_asked_again(i)) return;
      weights.find(asked[i].block, examples[asked[i].example], found[i % ahead]);
    }
  };
  for (std::size_t i = 0; i < 2 * ahead; ++i) prefetch(i);
  for (std::size_t i = 0; i < ahead; ++i) find(i);
  for (std::size_t i = 0; i < n; ++i) {
    prefetch(i + 2 * ahead);
    const auto [block, lane, at, answer] = asked[i];
    float* p = p_.data() + 8 * answer;
    if (!has_lines && lane != all) {
      p[lane] = bank.predict(8 * std::size_t{block} + lane, examples[at]);
    } else if (is_asked_again(i)) {
      answer_again(asked[i - 1], asked[i]);
    } else {
      const Example x = examples[at];
      if constexpr (has_lines) {
        weights.dot8(block, x, found[i % ahead], p);
      } else {
        weights.dot8(block, x, p);
      }
      bank.add_indicators(block, x, p);
    }
    find(i + ahead);
  }
}

// Answers the questions about blocks of which there are so many that it pays to unpack their weights, and
// leaves the others.
template <class Weights>
void BlockPredictions::answer_unpacked(const Weights& weights, const Bank& bank,
                                       const ExampleBuffer& examples) {
  Example x[Weights::together];
  float* p[Weights::together];
  std::size_t left = 0;
  for (std::size_t first = 0, end = 0; first < asked_.size(); first = end) {
    const std::uint32_t block = asked_[first].block;
    std::size_t values = 0, n = 0;
    bool finite = true;  // infinity . 0 is none
    for (; end < asked_.size() && asked_[end].block == block; ++end) {
      const Example example = examples[asked_[end].example];
      values += example.size;
      finite &= std::isfinite(example.squared_norm);
    }
    if (!finite || !weights.is_worth_unpacking(values)) {
      for (std::size_t i = first; i < end; ++i) asked_[left++] = asked_[i];
      continue;
    }
    weights.unpack(block, unpacked_);
    const auto predict = [&] {
      weights.dot8_unpacked(block, unpacked_, {x, n}, p);
      for (std::size_t i = 0; i < n; ++i) bank.add_indicators(block, x[i], p[i]);
      n = 0;
    };
    for (std::size_t i = first; i < end; ++i) {
      if (i > first && asked_[i].is_like(asked_[i - 1])) continue;
      x[n] = examples[asked_[i].example];
      p[n] = p_.data() + 8 * asked_[i].answer;
      if (++n == Weights::together) predict();
    }
    if (n > 0) predict();
    for (std::size_t i = first + 1; i < end; ++i) {
      if (asked_[i].is_like(asked_[i - 1])) answer_again(asked_[i - 1], asked_[i]);
    }
  }
  asked_.resize(left);
}

// By block, and as they were asked within a block. Many questions about blocks close to each other are
// counted, which takes no comparisons.
void BlockPredictions::sort() {
  const auto before = [](const Question& a, const Question& b) { return a.block < b.block; };
  const auto [first, last] = std::minmax_element(asked_.begin(), asked_.end(), before);
  if (first == last) return;
  const std::uint32_t least = first->block;
  const std::size_t range = last->block - least + std::size_t{1};
  if (asked_.size() < 32) {
    for (auto next = asked_.begin() + 1; next != asked_.end(); ++next) {
      const Question question = *next;
      auto place = next;
      for (; place != asked_.begin() && before(question, place[-1]); --place) *place = place[-1];
      *place = question;
    }
    return;
  }
  if (asked_.size() < range / 4) {
    std::stable_sort(asked_.begin(), asked_.end(), before);
    return;
  }
  next_.assign(range, 0);
  for (const Question& question : asked_) ++next_[question.block - least];
  std::uint32_t sum = 0;
  for (std::uint32_t& next : next_) sum += std::exchange(next, sum);
  sorted_.resize(asked_.size());
  for (const Question& question : asked_) sorted_[next_[question.block - least]++] = question;
  asked_.swap(sorted_);
}

}  // namespace labeltree
