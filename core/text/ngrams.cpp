#include "text/ngrams.hpp"

#include <algorithm>
#include <array>

#include "hash.hpp"
#include "text/utf8.hpp"

namespace labeltree::text {
namespace {

// Seeds that keep the word `the` and the characters `the` apart. Part of the model format.
constexpr std::uint64_t kWords = 1;
constexpr std::uint64_t kCharacters = 2;

constexpr bool is_word_byte(unsigned char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' ||
         c >= 0x80;
}

// What to write for each byte of a word, 0 for bytes between words.
constexpr std::array<char, 256> byte_table(bool lowercase) {
  std::array<char, 256> table{};
  for (unsigned c = 0; c < 256; ++c) {
    const bool upper = c >= 'A' && c <= 'Z';
    if (is_word_byte(static_cast<unsigned char>(c))) {
      table[c] = static_cast<char>(lowercase && upper ? c + ('a' - 'A') : c);
    }
  }
  return table;
}

constexpr std::array<char, 256> kAsWritten = byte_table(false);
constexpr std::array<char, 256> kLowercase = byte_table(true);

}  // namespace

void Ngrams::split(std::string_view text) {
  const std::array<char, 256>& table = options_.lowercase ? kLowercase : kAsWritten;
  words_.assign(1, ' ');
  spans_.clear();
  for (const char c : text) {
    const char written = table[static_cast<unsigned char>(c)];
    if (written != 0) {
      if (words_.back() == ' ') spans_.push_back({words_.size(), 0});
      words_ += written;
    } else if (words_.back() != ' ') {
      spans_.back().end = words_.size();
      words_ += ' ';
    }
  }
  if (words_.back() != ' ') {
    spans_.back().end = words_.size();
    words_ += ' ';
  }
}

void Ngrams::add_feature(std::size_t start, std::size_t end, std::uint64_t kind, Rows& rows) const {
  const std::string_view bytes(words_.data() + start, end - start);
  const auto index = static_cast<std::uint32_t>(hash_bytes(bytes, kind) & (n_features() - 1));
  rows.add_named_feature(index, 1, kind == kCharacters ? "chars" : "", bytes);
}

void Ngrams::add_word_ngrams(Rows& rows) const {
  for (std::size_t first = 0; first < spans_.size(); ++first) {
    const std::size_t stop = std::min<std::size_t>(first + options_.word_ngrams, spans_.size());
    for (std::size_t last = first; last < stop; ++last) {
      add_feature(spans_[first].start, spans_[last].end, kWords, rows);
    }
  }
}

void Ngrams::add_char_ngrams(Word word, Rows& rows) {
  points_.clear();
  for (std::size_t i = word.start - 1; i <= word.end; ++i) {
    if (!is_continuation(words_[i])) points_.push_back(i);
  }
  points_.push_back(word.end + 1);
  const std::size_t length = points_.size() - 1;
  for (std::size_t n = options_.char_min; n <= std::min<std::size_t>(options_.char_max, length); ++n) {
    for (std::size_t first = 0; first + n <= length; ++first) {
      add_feature(points_[first], points_[first + n], kCharacters, rows);
    }
  }
}

void Ngrams::add(std::string_view text, Rows& rows) {
  split(text);
  if (options_.word_ngrams > 0) add_word_ngrams(rows);
  if (options_.char_max > 0) {
    for (const Word word : spans_) add_char_ngrams(word, rows);
  }
  if (options_.unit_length) rows.scale_to_unit_length();
}

}  // namespace labeltree::text
