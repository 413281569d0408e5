// `label<TAB>text`, the text hashed into features.
#pragma once

#include "text/ngrams.hpp"
#include "text/parser.hpp"

namespace labeltree::text {

// Labels are always text. Without a label separator all that comes before the tab is one label.
class TsvParser final : public LineParser {
 public:
  TsvParser(std::optional<char> label_separator, NgramOptions options)
      : label_separator_(label_separator), ngrams_(options) {}
  void parse(std::string_view line, Rows& rows) override;
  std::optional<std::uint64_t> n_features() const override { return ngrams_.n_features(); }
  LabelRule label_rule() const override { return LabelRule::text; }

 private:
  std::optional<char> label_separator_;
  Ngrams ngrams_;
};

}  // namespace labeltree::text
