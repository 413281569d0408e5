// The names that hashed features had where they were first met.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace labeltree::text {

// A feature of a row: its index, and its name inside a namespace, which may be empty.
struct NamedFeature {
  std::uint32_t index;
  std::string_view space, name;
};

// Keeps the first name of each of the first `limit` features, cut to kMaxName bytes, so that memory is
// bounded however many names a stream brings. Readers may add from one thread while another looks.
class FeatureNames {
 public:
  static constexpr std::size_t kMaxName = 64;

  explicit FeatureNames(std::size_t limit) : limit_(limit) {}

  void add(std::span<const NamedFeature> features);

  std::size_t limit() const { return limit_; }
  std::size_t size() const;
  // The features in the order in which they were met, and their names, each ended by a newline.
  std::pair<std::vector<std::uint32_t>, std::string> all() const;

 private:
  const std::size_t limit_;
  mutable std::mutex mutex_;
  std::unordered_set<std::uint32_t> known_;
  std::vector<std::uint32_t> indices_;
  std::string names_;  // `space^name`, or `name` without a namespace; no line, so no name, has a newline
};

}  // namespace labeltree::text
