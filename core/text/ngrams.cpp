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

std::string_view Ngrams::bytes(std::size_t start, std::size_t end) const {
  return words_.bytes().substr(start, end - start);
}

std::uint32_t Ngrams::index(std::string_view bytes, std::uint64_t kind) const {
  return static_cast<std::uint32_t>(hash_bytes(bytes, kind) & (n_features() - 1));
}

void Ngrams::add_words(Rows& rows) {
  const std::vector<Word>& words = words_.all();
  sequences_.clear();
  for (std::size_t first = 0; first < words.size(); ++first) {
    const std::size_t stop = std::min<std::size_t>(first + options_.word_ngrams, words.size());
    for (std::size_t last = first; last < stop && !words[last].alone; ++last) {
      const std::string_view name = bytes(words[first].start, words[last].end);
      const std::uint32_t feature = index(name, kWords);
      if (last == first) {
        rows.add_named_feature(feature, 1, "", name);
      } else {
        if (known_.counts != nullptr) known_.counts->prefetch(feature);
        sequences_.push_back({feature, "", name});
      }
    }
  }
}

// By now the counts that were asked for above are there.
void Ngrams::add_sequences(Rows& rows) {
  for (const NamedFeature& sequence : sequences_) {
    if (known_.counts != nullptr && known_.counts->of(sequence.index) < known_.least) {
      left_out_.push_back(sequence.index);
    } else {
      rows.add_named_feature(sequence.index, kSequence, sequence.space, sequence.name);
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
      const std::string_view name = bytes(points_[first], points_[first + n]);
      rows.add_named_feature(index(name, kCharacters), 1, "chars", name);
    }
  }
}

void Ngrams::add(std::string_view text, const Known& known, Rows& rows) {
  known_ = known;
  left_out_.clear();
  words_.split(text, options_.lowercase);
  if (options_.word_ngrams > 0) {
    add_words(rows);
    add_sequences(rows);
  }
  for (const Word& word : words_.all()) {
    if (word.alone) {
      const bool single = word.end - word.start == code_point_length(bytes(word.start, word.end));
      add_characters(word.start, word.end, single ? 1 : 2, 2, rows);
    } else if (options_.char_max > 0) {
      add_characters(word.start - 1, word.end + 1, options_.char_min, options_.char_max, rows);
    }
  }
}

}  // namespace labeltree::text
