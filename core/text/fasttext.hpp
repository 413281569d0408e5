// `__label__a __label__b some text`, as fastText has it.
#pragma once

#include <string>

#include "text/parser.hpp"

namespace labeltree::text {

// Words that begin with the prefix are labels, wherever they stand; all others are the text.
class FastTextParser final : public TextParser {
 public:
  explicit FastTextParser(std::string prefix) : prefix_(std::move(prefix)) {}
  void parse(std::string_view line, Rows& rows) override;

 private:
  std::string prefix_;
};

}  // namespace labeltree::text
