// What is known of characters: whether they make words, and what they are without their case.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace labeltree::text {

// The bits of character_kind.
enum CharacterKind : std::uint8_t {
  kWord = 1,    // a letter, digit or mark
  kLower = 2,
  kUpper = 4,
  kMark = 8,    // belongs to the character before it
  kAlone = 16,  // of a script that puts no spaces between words
  kFolds = 32,  // has another form without its case
};

std::uint8_t character_kind(char32_t point);

// Appends a character that folds, in UTF-8, as it is without its case: `Ä` as `ä`, `ß` as `ss`.
void append_folded(char32_t point, std::string& text);

}  // namespace labeltree::text
