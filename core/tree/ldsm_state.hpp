// The trees of an LdSM forest as plain arrays, for saving.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "state.hpp"
#include "tree/ldsm_tree.hpp"

namespace labeltree {

// How weights are written for prediction only (weight_codes.hpp).
struct LdsmCodes {
  std::uint64_t size = 0;  // bytes of each
  float scale = 1.0f;
};

// All nodes of all trees, one after the other.
class LdsmFlatTrees {
 public:
  explicit LdsmFlatTrees(const std::vector<LdsmTree>& trees);

  void visit(StateVisitor& state);
  // For prediction only: features that hardly matter at a node are left out, weights have a byte each, or
  // two if keep is 1, and no examples are kept. `slots` is how many features there may be, `codes` how
  // the weights were written when they were restored.
  void visit_frozen(StateVisitor& state, std::size_t slots, LdsmCodes& codes);

  // Back into trees that have learned nothing; throws if the arrays do not fit together, or with
  // this number of labels. Nodes keep no examples numbered `end` or above.
  void unpack(std::vector<LdsmTree>& trees, std::size_t labels, std::size_t arity,
              std::uint64_t end) const;

 private:
  void visit_shape(StateVisitor& state);
  void prune(float keep);
  void visit_features(StateVisitor& state, std::size_t slots);
  void visit_regressors(StateVisitor& state, LdsmCodes& codes);

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
