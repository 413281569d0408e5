// Vowpal Wabbit text:
// `[label[,label...]] [importance] [base] ['tag]|namespace[:scale] name[:value] ...`.
#pragma once

#include "text/parser.hpp"

namespace labeltree::text {

// As in Vowpal Wabbit a tag starts with a quote or touches the first bar, so `1|f a` has the tag 1 and
// no label. Tag and base are ignored. A feature is the hash of its namespace and name, also where the
// name is a number.
class VwParser final : public LineParser {
 public:
  explicit VwParser(unsigned hash_bits) : n_features_(std::uint64_t{1} << hash_bits) {}
  void parse(std::string_view line, Rows& rows) override;
  std::optional<std::uint64_t> n_features() const override { return n_features_; }

 private:
  void add_namespace(std::string_view text, Rows& rows) const;

  std::uint64_t n_features_;
};

}  // namespace labeltree::text
