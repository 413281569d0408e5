// Text to hashed counts of words, word n-grams and character n-grams.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "document_counts.hpp"
#include "text/rows.hpp"
#include "text/words.hpp"

namespace labeltree::text {

struct NgramOptions {
  unsigned word_ngrams = 1;  // sequences of 1 to so many words; 0 for none
  unsigned char_min = 0;     // sequences of so many code points inside ` word `, spaces included;
  unsigned char_max = 0;     // 0 for none
  bool lowercase = true;     // whether the case of letters is taken off
  unsigned hash_bits = 24;
};

// Which sequences of several words a row has: those that so many texts had, of all counted so far.
struct Known {
  const DocumentCounts* counts = nullptr;  // without counts all are known
  std::uint32_t least = 0;
};

// A feature's index is the hash of its bytes, words joined by one space; its value is 1 each time it
// occurs, of a sequence of several words 1/2. What is written without spaces has pairs
// of characters in place of words, and a character that has none of its kind beside it is a feature.
class Ngrams {
 public:
  explicit Ngrams(const NgramOptions& options) : options_(options) {}

  // Adds the features of a text to the row under construction; sequences of words that are not
  // `known` are left out.
  void add(std::string_view text, const Known& known, Rows& rows);
  const std::vector<std::uint32_t>& left_out() const { return left_out_; }
  std::uint64_t n_features() const { return std::uint64_t{1} << options_.hash_bits; }

 private:
  void add_words(Rows& rows);
  void add_sequences(Rows& rows);
  void add_characters(std::size_t start, std::size_t end, unsigned low, unsigned high, Rows& rows);
  std::string_view bytes(std::size_t start, std::size_t end) const;
  std::uint32_t index(std::string_view bytes, std::uint64_t kind) const;

  NgramOptions options_;
  Known known_;
  Words words_;
  std::vector<NamedFeature> sequences_;  // of several words, in the text
  std::vector<std::uint32_t> left_out_;
  std::vector<std::size_t> points_;  // where the code points of one word start
};

}  // namespace labeltree::text
