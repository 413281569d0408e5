// The trees of an LdSM forest as plain arrays, for saving.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "state.hpp"
#include "tree/ldsm_tree.hpp"

namespace labeltree {

// All nodes of all trees, one after the other.
class LdsmFlatTrees {
 public:
  explicit LdsmFlatTrees(const std::vector<LdsmTree>& trees);

  void visit(StateVisitor& state);

  // Back into trees that have learned nothing; throws if the arrays do not fit together, or with
  // this number of labels. Nodes keep no examples numbered `end` or above.
  void unpack(std::vector<LdsmTree>& trees, std::size_t labels, std::size_t arity,
              std::uint64_t end) const;

 private:
  std::vector<std::uint32_t> nodes_;     // of each tree
  std::vector<std::uint32_t> children_;  // of each node, within its tree
  std::vector<double> weight_;
  std::vector<double> mass_;
  std::vector<std::uint32_t> histogram_size_;
  std::vector<std::uint32_t> histogram_label_;
  std::vector<double> histogram_count_;
  std::vector<std::uint32_t> feature_size_;
  std::vector<std::uint32_t> feature_;
  std::vector<float> regressor_;
  std::vector<std::uint32_t> recent_size_;
  std::vector<std::uint64_t> recent_;
};

}  // namespace labeltree
