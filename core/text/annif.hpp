// `text<TAB><uri> <uri>`, Annif's corpus of short texts.
#pragma once

#include "text/parser.hpp"

namespace labeltree::text {

// Labels are what the angle brackets hold.
class AnnifParser final : public TextParser {
 public:
  void parse(std::string_view line, Rows& rows) override;
};

}  // namespace labeltree::text
