// Predictions of blocks of eight models for several examples at once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "linear/bank.hpp"

namespace labeltree {

// They are made in the order of the blocks: what one example has read of a block is in the cache for
// the next. Memory that one thread uses and uses again.
class BlockPredictions {
 public:
  void clear() { asked_.clear(); }

  // Asks for the predictions of a block for an example. Answers are numbered in the order of asking.
  void ask(std::size_t block, std::size_t example) { ask(block, all, example); }
  // The same of one model; where weights lie in lines, all of its block are answered.
  void ask_one(std::size_t model, std::size_t example) { ask(model / 8, model % 8, example); }

  void answer(const Bank& bank, const ExampleBuffer& examples);

  const float* operator[](std::size_t answer) const { return p_.data() + 8 * answer; }
  float* answers() { return p_.data(); }  // all of them, eight numbers each

 private:
  static constexpr std::uint32_t all = 8;
  struct Question {
    std::uint32_t block, lane, example, answer;
    bool is_like(const Question& other) const {
      return block == other.block && example == other.example;
    }
  };

  void ask(std::size_t block, std::size_t lane, std::size_t example) {
    asked_.push_back({static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(lane),
                      static_cast<std::uint32_t>(example),
                      static_cast<std::uint32_t>(asked_.size())});
  }

  void sort();
  void answer_again(const Question& before, const Question& again) {
    std::copy_n(p_.data() + 8 * before.answer, 8, p_.data() + 8 * again.answer);
  }
  template <class Weights>
  void answer_by(const Weights& weights, const Bank& bank, const ExampleBuffer& examples);
  template <class Weights>
  void answer_unpacked(const Weights& weights, const Bank& bank, const ExampleBuffer& examples);

  std::vector<Question> asked_;
  std::vector<Question> sorted_;     // memory to sort with
  std::vector<std::uint32_t> next_;  // place of each block in it
  std::vector<float> p_;             // eight for each answer
  AlignedFloats unpacked_;           // weights of a block
};

}  // namespace labeltree
