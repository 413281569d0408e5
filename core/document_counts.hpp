// In how many documents each feature was seen.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "aligned.hpp"

namespace labeltree {

// Features share counts where there are more of them than 2^kMaxBits: memory is bounded, however many
// an endless stream brings. Counts add, so those of two streams can be merged.
class DocumentCounts {
 public:
  static constexpr unsigned kMaxBits = 22;

  explicit DocumentCounts(unsigned hash_bits);

  // Weighs the counts of features in one document: tf-idf, with the documents counted so far.
  void weigh(std::span<const std::uint32_t> features, std::span<float> values) const;

  // In how many documents a feature was.
  std::uint32_t of(std::uint32_t feature) const { return counts_.data()[place(feature)]; }

  void prefetch(std::uint32_t feature) const { __builtin_prefetch(counts_.data() + place(feature)); }

  // Counts a document, or forgets one that was counted, by its features, each once.
  void count(std::span<const std::uint32_t> features);
  void forget(std::span<const std::uint32_t> features);
  bool may_forget(std::span<const std::uint32_t> features) const;

  std::uint64_t documents() const { return documents_; }
  // The counts that are not zero, in the order of their places.
  void used(std::vector<std::uint32_t>& places, std::vector<std::uint32_t>& counts) const;
  // Adds counts; throws std::invalid_argument if they cannot be those of so many documents.
  void add(std::uint64_t documents, std::span<const std::uint32_t> places,
           std::span<const std::uint32_t> counts);

 private:
  // Hashed features are as good as random in their low bits.
  std::uint32_t place(std::uint32_t feature) const { return feature & mask_; }

  std::uint64_t documents_ = 0;           // N
  std::uint32_t mask_;
  AlignedArray<std::uint32_t> counts_;    // df
};

}  // namespace labeltree
