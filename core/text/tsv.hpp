// `label<TAB>text`.
#pragma once

#include "text/parser.hpp"

namespace labeltree::text {

// Labels are always text. Without a label separator all that comes before the tab is one label.
class TsvParser final : public TextParser {
 public:
  explicit TsvParser(std::optional<char> label_separator) : label_separator_(label_separator) {}
  void parse(std::string_view line, Rows& rows) override;

 private:
  std::optional<char> label_separator_;
};

}  // namespace labeltree::text
