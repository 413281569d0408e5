#include "linear/block_predictions.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace labeltree {
namespace {

constexpr std::size_t ahead = 3;  // questions: what they read is asked for before it is needed

}  // namespace

void BlockPredictions::answer(const Bank& bank, const ExampleBuffer& examples) {
  sort();
  p_.resize(8 * asked_.size());
  const auto prefetch = [&](std::size_t i) {
    if (i < asked_.size()) bank.prefetch(asked_[i].block, examples[asked_[i].example]);
  };
  for (std::size_t i = 0; i < ahead; ++i) prefetch(i);
  bool is_unpacked = false;
  for (std::size_t i = 0; i < asked_.size(); ++i) {
    prefetch(i + ahead);
    if (i == 0 || asked_[i - 1].block != asked_[i].block) is_unpacked = unpack(bank, examples, i);
    const auto [block, lane, example, answer] = asked_[i];
    float* p = p_.data() + 8 * answer;
    if (lane != all && !bank.has_lines()) {
      p[lane] = bank.predict(8 * std::size_t{block} + lane, examples[example]);
    } else if (i > 0 && asked_[i - 1].block == block && asked_[i - 1].example == example) {
      std::copy_n(p_.data() + 8 * asked_[i - 1].answer, 8, p);
    } else if (is_unpacked && std::isfinite(examples[example].squared_norm)) {  // infinity . 0 is none
      bank.predict8(block, unpacked_, examples[example], p);
    } else {
      bank.predict8(block, examples[example], p);
    }
  }
}

// Unpacks the block of a question, the first about it, if there are enough others.
bool BlockPredictions::unpack(const Bank& bank, const ExampleBuffer& examples, std::size_t first) {
  const std::uint32_t block = asked_[first].block;
  std::size_t values = 0;
  for (std::size_t i = first; i < asked_.size() && asked_[i].block == block; ++i) {
    values += examples[asked_[i].example].size;
  }
  return bank.unpack(block, values, unpacked_);
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
