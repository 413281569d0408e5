#include "linear/block_predictions.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace labeltree {
namespace {

// Questions are looked at before they are answered: twice so many before, it is asked where what they
// read is, and so many before, for what they read.
constexpr std::size_t ahead = 3;

}  // namespace

void BlockPredictions::answer(const Bank& bank, const ExampleBuffer& examples) {
  sort();
  p_.resize(8 * asked_.size());
  answer_unpacked(bank, examples);
  const auto block = [&](std::size_t i) { return std::size_t{asked_[i].block}; };
  const auto example = [&](std::size_t i) { return examples[asked_[i].example]; };
  const auto is_asked_again = [&](std::size_t i) {
    return i > 0 && asked_[i - 1].is_like(asked_[i]);
  };
  FoundLines found[ahead];
  const auto prefetch = [&](std::size_t i) {
    if (i < asked_.size() && !is_asked_again(i)) bank.prefetch(block(i), example(i));
  };
  const auto find = [&](std::size_t i) {
    if (i < asked_.size() && !is_asked_again(i)) bank.find(block(i), example(i), found[i % ahead]);
  };
  for (std::size_t i = 0; i < 2 * ahead; ++i) prefetch(i);
  for (std::size_t i = 0; i < ahead; ++i) find(i);
  for (std::size_t i = 0; i < asked_.size(); ++i) {
    prefetch(i + 2 * ahead);
    const std::size_t lane = asked_[i].lane;
    float* p = p_.data() + 8 * asked_[i].answer;
    if (lane != all && !bank.has_lines()) {
      p[lane] = bank.predict(8 * block(i) + lane, example(i));
    } else if (is_asked_again(i)) {
      std::copy_n(p_.data() + 8 * asked_[i - 1].answer, 8, p);
    } else {
      bank.predict8(block(i), example(i), found[i % ahead], p);
    }
    find(i + ahead);
  }
}

// Answers the questions about blocks of which there are so many that it pays to unpack their weights, and
// leaves the others.
void BlockPredictions::answer_unpacked(const Bank& bank, const ExampleBuffer& examples) {
  if (!bank.can_unpack()) return;
  std::size_t left = 0;
  for (std::size_t first = 0, end = 0; first < asked_.size(); first = end) {
    const std::uint32_t block = asked_[first].block;
    std::size_t values = 0;
    for (; end < asked_.size() && asked_[end].block == block; ++end) {
      values += examples[asked_[end].example].size;
    }
    const bool pays = bank.is_worth_unpacking(values);
    if (pays) bank.unpack(block, unpacked_);
    for (std::size_t i = first; i < end; ++i) {
      const Example example = examples[asked_[i].example];
      if (pays && std::isfinite(example.squared_norm)) {  // infinity . 0 is none
        bank.predict8(block, unpacked_, example, p_.data() + 8 * asked_[i].answer);
      } else {
        asked_[left++] = asked_[i];
      }
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
  if (asked_.size() < 32 || asked_.size() < range / 4) {
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
