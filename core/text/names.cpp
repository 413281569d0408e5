#include "text/names.hpp"

#include "text/utf8.hpp"

namespace labeltree::text {

void FeatureNames::add(std::span<const NamedFeature> features) {
  const std::lock_guard lock(mutex_);
  for (const auto& [index, space, name] : features) {
    if (indices_.size() >= limit_) return;
    if (!known_.insert(index).second) continue;
    indices_.push_back(index);
    const std::size_t start = names_.size();
    if (!space.empty()) names_.append(space).push_back('^');
    names_.append(name);
    if (names_.size() > start + kMaxName) {
      std::size_t end = start + kMaxName;
      while (end > start && is_continuation(names_[end])) --end;  // no code point is cut in two
      names_.resize(end);
    }
    names_.push_back('\n');
  }
}

std::size_t FeatureNames::size() const {
  const std::lock_guard lock(mutex_);
  return indices_.size();
}

std::pair<std::vector<std::uint32_t>, std::string> FeatureNames::all() const {
  const std::lock_guard lock(mutex_);
  return {indices_, names_};
}

}  // namespace labeltree::text
