#include "tree/node_tops.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace labeltree {

double NodeTops::Top::sum(std::size_t n) const {
  double total = 0.0;
  for (std::size_t i = 0; i < std::min(n, size()); ++i) total += count(i);
  return total;
}

// One node after the other, at most most(node) labels of each.
struct NodeTops::Flat {
  Flat(const NodeTops& tops, std::size_t nodes, const std::function<std::size_t(std::size_t)>& most) {
    for (std::size_t node = 0; node < nodes; ++node) {
      const Top top = tops[node];
      const std::size_t kept = std::min(top.size(), most(node));
      size.push_back(static_cast<std::uint32_t>(kept));
      for (std::size_t i = 0; i < kept; ++i) {
        labels.push_back(top.label(i));
        counts.push_back(top.count(i));
      }
    }
  }

  std::vector<std::uint32_t> size;
  std::vector<LabelId> labels;
  std::vector<double> counts;
};

namespace {

constexpr std::size_t all(std::size_t /*node*/) { return std::numeric_limits<std::size_t>::max(); }

// Where the labels of each node begin, and where the last ones end; throws if these are not right.
std::vector<std::uint32_t> begin_of(const auto& sizes, const auto& labels, const auto& counts,
                                    std::size_t nodes, std::size_t n_labels) {
  const auto require = StateVisitor::require;
  std::vector<std::uint32_t> begin(nodes + 1);
  std::uint64_t end = 0;
  require(sizes.size() == nodes, "the saved label counts differ in length");
  for (std::size_t node = 0; node < nodes; ++node) {
    end += sizes[node];
    begin[node + 1] = static_cast<std::uint32_t>(end);
  }
  require(end == labels.size() && end == counts.size() &&
              end <= std::numeric_limits<std::uint32_t>::max(),
          "the saved label counts differ in length");
  // Without an end before the last, so that eight are looked at at once.
  LabelId largest = 0;
  for (const LabelId label : labels) largest = std::max(largest, label);
  require(end == 0 || largest < n_labels, "the saved tree has a label that does not exist");
  bool are_counts = true;
  for (const double count : counts) are_counts &= count >= 0.0;
  require(are_counts, "the saved tree has a label with a count that is none");
  return begin;
}

}  // namespace

void NodeTops::visit_state(StateVisitor& state, std::size_t nodes, std::size_t labels) {
  Flat flat(*this, state.restoring() ? 0 : nodes, all);
  state.array("top_size", flat.size);
  state.array("top_label", flat.labels);
  state.array("top_count", flat.counts);
  if (!state.restoring()) return;
  const std::vector<std::uint32_t> begin =
      begin_of(flat.size, flat.labels, flat.counts, nodes, labels);
  tops_.assign(nodes, {});
  for (std::size_t node = 0; node < nodes; ++node) {
    for (std::uint32_t i = begin[node]; i < begin[node + 1]; ++i) {
      tops_[node].entries().push_back({flat.labels[i], flat.counts[i]});
    }
  }
}

void NodeTops::visit_frozen(StateVisitor& state, std::size_t nodes, std::size_t labels,
                            const std::function<std::size_t(std::size_t)>& most) {
  Flat flat(*this, state.restoring() ? 0 : nodes, most);
  SharedArray<std::uint32_t> size(std::move(flat.size));
  SharedArray<LabelId> label(std::move(flat.labels));
  SharedArray<double> count(std::move(flat.counts));
  state.shared("top_size", size);
  state.shared("top_label", label);
  state.shared("top_count", count);
  if (!state.restoring()) return;
  begin_ = begin_of(size, label, count, nodes, labels);
  tops_ = {};
  labels_ = std::move(label);
  counts_ = std::move(count);
}

}  // namespace labeltree
