// Text to words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace labeltree::text {

struct Word {
  std::size_t start, end;  // in the bytes of all words
  bool alone;              // characters of a script that puts no spaces between words
};

// A word is a longest run of letters, digits and marks, as Unicode has them; so `_`, `-` and `/` part
// words, and so does the step from a small letter to a capital, as in `camelCase`. A run of Han, kana,
// Thai, Lao, Khmer or Burmese characters is kept apart from what is before and after it.
class Words {
 public:
  // Splits a text. Bytes that are not UTF-8 part words. `fold` takes the case off.
  void split(std::string_view text, bool fold);

  const std::vector<Word>& all() const { return words_; }
  std::string_view bytes() const { return bytes_; }  // all words, with one space around each

 private:
  void place(std::uint8_t kind);
  void finish_word();

  std::string bytes_;
  std::vector<Word> words_;
  bool open_ = false;          // inside a word
  std::uint8_t previous_ = 0;  // the kind of the last character
};

}  // namespace labeltree::text
