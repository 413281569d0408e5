#include "text/ngrams.hpp"

#include <algorithm>

#include "hash.hpp"
#include "text/utf8.hpp"

namespace labeltree::text {
namespace {

// Seeds that keep the word `the` and the characters `the` apart. Part of the model format.
constexpr std::uint64_t kWords = 1;
constexpr std::uint64_t kCharacters = 2;

constexpr float kSequence = 0.5f;  // what a sequence of words counts beside a word: docs/text.md

}  // namespace

void Ngrams::add_feature(std::size_t start, std::size_t end, std::uint64_t kind, bool sequence,
                         Rows& rows) {
  const std::string_view bytes = words_.bytes().substr(start, end - start);
  const auto index = static_cast<std::uint32_t>(hash_bytes(bytes, kind) & (n_features() - 1));
  if (sequence && known_.counts != nullptr && known_.counts->of(index) < known_.least) {
    left_out_.push_back(index);
    return;
  }
  rows.add_named_feature(index, sequence ? kSequence : 1.0f, kind == kCharacters ? "chars" : "", bytes);
}

void Ngrams::add_word_ngrams(Rows& rows) {
  const std::vector<Word>& words = words_.all();
  for (std::size_t first = 0; first < words.size(); ++first) {
    const std::size_t stop = std::min<std::size_t>(first + options_.word_ngrams, words.size());
    for (std::size_t last = first; last < stop && !words[last].alone; ++last) {
      add_feature(words[first].start, words[last].end, kWords, last > first, rows);
    }
  }
}

void Ngrams::add_characters(std::size_t start, std::size_t end, unsigned low, unsigned high,
                            Rows& rows) {
  points_.clear();
  for (std::size_t i = start; i < end; ++i) {
    if (!is_continuation(words_.bytes()[i])) points_.push_back(i);
  }
  points_.push_back(end);
  const std::size_t length = points_.size() - 1;
  for (std::size_t n = low; n <= std::min<std::size_t>(high, length); ++n) {
    for (std::size_t first = 0; first + n <= length; ++first) {
      add_feature(points_[first], points_[first + n], kCharacters, false, rows);
    }
  }
}

void Ngrams::add(std::string_view text, const Known& known, Rows& rows) {
  known_ = known;
  left_out_.clear();
  words_.split(text, options_.lowercase);
  if (options_.word_ngrams > 0) add_word_ngrams(rows);
  for (const Word& word : words_.all()) {
    if (word.alone) {
      add_characters(word.start, word.end, 1, kAloneMax, rows);
    } else if (options_.char_max > 0) {
      add_characters(word.start - 1, word.end + 1, options_.char_min, options_.char_max, rows);
    }
  }
}

}  // namespace labeltree::text
