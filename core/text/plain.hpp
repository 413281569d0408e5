// A text a line, without labels.
#pragma once

#include "text/parser.hpp"

namespace labeltree::text {

class PlainParser final : public TextParser {
 public:
  void parse(std::string_view line, Rows& rows) override;
};

}  // namespace labeltree::text
