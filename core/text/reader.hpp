// Bytes in, rows out: splits a stream into lines and gives each to a parser.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/parser.hpp"
#include "text/rows.hpp"

namespace labeltree::text {

struct ReaderLimits {
  std::size_t batch_rows;   // feed() stops when so many rows wait to be taken
  std::size_t max_line;     // bytes; what is longer is a bad line and is never kept in memory
  bool skip_bad_lines;      // go on after a bad line, and keep count
};

struct BadLine {
  std::uint64_t line;  // from 1; 0 if the file as a whole is bad
  std::string message;
};

class Reader {
 public:
  // Names of features are kept in `names`, if there is such and the format has names.
  Reader(std::unique_ptr<LineParser> parser, ReaderLimits limits,
         std::shared_ptr<FeatureNames> names = nullptr);

  // Files follow each other: start_file(), feed() until all is consumed, finish_file().
  void start_file();
  // Parses until the chunk ends, the batch is full or an error stops the reader. Returns the number
  // of bytes consumed: after take(), feed the rest.
  std::size_t feed(std::string_view chunk);
  // A file that may be `cut` can have fewer rows than it announces: missing() tells how many.
  void finish_file(bool cut = false);
  std::uint64_t missing() const { return parser_->missing(); }

  bool full() const { return rows_.size() >= limits_.batch_rows; }
  // Set once reading has to stop.
  const std::optional<BadLine>& error() const { return error_; }
  std::uint64_t lines() const { return lines_; }  // of all files
  std::uint64_t n_features() const { return parser_->n_features().value_or(rows_.width()); }

  const Rows& rows() const { return rows_; }
  Batch take() { return rows_.take(); }
  void forget_labels() { rows_.forget_labels(); }

  std::uint64_t bad_count() const { return bad_count_; }
  std::vector<BadLine> take_bad_lines() { return std::exchange(bad_lines_, {}); }

 private:
  void parse_line(std::string_view line);
  void reject(std::string message, bool fatal);

  std::unique_ptr<LineParser> parser_;
  ReaderLimits limits_;
  Rows rows_;
  std::string partial_;    // the start of a line whose end is in the next chunk
  bool overlong_ = false;  // inside a line that was rejected for its length
  std::uint64_t line_ = 0;
  std::uint64_t lines_ = 0;
  std::optional<BadLine> error_;
  std::uint64_t bad_count_ = 0;
  std::vector<BadLine> bad_lines_;  // the first ones only
};

}  // namespace labeltree::text
