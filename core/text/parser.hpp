// What every text format has in common.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "text/rows.hpp"

namespace labeltree::text {

inline constexpr std::uint64_t kMaxFeatures = std::uint64_t{1} << 32;

class LineParser {
 public:
  virtual ~LineParser() = default;

  // Adds the row that a line holds, or nothing if the line holds none (blank, comment, header).
  // Throws ParseError; the caller then rolls the unfinished row back.
  virtual void parse(std::string_view line, Rows& rows) = 0;

  // Told of a line that was too long to be kept.
  virtual void skip_line() {}

  virtual void start_file() {}
  // Checks what only the end of a file tells. Throws ParseError.
  virtual void finish_file() {}

  // How many more rows the file has announced than it has had so far.
  virtual std::uint64_t missing() const { return 0; }

  // The number of features if the format or the options fix it.
  virtual std::optional<std::uint64_t> n_features() const = 0;
  virtual LabelRule label_rule() const { return LabelRule::typed; }
};

// A format whose rows are texts, and whose labels are always text.
class TextParser : public LineParser {
 public:
  std::optional<std::uint64_t> n_features() const override { return 0; }
  LabelRule label_rule() const override { return LabelRule::text; }
};

inline bool is_blank_line(std::string_view line) {
  return line.find_first_not_of(" \t") == std::string_view::npos;
}

}  // namespace labeltree::text
