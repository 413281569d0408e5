// The labels met so far, each with a dense id.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "hash.hpp"

namespace labeltree::text {

// How a token becomes a label.
//   typed  an integer, if it is written as one: `12`, `-3`, `+1`, or `1.0` with zeros only after the
//          point. What does not look like that (`007`, `1e3`, `0.5`) or does not fit 64 bits is text.
//   text   always text.
enum class LabelRule { typed, text };

class Labels {
 public:
  explicit Labels(LabelRule rule) : rule_(rule) {}

  // The id of a label, a new one if it was never seen. Does not allocate for known labels.
  // Throws ParseError if the token is empty or not UTF-8.
  std::uint32_t intern(std::string_view token);

  // Forgets all but the first `size` labels: those that only a malformed line has named.
  void truncate(std::size_t size);
  void clear();

  std::size_t size() const { return names_.size(); }
  const std::string& name(std::size_t id) const { return *names_[id]; }
  bool is_integer(std::size_t id) const;

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return hash_bytes(text); }
  };

  LabelRule rule_;
  std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>> ids_;
  std::vector<const std::string*> names_;  // point at the keys of ids_, which never move
};

// The part of a token that is its integer in shortest form (`+1.0` -> `1`), or nothing.
std::string_view integer_part(std::string_view token);

// Calls f for each label of `a,b,c`. An empty list has no labels; an empty item is left to f.
template <class F>
void for_each_label(std::string_view list, char separator, F&& f) {
  if (list.empty()) return;
  for (std::size_t start = 0;;) {
    const std::size_t comma = list.find(separator, start);
    f(list.substr(start, comma - start));
    if (comma == std::string_view::npos) return;
    start = comma + 1;
  }
}

}  // namespace labeltree::text
