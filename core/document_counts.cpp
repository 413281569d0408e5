#include "document_counts.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace labeltree {
namespace {

constexpr std::uint32_t kLargest = std::numeric_limits<std::uint32_t>::max();

// ln(1 + count); the smaller ones, which are most, from a table.
double log_count(std::uint32_t count) {
  static const auto table = [] {
    std::array<double, 4096> logs{};
    for (std::size_t i = 0; i < logs.size(); ++i) logs[i] = std::log1p(static_cast<double>(i));
    return logs;
  }();
  return count < table.size() ? table[count] : std::log1p(static_cast<double>(count));
}

}  // namespace

DocumentCounts::DocumentCounts(unsigned hash_bits)
    : mask_((std::uint32_t{1} << std::min(hash_bits, kMaxBits)) - 1), counts_(mask_ + std::size_t{1}, Pages::small) {}

// (1 + ln tf) (ln((1 + N) / (1 + df)) + 1)
void DocumentCounts::weigh(std::span<const std::uint32_t> features, std::span<float> values) const {
  for (const std::uint32_t feature : features) prefetch(feature);
  const double all = std::log1p(static_cast<double>(documents_)) + 1.0;
  for (std::size_t i = 0; i < features.size(); ++i) {
    // Of features that share a count there may be more than documents.
    const double idf = std::max(1.0, all - log_count(of(features[i])));
    const double tf = values[i] > 1.0f ? 1.0 + std::log(values[i]) : values[i];
    constexpr double most = std::numeric_limits<float>::max();
    values[i] = static_cast<float>(std::clamp(tf * idf, -most, most));
  }
}

void DocumentCounts::count(std::span<const std::uint32_t> features) {
  ++documents_;
  for (const std::uint32_t feature : features) {
    std::uint32_t& count = counts_.data()[place(feature)];
    count += count < kLargest;
  }
}

void DocumentCounts::forget(std::span<const std::uint32_t> features) {
  --documents_;
  for (const std::uint32_t feature : features) --counts_.data()[place(feature)];
}

bool DocumentCounts::may_forget(std::span<const std::uint32_t> features) const {
  return documents_ > 0 && std::all_of(features.begin(), features.end(), [&](std::uint32_t feature) {
           return of(feature) > 0;
         });
}

void DocumentCounts::used(std::vector<std::uint32_t>& places, std::vector<std::uint32_t>& counts) const {
  counts_.visit_rows(1, [&](std::size_t place) {
    const std::uint32_t count = counts_.data()[place];
    if (count == 0) return;
    places.push_back(static_cast<std::uint32_t>(place));
    counts.push_back(count);
  });
}

void DocumentCounts::add(std::uint64_t documents, std::span<const std::uint32_t> places,
                         std::span<const std::uint32_t> counts) {
  if (places.size() != counts.size()) throw std::invalid_argument("document counts lack their features");
  for (const std::uint32_t place : places) {
    if (place > mask_) throw std::invalid_argument("a document count is of no feature");
  }
  documents_ += documents;
  for (std::size_t i = 0; i < places.size(); ++i) {
    std::uint32_t& count = counts_.data()[places[i]];
    count += std::min(counts[i], kLargest - count);
  }
}

}  // namespace labeltree
