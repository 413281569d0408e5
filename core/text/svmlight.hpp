// svmlight / libsvm: `label[,label...] [qid:N] index:value ... [# comment]`.
#pragma once

#include "text/parser.hpp"

namespace labeltree::text {

// A line that starts with a blank, or with a feature, has no label. `qid` is checked and ignored.
// Indices are kept as written, from 0 or from 1. `#` inside a label is part of the label.
class SvmlightParser final : public LineParser {
 public:
  explicit SvmlightParser(std::optional<std::uint64_t> n_features) : n_features_(n_features) {}
  void parse(std::string_view line, Rows& rows) override;
  std::optional<std::uint64_t> n_features() const override { return n_features_; }

 private:
  std::optional<std::uint64_t> n_features_;
};

// The labels at the start of such a line, taken off it; empty if it has none.
std::string_view take_labels(std::string_view& line);

// Adds the features of the rest of such a line; each index must be below `limit`.
void add_features(std::string_view features, std::uint64_t limit, Rows& rows);

}  // namespace labeltree::text
