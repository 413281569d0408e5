// Text to weighted rows: n-grams, weighed by how rare they are among the documents seen so far.
#pragma once

#include <optional>
#include <string_view>

#include "text/document_counts.hpp"
#include "text/ngrams.hpp"

namespace labeltree::text {

// Weights are tf-idf with what is known when a text is seen. Texts to learn from are each weighed with
// the counts of those before, and then counted, so that nothing depends on how they are cut into
// batches. Without idf the weights are counts. Rows have unit length.
//
// Sequences of words that no two texts had, which are most of them, are left out of rows.
class TextFeatures {
 public:
  TextFeatures(const NgramOptions& options, bool idf);

  // Adds the row of a text, and then counts the text, if asked to.
  void add(std::string_view text, bool count, Rows& rows);
  // Takes a text that was counted out of the counts again.
  void forget(std::string_view text);

  std::uint64_t n_features() const { return ngrams_.n_features(); }
  DocumentCounts* counts() { return counts_ ? &*counts_ : nullptr; }
  const DocumentCounts* counts() const { return counts_ ? &*counts_ : nullptr; }

 private:
  std::span<const std::uint32_t> distinct_left_out();

  Ngrams ngrams_;
  std::vector<std::uint32_t> left_out_;
  std::optional<DocumentCounts> counts_;
};

}  // namespace labeltree::text
