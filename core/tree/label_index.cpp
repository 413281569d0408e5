#include "tree/label_index.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "linear/simd.hpp"
#include "tree/search.hpp"

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

// How many postings a list makes room for that has as many as it can: an eighth more, since there are as
// many lists as features, and such that blocks of memory, of sixteen bytes less eight, are full.
std::size_t larger(std::size_t size) { return (size + std::max<std::size_t>(2, size / 8)) | 1; }

constexpr float faintest = 0.05f;  // of a row of length 1: what is smaller says too little to look up
constexpr float largest_weight = 1e15f;  // its square must be a number, too
constexpr float least = 1e-37f;          // products below this count as nothing

}  // namespace

namespace kernel {

// The largest product a[i] b[i] in each group, or 0; returns that of all. Eight groups take turns: 0, 8,
// 16... are one, and 1, 9, 17... another, `size` each.
LABELTREE_CLONES float largest_products(const float* a, const float* b, std::size_t groups,
                                        std::size_t size, float* largest) {
  simd::f32x8 of_all{};
  for (std::size_t group = 0; group < groups; group += 8) {
    simd::f32x8 most{};
    for (std::size_t i = 0; i < size; ++i, a += 8, b += 8) {
      const simd::f32x8 product = simd::load(a) * simd::load(b);
      most = product > most ? product : most;
    }
    simd::store(largest + group, most);
    of_all = most > of_all ? most : of_all;
  }
  float most = 0.0f;
  for (std::size_t i = 0; i < simd::width; ++i) most = std::max(most, of_all[i]);
  return most;
}

// Writes down which of n numbers, a multiple of eight, reach a bound; returns how many.
LABELTREE_CLONES std::size_t find_from(const float* values, std::size_t n, float bound,
                                       std::uint32_t* found) {
  std::size_t n_found = 0;
  for (std::size_t i = 0; i < n; i += 8) {
    const simd::i32x8 reach = simd::load(values + i) >= bound;
    std::uint64_t pairs[4];
    std::memcpy(pairs, &reach, sizeof pairs);
    if (((pairs[0] | pairs[1]) | (pairs[2] | pairs[3])) == 0) continue;
    for (std::size_t lane = 0; lane < 8; ++lane) {
      found[n_found] = static_cast<std::uint32_t>(i + lane);
      n_found += reach[lane] != 0;
    }
  }
  return n_found;
}

}  // namespace kernel

void LabelIndex::resize(std::size_t labels) {
  squared_norm_.resize(labels, 0.0);
  inverse_norm_.resize(labels, 0.0f);
}

// The number of a slot's list, or no_list.
std::size_t LabelIndex::list(std::size_t slot) const {
  if (frozen_) return frozen_postings_.list(slot);
  const std::uint32_t number = numbers_.find(slot);
  return number == SlotNumbers::absent ? no_list : std::size_t{number};
}

std::vector<LabelIndex::Posting>& LabelIndex::list_to_add_to(std::size_t slot) {
  const std::uint32_t number = numbers_.add(slot);
  if (number == lists_.size()) lists_.emplace_back();
  return lists_[number];
}

// Where a label is in a list; the list's size if it is not there.
std::size_t LabelIndex::find(const std::vector<Posting>& list, LabelId label) {
  constexpr std::size_t together = 16;  // compared without a branch for each
  std::size_t i = 0;
  for (; i + together <= list.size(); i += together) {
    std::uint32_t found = 0;
    for (std::size_t j = 0; j < together; ++j) found |= list[i + j].label == label ? 1u : 0u;
    if (found != 0) break;
  }
  while (i < list.size() && list[i].label != label) ++i;
  return i;
}

// The place of the label that a feature is least typical of, the first of several, and how typical.
std::pair<std::size_t, float> LabelIndex::least_typical(const std::vector<Posting>& list) const {
  std::size_t least = 0;
  float lowest = std::numeric_limits<float>::infinity();
  for (std::size_t i = 0; i < list.size(); ++i) {
    const float typical = list[i].sum * inverse_norm_[list[i].label];
    if (typical < lowest) {
      lowest = typical;
      least = i;
    }
  }
  return {least, lowest};
}

void LabelIndex::add(LabelId label, const Example& x, float weight) {
  if (weight > largest_weight) return;
  const float scale = unit_scale(x, slots_);
  if (scale == 0.0f) return;
  double dot = 0.0;
  visit_positive(x, slots_, [&](std::size_t slot, float unscaled) {
    const float value = scale * unscaled;
    std::vector<Posting>& list = list_to_add_to(slot);
    const auto own = list.begin() + static_cast<std::ptrdiff_t>(find(list, label));
    if (own != list.end()) {
      dot += double{own->sum} * value;
      own->sum += weight * value;
    } else if (list.size() < length_) {
      if (list.size() == list.capacity()) list.reserve(larger(list.size()));
      list.push_back({label, weight * value});
      ++postings_;
    } else {
      const auto [least, typical] = least_typical(list);
      const float sum = weight * value;
      if (sum * inverse_norm(squared_norm_[label] + double{weight} * weight) >= typical) {
        list[least] = {label, sum};
      }
    }
  });
  squared_norm_[label] += weight * (2.0 * dot + weight);
  inverse_norm_[label] = inverse_norm(squared_norm_[label]);
}

// Reads every list: which features a label has is known nowhere else.
void LabelIndex::forget(const Forgotten& forgotten) {
  std::vector<std::uint32_t> number(lists_.size(), SlotNumbers::absent);  // of each list afterwards
  std::uint32_t left = 0;
  postings_ = 0;
  for (std::size_t i = 0; i < lists_.size(); ++i) {  // in the order in which they were made, as in memory
    constexpr std::size_t ahead = 8;
    if (i + ahead < lists_.size()) __builtin_prefetch(lists_[i + ahead].data());
    std::vector<Posting>& list = lists_[i];
    std::erase_if(list, [&](const Posting& posting) { return forgotten.has(posting.label); });
    for (Posting& posting : list) posting.label = forgotten.id(posting.label);
    if (2 * list.size() < list.capacity()) list.shrink_to_fit();
    if (list.empty()) continue;
    postings_ += list.size();
    if (left < i) lists_[left] = std::move(list);
    number[i] = left++;
  }
  lists_.resize(left);
  numbers_.renumber(number, left);
  forgotten.apply_to_entries(squared_norm_, 0.0);
  forgotten.apply_to_entries(inverse_norm_, 0.0f);
}

// Lists have room for some more than they hold, and what an allocation takes beside its memory.
std::size_t LabelIndex::bytes() const {
  return postings_ * sizeof(Posting) * 17 / 16 + lists_.size() * (sizeof lists_[0] + 16) +
         squared_norm_.size() * (sizeof squared_norm_[0] + sizeof inverse_norm_[0]);
}

// Asks for a list, as far as it fits into a page, while another is read.
LABELTREE_INLINE void LabelIndex::prefetch_postings(std::size_t list) const {
  if (frozen_) return frozen_postings_.prefetch(list);
  constexpr std::size_t line = 64, page = 4096;
  const auto* byte = reinterpret_cast<const char*>(lists_[list].data());
  const std::size_t bytes = lists_[list].size() * sizeof(Posting);
  for (std::size_t i = 0; i < std::min(bytes, page); i += line) __builtin_prefetch(byte + i);
}

// Calls visit(label, sum) for the labels of a list.
template <class Visit>
void LabelIndex::visit_postings(std::size_t list, Visit visit) const {
  if (frozen_) return frozen_postings_.visit(list, visit);
  for (const Posting& posting : lists_[list]) visit(posting.label, posting.sum);
}

// Where the lists are long beside the number of labels, all labels are looked through afterwards: it
// is quicker than to write down which were found.
void LabelIndex::find(const Example& x, std::size_t n, std::span<const LabelId> without,
                      float weight, Similar& similar) const {
  const std::size_t labels = inverse_norm_.size();
  similar.of_label.resize(labels, 0.0f);
  std::vector<Similar::LookUp>& look_ups = similar.look_ups;
  look_ups.clear();
  const float scale = unit_scale(x, slots_);
  double of_itself = 0.0;  // what x has in common with x
  visit_positive(x, slots_, [&](std::size_t slot, float unscaled) {
    const float value = scale * unscaled;
    if (value < faintest) return;
    of_itself += double{value} * value;
    if (const std::size_t found = list(slot); found != no_list) {
      frozen_ ? frozen_postings_.prefetch_end(found) : __builtin_prefetch(&lists_[found]);
      look_ups.push_back({found, value});
    }
  });
  similar.all = labels < 16 * look_ups.size() * length_;
  if (similar.all) {
    add_up(look_ups, [of_label = similar.of_label.data()](LabelId label, float product) {
      of_label[label] += product + least;  // as below
    });
  } else {
    std::size_t most = 0;  // that may be found, whatever a damaged file says
    for (const Similar::LookUp& one : look_ups) {
      most += frozen_ ? frozen_postings_.size(one.list) : lists_[one.list].size();
    }
    similar.found.resize(std::max(similar.found.size(), most + 1));
    add_up(look_ups, [of_label = similar.of_label.data(), found = similar.found.data(),
                      &n_found = similar.n_found](LabelId label, float product) {
      float& sum = of_label[label];
      found[n_found] = label;  // kept if it is new; a branch would be hard to foresee
      n_found += std::bit_cast<std::uint32_t>(sum) == 0;
      sum += product + least;  // even if it is none: never zero again
    });
  }
  for (const LabelId label : without) {
    float& sum = similar.of_label[label];
    if (sum == 0.0f) continue;
    const double rest = double{sum} - weight * of_itself;
    const double norm = squared_norm_[label] - 2.0 * weight * sum + double{weight} * weight;
    sum = rest > 1e-6 && inverse_norm_[label] > 0.0f
              ? static_cast<float>(rest) * inverse_norm(norm) / inverse_norm_[label]
              : 0.0f;
  }
  select(n, similar);
}

// Calls add(label, sum * value) for all labels of some lists.
template <class Add>
void LabelIndex::add_up(const std::vector<Similar::LookUp>& look_ups, Add add) const {
  for (std::size_t i = 0; i < look_ups.size(); ++i) {
    if (i + 1 < look_ups.size()) prefetch_postings(look_ups[i + 1].list);
    const float value = look_ups[i].value;
    visit_postings(look_ups[i].list, [&](LabelId label, float sum) { add(label, sum * value); });
  }
}

// Those that may be among the best are collected, and thinned out when there are twice as many. Which
// way they are looked for depends on how many labels there is room for; what is found, and its order,
// must not: labels that are not learned yet change nothing.
void LabelIndex::select(std::size_t n, Similar& similar) const {
  std::vector<Similar::Near>& near = similar.near;
  near.clear();
  if (n == 0) return;
  const auto nearer = [](const Similar::Near& a, const Similar::Near& b) {
    return a.similarity != b.similarity ? a.similarity > b.similarity : a.label < b.label;
  };
  const auto keep_nearest = [&] {
    if (near.size() <= n) return;
    std::nth_element(near.begin(), near.begin() + static_cast<std::ptrdiff_t>(n) - 1, near.end(),
                     nearer);
    near.resize(n);
  };
  const float* of_label = similar.of_label.data();
  const float* norms = inverse_norm_.data();
  float enough = std::nextafter(least, 1.0f);
  const auto consider = [&](LabelId label) {
    const float similarity = of_label[label] * norms[label];
    if (!(similarity >= enough)) return;
    if (std::isinf(similarity)) return;  // a damaged file
    near.push_back({similarity, label});
    if (near.size() < 2 * n) return;
    keep_nearest();
    enough = near.back().similarity;
  };
  if (similar.all) {
    const std::size_t labels = similar.of_label.size(), size = labels < 8192 ? 8 : 32;
    const std::size_t groups = labels / (8 * size) * 8;
    std::vector<float>& largest = similar.largest;
    largest.resize(groups);
    const float high = kernel::largest_products(of_label, norms, groups, size, largest.data());
    if (groups > n) {  // as many groups as labels are sought have one that reaches this bound
      enough = std::max(enough, bound_of_best(largest.data(), groups, n, 0.0f, high));
    }
    std::vector<LabelId>& reaching = similar.found;
    reaching.resize(std::max(reaching.size(), groups + 8));
    const std::size_t n_reaching =
        kernel::find_from(largest.data(), groups, enough, reaching.data());
    for (std::size_t i = 0; i < n_reaching; ++i) {
      const std::size_t group = reaching[i];
      if (largest[group] < enough) continue;  // more than that is known by now
      const std::size_t first = group / 8 * 8 * size + group % 8;
      for (std::size_t j = 0; j < size; ++j) consider(static_cast<LabelId>(first + 8 * j));
    }
    for (std::size_t label = groups * size; label < labels; ++label) {
      consider(static_cast<LabelId>(label));
    }
  } else {
    for (std::size_t i = 0; i < similar.n_found; ++i) consider(similar.found[i]);
  }
  keep_nearest();
  std::sort(near.begin(), near.end(), nearer);
}

float LabelIndex::similarity(LabelId label, const Similar& similar) const {
  const float similarity = similar.of_label[label] * inverse_norm_[label];
  return std::isfinite(similarity) ? similarity : 0.0f;
}

void LabelIndex::forget(Similar& similar) {
  if (similar.all) std::fill(similar.of_label.begin(), similar.of_label.end(), 0.0f);
  for (std::size_t i = 0; i < similar.n_found; ++i) similar.of_label[similar.found[i]] = 0.0f;
  similar.all = false;
  similar.n_found = 0;
}

// Calls visit(slot, list) in the order of slots.
template <class Visit>
void LabelIndex::visit_lists(Visit visit) const {
  numbers_.visit([&](std::size_t slot, std::uint32_t number) { visit(slot, lists_[number]); });
}

void LabelIndex::freeze(StateVisitor& state) const {
  std::vector<std::uint64_t> slots, end;
  std::vector<LabelId> labels;
  std::vector<float> typical;
  visit_lists([&](std::size_t slot, const std::vector<Posting>& list) {
    for (const Posting& posting : list) {
      labels.push_back(posting.label);
      typical.push_back(posting.sum * inverse_norm_[posting.label]);
    }
    if (!end.empty() && end.back() == labels.size()) return;
    slots.push_back(slot);
    end.push_back(labels.size());
  });
  FrozenPostings postings(0);
  postings.set(std::move(slots), std::move(end), labels, typical, inverse_norm_.size(),
               *state.freezing());
  postings.visit_state(state, inverse_norm_.size());
}

// Saves lists in the order of their slots.
void LabelIndex::visit_state(StateVisitor& state, std::size_t labels) {
  if (state.freezing() && !frozen_) return freeze(state);
  if (frozen_) {
    inverse_norm_.assign(labels, 1.0f);
    return frozen_postings_.visit_state(state, labels);
  }
  std::vector<std::uint32_t> slot, size, label;
  std::vector<float> sum;
  if (!state.restoring()) {
    label.reserve(postings_);
    sum.reserve(postings_);
    visit_lists([&](std::size_t i, const std::vector<Posting>& list) {
      slot.push_back(static_cast<std::uint32_t>(i));
      size.push_back(static_cast<std::uint32_t>(list.size()));
      for (const Posting& posting : list) {
        label.push_back(posting.label);
        sum.push_back(posting.sum);
      }
    });
  }
  state.made("index_label", label);
  state.made("index_sum", sum);
  state.array("index_slot", slot);
  state.array("index_size", size);
  state.array("index_squared_norm", squared_norm_);
  if (!state.restoring()) return;
  const auto require = StateVisitor::require;
  require(slot.size() == size.size() && label.size() == sum.size() &&
              squared_norm_.size() == labels,
          "the arrays of the saved index differ in length");
  std::size_t next = 0;
  for (std::size_t i = 0; i < slot.size(); ++i) {
    require(slot[i] < numbers_.slots() && numbers_.find(slot[i]) == SlotNumbers::absent,
            "the saved index has a feature that does not exist, or has it twice");
    require(size[i] <= label.size() - next, "the saved index is too short");
    require(size[i] <= length_, "the saved index has a list that is too long");
    std::vector<Posting>& list = list_to_add_to(slot[i]);
    list.reserve(size[i]);
    for (std::uint32_t j = 0; j < size[i]; ++j, ++next) {
      require(label[next] < labels, "the saved index has a label that does not exist");
      list.push_back({label[next], sum[next]});
    }
  }
  require(next == label.size(), "the saved index is too long");
  postings_ = label.size();
  inverse_norm_.resize(labels);
  std::transform(squared_norm_.begin(), squared_norm_.end(), inverse_norm_.begin(), inverse_norm);
}

}  // namespace labeltree
