// Text to weighted rows: n-grams, weighed by how rare they are among the documents seen so far.
#pragma once

#include <optional>
#include <string_view>

#include "document_counts.hpp"
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

  // What a call works with: any number of threads may weigh, each with its own.
  struct Scratch {
    explicit Scratch(const TextFeatures& features) : ngrams(features.options_) {}
    Ngrams ngrams;
    std::vector<std::uint32_t> all;  // features of a text
  };

  // Add the row of a text; the second counts the text after that.
  void weigh(std::string_view text, Scratch& scratch, Rows& rows) const;
  void learn(std::string_view text, Scratch& scratch, Rows& rows);
  // Takes a text that was counted out of the counts again.
  void forget(std::string_view text, Scratch& scratch);

  DocumentCounts* counts() { return counts_ ? &*counts_ : nullptr; }
  const DocumentCounts* counts() const { return counts_ ? &*counts_ : nullptr; }

 private:
  void add(std::string_view text, std::uint32_t least, Scratch& scratch, Rows& rows) const;

  NgramOptions options_;
  std::optional<DocumentCounts> counts_;
};

}  // namespace labeltree::text
