// The Extreme Classification format: a header `examples features labels`, then svmlight-like lines
// with ids from 0, `label[,label...] index:value ...`.
#pragma once

#include "text/parser.hpp"

namespace labeltree::text {

// Every line after the header is an example, even an empty one, until the header's count is
// reached; only blank lines may follow.
class XmcParser final : public LineParser {
 public:
  // `n_features` widens or narrows what the header says.
  explicit XmcParser(std::optional<std::uint64_t> n_features) : given_(n_features) {}
  void parse(std::string_view line, Rows& rows) override;
  void skip_line() override { ++lines_; }
  void start_file() override;
  void finish_file() override;
  std::uint64_t missing() const override;
  std::optional<std::uint64_t> n_features() const override;

 private:
  struct Header {
    std::uint64_t examples, features, labels;
  };
  static Header parse_header(std::string_view line);
  void check_label(std::string_view label) const;

  std::optional<std::uint64_t> given_;
  std::optional<Header> header_;
  std::uint64_t lines_ = 0;     // of this file, after the header, bad ones too
  std::uint64_t features_ = 0;  // the most that any file's header has announced
};

}  // namespace labeltree::text
