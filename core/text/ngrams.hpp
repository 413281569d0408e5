// Text to hashed counts of words, word n-grams and character n-grams.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/rows.hpp"

namespace labeltree::text {

struct NgramOptions {
  unsigned word_ngrams = 1;  // sequences of 1 to so many words; 0 for none
  unsigned char_min = 0;     // sequences of so many code points inside ` word `, spaces included;
  unsigned char_max = 0;     // 0 for none
  bool lowercase = true;     // ASCII letters only: what Unicode calls lower case changes
  unsigned hash_bits = 24;
  bool unit_length = true;
};

// A word is a longest run of ASCII letters, digits, `_` and bytes from 0x80 up, so that words in
// UTF-8 stay whole. A feature's index is the hash of its bytes, words joined by one space; its value
// the number of times it occurs, before the row is scaled to unit length.
class Ngrams {
 public:
  explicit Ngrams(NgramOptions options) : options_(options) {}

  // Adds the features of a text to the row under construction. The text must be valid UTF-8.
  void add(std::string_view text, Rows& rows);
  std::uint64_t n_features() const { return std::uint64_t{1} << options_.hash_bits; }

 private:
  struct Word {
    std::size_t start, end;
  };
  void split(std::string_view text);
  void add_word_ngrams(Rows& rows) const;
  void add_char_ngrams(Word word, Rows& rows);
  void add_feature(std::size_t start, std::size_t end, std::uint64_t kind, Rows& rows) const;

  NgramOptions options_;
  std::string words_;                // all words of the text, with one space around each
  std::vector<Word> spans_;          // where they are in words_
  std::vector<std::size_t> points_;  // where the code points of one word start
};

}  // namespace labeltree::text
