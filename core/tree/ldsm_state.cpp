#include "tree/ldsm_state.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "linear/pruning.hpp"
#include "linear/weight_codes.hpp"

namespace labeltree {
namespace {

// Takes pieces off the front of an array; throws if it is too short.
template <class T>
class Pieces {
 public:
  explicit Pieces(const std::vector<T>& all) : rest_(all) {}

  std::vector<T> take(std::size_t n) {
    StateVisitor::require(n <= rest_.size(), "an array of the saved trees is too short");
    const auto piece = rest_.first(n);
    rest_ = rest_.subspan(n);
    return {piece.begin(), piece.end()};
  }

  bool empty() const { return rest_.empty(); }

 private:
  std::span<const T> rest_;
};

template <class T, class Piece>
void append(std::vector<T>& all, const Piece& piece) {
  all.insert(all.end(), piece.begin(), piece.end());
}

}  // namespace

LdsmFlatTrees::LdsmFlatTrees(const std::vector<LdsmTree>& trees) {
  for (const LdsmTree& tree : trees) {
    nodes_.push_back(static_cast<std::uint32_t>(tree.nodes().size()));
    for (const LdsmTree::Node& node : tree.nodes()) {
      children_.push_back(node.children);
      weight_.push_back(node.weight);
      mass_.push_back(node.mass);
      histogram_size_.push_back(static_cast<std::uint32_t>(node.histogram.size()));
      append(histogram_label_, node.histogram.labels());
      append(histogram_count_, node.histogram.counts());
      feature_size_.push_back(static_cast<std::uint32_t>(node.regressors.features().size()));
      append(feature_, node.regressors.features().features());
      append(regressor_, node.regressors.weights());
      recent_size_.push_back(static_cast<std::uint32_t>(node.recent.size()));
      append(recent_, node.recent);
    }
  }
}

// What is saved alike to learn on and for prediction only.
void LdsmFlatTrees::visit_shape(StateVisitor& state) {
  state.array("nodes", nodes_);
  state.array("children", children_);
  state.array("weight", weight_);
  state.array("mass", mass_);
  state.array("histogram_size", histogram_size_);
  state.array("histogram_label", histogram_label_);
  state.array("feature_size", feature_size_);
}

void LdsmFlatTrees::visit(StateVisitor& state) {
  visit_shape(state);
  state.array("histogram_count", histogram_count_);
  state.array("feature", feature_);
  state.array("regressor", regressor_);
  state.array("recent_size", recent_size_);
  state.array("recent", recent_);
}

// A feature of a node goes if none of its weights matters; the others are sorted.
void LdsmFlatTrees::prune(float keep) {
  Pruning pruning;
  for (const float weight : regressor_) pruning.note(weight, 0.0f);
  pruning.settle(keep);
  const std::size_t lanes = feature_.empty() ? 0 : regressor_.size() / feature_.size();
  const auto weights = [&](std::size_t i) { return std::span(regressor_).subspan(i * lanes, lanes); };
  std::vector<std::uint32_t> feature;
  std::vector<float> regressor;
  std::vector<std::size_t> kept;  // of a node
  std::size_t next = 0;
  for (std::uint32_t& size : feature_size_) {
    kept.clear();
    for (const std::size_t end = next + size; next < end; ++next) {
      const auto w = weights(next);
      if (std::any_of(w.begin(), w.end(), [&](float one) { return pruning.keeps(one, 0.0f); })) {
        kept.push_back(next);
      }
    }
    std::sort(kept.begin(), kept.end(),
              [&](std::size_t i, std::size_t j) { return feature_[i] < feature_[j]; });
    for (const std::size_t i : kept) {
      feature.push_back(feature_[i]);
      append(regressor, weights(i));
    }
    size = static_cast<std::uint32_t>(kept.size());
  }
  feature_ = std::move(feature);
  regressor_ = std::move(regressor);
}

void LdsmFlatTrees::visit_frozen(StateVisitor& state, std::size_t slots, LdsmCodes& codes) {
  if (state.freezing()) {
    prune(*state.freezing());
    float largest = 0.0f;
    for (const float weight : regressor_) largest = std::max(largest, std::abs(weight));
    codes = {*state.freezing() < 1.0f ? sizeof(Cube) : sizeof(bfloat16), cube_scale(largest)};
  }
  visit_shape(state);
  std::vector<float> count(histogram_count_.begin(), histogram_count_.end());
  state.array("histogram_count", count);
  visit_features(state, slots);
  visit_regressors(state, codes);
  if (!state.restoring()) return;
  histogram_count_.assign(count.begin(), count.end());
  recent_size_.assign(children_.size(), 0);
  recent_.clear();
}

// Sorted at each node: they rise throughout if those of a node begin above those of the one before.
void LdsmFlatTrees::visit_features(StateVisitor& state, std::size_t slots) {
  std::vector<std::uint64_t> rising(feature_.begin(), feature_.end());
  const auto visit = [&](const auto& change) {
    std::uint64_t next = 0;
    for (std::uint64_t node = 0; node < feature_size_.size(); ++node) {
      for (std::uint32_t i = 0; i < feature_size_[node]; ++i, ++next) {
        StateVisitor::require(next < rising.size(), "an array of the saved trees is too short");
        change(rising[next], node * slots);
      }
    }
  };
  if (!state.restoring()) visit([](std::uint64_t& number, std::uint64_t first) { number += first; });
  state.ascending("feature", rising);
  if (!state.restoring()) return;
  visit([&](std::uint64_t& feature, std::uint64_t first) {
    StateVisitor::require(feature >= first && feature - first < slots,
                          "the saved trees have a feature that does not exist");
    feature -= first;
  });
  feature_.assign(rising.begin(), rising.end());
}

void LdsmFlatTrees::visit_regressors(StateVisitor& state, LdsmCodes& codes) {
  state.value("regressor_code_size", codes.size);
  state.value("regressor_scale", codes.scale);
  const auto require = StateVisitor::require;
  const auto visit = [&]<class Stored>(Stored /*type*/, const auto& to, const auto& from) {
    AlignedArray<Stored> made(regressor_.size());
    std::transform(regressor_.begin(), regressor_.end(), made.data(), to);
    SharedArray<Stored> stored(std::move(made));
    state.shared("regressor", stored);
    if (!state.restoring()) return;
    regressor_.resize(stored.size());
    std::transform(stored.data(), stored.data() + stored.size(), regressor_.begin(), from);
    require(std::all_of(regressor_.begin(), regressor_.end(), [](float w) { return std::isfinite(w); }),
            "the saved trees have a weight that is no number");
  };
  if (codes.size == sizeof(Cube)) {
    visit(
        std::uint8_t{}, [&](float w) { return static_cast<std::uint8_t>(to_cube(w, codes.scale)); },
        [&](std::uint8_t code) {
          const auto q = static_cast<float>(static_cast<Cube>(code));
          return codes.scale * (q * q * q);
        });
  } else {
    require(codes.size == sizeof(bfloat16), "the saved trees have codes of an unknown size");
    visit(
        bfloat16{}, [](float w) { return to_bfloat16(w); }, [](bfloat16 code) { return to_float(code); });
  }
}

void LdsmFlatTrees::unpack(std::vector<LdsmTree>& trees, std::size_t labels, std::size_t arity,
                           std::uint64_t end) const {
  const auto require = StateVisitor::require;
  const std::size_t total = children_.size();
  require(nodes_.size() == trees.size(), "the saved model has another number of trees");
  require(weight_.size() == total && mass_.size() == total && histogram_size_.size() == total &&
              feature_size_.size() == total && recent_size_.size() == total,
          "the arrays of the saved trees differ in length");
  Pieces label(histogram_label_);
  Pieces count(histogram_count_);
  Pieces feature(feature_);
  Pieces regressor(regressor_);
  Pieces recent(recent_);
  std::size_t i = 0;
  for (std::size_t t = 0; t < trees.size(); ++t) {
    require(nodes_[t] > 0 && nodes_[t] <= total - i, "a saved tree has no nodes");
    std::vector<LdsmTree::Node> nodes(nodes_[t]);
    nodes[0].parent = LdsmTree::none;
    std::size_t next = 1;  // children follow in the order in which their parents were split
    for (std::uint32_t v = 0; v < nodes.size(); ++v, ++i) {
      LdsmTree::Node& node = nodes[v];
      node.children = children_[i];
      node.weight = weight_[i];
      node.mass = mass_[i];
      std::vector<LabelId> node_labels = label.take(histogram_size_[i]);
      for (std::size_t k = 0; k < node_labels.size(); ++k) {
        require(node_labels[k] < labels && (k == 0 || node_labels[k - 1] < node_labels[k]),
                "the saved tree has a label that does not exist");
      }
      node.histogram.assign(std::move(node_labels), count.take(histogram_size_[i]));
      node.recent = recent.take(recent_size_[i]);
      for (const std::uint64_t number : node.recent) {
        require(number < end, "a saved leaf has an example that does not exist");
      }
      std::vector<std::uint32_t> features = feature.take(feature_size_[i]);
      if (node.children == 0) {
        require(features.empty(), "a saved leaf has regressors");
        continue;
      }
      require(node.children > v && node.children + arity <= nodes.size(),
              "the saved tree has a child that does not exist");
      next += arity;
      for (std::size_t m = 0; m < arity; ++m) {
        require(nodes[node.children + m].parent == LdsmTree::none,
                "the saved tree has a node with two parents");
        nodes[node.children + m].parent = v;
      }
      const std::size_t size = features.size() * LdsmRegressors::lanes_for(arity);
      node.regressors = LdsmRegressors(arity, std::move(features), regressor.take(size));
    }
    require(next == nodes.size(), "the saved tree has a node without a parent");
    trees[t].assign(std::move(nodes));
  }
  require(i == total && label.empty() && count.empty() && feature.empty() && regressor.empty() &&
              recent.empty(),
          "an array of the saved trees is too long");
}

}  // namespace labeltree
