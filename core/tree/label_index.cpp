#include "tree/label_index.hpp"

#include <algorithm>
#include <cmath>

namespace labeltree {
namespace {

float inverse_norm(double squared_norm) {
  return squared_norm > 1e-12 ? static_cast<float>(std::pow(squared_norm, -0.375)) : 0.0f;
}

// Calls visit(slot, value) for the positive values of a row, the constant left out. A dense row has
// its values in the order of their slots.
template <class Visit>
void visit_positive(const Example& x, std::size_t slots, Visit visit) {
  const std::size_t features = x.slot == nullptr ? slots : x.size - 1;
  for (std::size_t i = 0; i < features; ++i) {
    if (x.value[i] > 0.0f) visit(x.slot == nullptr ? i : x.slot[i], x.value[i]);
  }
}

// What makes the length of a row's positive values 1, or 0 if nothing does.
float unit_scale(const Example& x, std::size_t slots) {
  double squares = 0.0;
  visit_positive(x, slots, [&](std::size_t, float value) { squares += double{value} * value; });
  const auto scale = static_cast<float>(1.0 / std::sqrt(squares));
  return std::isfinite(scale) ? scale : 0.0f;
}

constexpr float faintest = 0.05f;  // of a row of length 1: what is smaller says too little to look up
constexpr float largest_weight = 1e15f;  // its square must be a number, too

}  // namespace

void LabelIndex::resize(std::size_t labels) {
  squared_norm_.resize(labels, 0.0);
  inverse_norm_.resize(labels, 0.0f);
}

void LabelIndex::add(LabelId label, const Example& x, float weight) {
  if (weight > largest_weight) return;
  const float scale = unit_scale(x, slots_);
  if (scale == 0.0f) return;
  double dot = 0.0;
  visit_positive(x, slots_, [&](std::size_t slot, float unscaled) {
    const float value = scale * unscaled;
    if (slot >= postings_.size()) postings_.resize(slot + 1);
    std::vector<Posting>& list = postings_[slot];
    const auto own = std::find_if(list.begin(), list.end(),
                                  [&](const Posting& p) { return p.label == label; });
    if (own != list.end()) {
      dot += double{own->sum} * value;
      own->sum += weight * value;
    } else if (list.size() < length_) {
      list.push_back({label, weight * value});
    } else {
      const auto typical = [&](const Posting& p) { return p.sum * inverse_norm_[p.label]; };
      const auto least =
          std::min_element(list.begin(), list.end(), [&](const Posting& a, const Posting& b) {
            return typical(a) < typical(b);
          });
      const float sum = weight * value;
      if (sum * inverse_norm(squared_norm_[label] + double{weight} * weight) >= typical(*least)) {
        *least = {label, sum};
      }
    }
  });
  squared_norm_[label] += weight * (2.0 * dot + weight);
  inverse_norm_[label] = inverse_norm(squared_norm_[label]);
}

// Calls visit(label, sum) for the labels that a feature remembers.
template <class Visit>
void LabelIndex::visit_postings(std::size_t slot, Visit visit) const {
  if (!frozen_) {
    if (slot >= postings_.size()) return;
    for (const Posting& posting : postings_[slot]) visit(posting.label, posting.sum);
  } else if (const UsedBits::Group group = used_.groups()[slot / 32]; UsedBits::has(group, slot)) {
    // Checked here: to check all of a mapped file when it is opened would read all of it.
    const std::size_t list = UsedBits::place(group, slot);
    const auto end = std::min<std::uint64_t>(list_end_[list], list_label_.size());
    for (std::uint64_t i = list == 0 ? 0 : list_end_[list - 1]; i < end; ++i) {
      if (list_label_[i] < list_norm_.size()) visit(list_label_[i], list_sum_[i]);
    }
  }
}

void LabelIndex::find(const Example& x, std::size_t n, std::span<const LabelId> without,
                      float weight, Similar& similar) const {
  const std::size_t labels = frozen_ ? list_norm_.size() : inverse_norm_.size();
  const float* norms = frozen_ ? list_norm_.data() : inverse_norm_.data();
  similar.of_label.resize(labels, 0.0f);
  similar.found.resize(labels + 1);
  const float scale = unit_scale(x, slots_);
  std::size_t found = similar.n_found;
  double of_itself = 0.0;  // what x has in common with x
  visit_positive(x, slots_, [&](std::size_t slot, float unscaled) {
    const float value = scale * unscaled;
    if (value < faintest) return;
    of_itself += double{value} * value;
    visit_postings(slot, [&](LabelId label, float of_centroid) {
      const float product = of_centroid > 0.0f ? of_centroid * value : 0.0f;
      float& sum = similar.of_label[label];
      similar.found[found] = label;  // kept if it is new; a branch would be hard to foresee
      found += (sum == 0.0f) & (product > 0.0f);
      sum += product;
    });
  });
  similar.n_found = found;
  for (const LabelId label : without) {
    float& sum = similar.of_label[label];
    if (sum == 0.0f) continue;
    const double rest = double{sum} - weight * of_itself;
    const double norm = squared_norm_[label] - 2.0 * weight * sum + double{weight} * weight;
    sum = rest > 1e-6 && inverse_norm_[label] > 0.0f
              ? static_cast<float>(rest) * inverse_norm(norm) / inverse_norm_[label]
              : 0.0f;
  }
  const auto better = [&](LabelId a, LabelId b) {
    const float sa = similar.of_label[a], sb = similar.of_label[b];
    return sa != sb ? sa > sb : a < b;
  };
  std::vector<LabelId>& nearest = similar.nearest;  // a heap, the worst on top
  nearest.clear();
  for (std::size_t i = 0; i < found; ++i) {
    const LabelId label = similar.found[i];
    float& similarity = similar.of_label[label];
    similarity *= norms[label];
    if (!std::isfinite(similarity)) similarity = 0.0f;  // only in a damaged file
    if (!(similarity > 0.0f)) continue;
    if (nearest.size() == n) {
      if (!better(label, nearest.front())) continue;
      std::pop_heap(nearest.begin(), nearest.end(), better);
      nearest.pop_back();
    }
    nearest.push_back(label);
    std::push_heap(nearest.begin(), nearest.end(), better);
  }
}

void LabelIndex::forget(Similar& similar) {
  for (std::size_t i = 0; i < similar.n_found; ++i) similar.of_label[similar.found[i]] = 0.0f;
  similar.n_found = 0;
}

void LabelIndex::visit_frozen(StateVisitor& state, std::size_t labels) {
  const std::size_t lists = used_.visit_state(state, "index_used");
  state.shared("index_end", list_end_);
  state.shared("index_label", list_label_);
  state.shared("index_sum", list_sum_);
  state.shared("index_norm", list_norm_);
  if (!state.restoring()) return;
  StateVisitor::require(list_end_.size() == lists && list_norm_.size() == labels &&
                            list_label_.size() == list_sum_.size() &&
                            list_label_.size() == (lists == 0 ? 0 : list_end_[lists - 1]),
                        "the arrays of the saved index differ in length");
}

void LabelIndex::visit_state(StateVisitor& state, std::size_t labels) {
  if (frozen_) return visit_frozen(state, labels);
  std::vector<std::uint32_t> size, label;
  std::vector<std::uint64_t> end;
  std::vector<float> sum;
  UsedBits used(state.freezing() ? slots_ : 0);
  if (!state.restoring()) {
    for (std::size_t slot = 0; slot < postings_.size(); ++slot) {
      const std::vector<Posting>& list = postings_[slot];
      size.push_back(static_cast<std::uint32_t>(list.size()));
      if (state.freezing() && !list.empty()) {
        used.use(slot);
        end.push_back(label.size() + list.size());
      }
      for (const Posting& posting : list) {
        label.push_back(posting.label);
        sum.push_back(posting.sum);
      }
    }
  }
  state.array("index_label", label);
  state.array("index_sum", sum);
  if (state.freezing()) {
    used.visit_state(state, "index_used");
    state.array("index_end", end);
    state.array("index_norm", inverse_norm_);
    return;
  }
  state.array("index_size", size);
  state.array("index_squared_norm", squared_norm_);
  if (!state.restoring()) return;
  const auto require = StateVisitor::require;
  require(size.size() <= slots_ && label.size() == sum.size() && squared_norm_.size() == labels,
          "the arrays of the saved index differ in length");
  postings_.assign(size.size(), {});
  std::size_t next = 0;
  for (std::size_t slot = 0; slot < size.size(); ++slot) {
    require(size[slot] <= label.size() - next, "the saved index is too short");
    require(size[slot] <= length_, "the saved index has a list that is too long");
    for (std::uint32_t i = 0; i < size[slot]; ++i, ++next) {
      require(label[next] < labels, "the saved index has a label that does not exist");
      postings_[slot].push_back({label[next], sum[next]});
    }
  }
  require(next == label.size(), "the saved index is too long");
  inverse_norm_.resize(labels);
  std::transform(squared_norm_.begin(), squared_norm_.end(), inverse_norm_.begin(), inverse_norm);
}

}  // namespace labeltree
