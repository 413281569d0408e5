// For every feature, the labels whose rows have it most: a bounded inverted index of centroids.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "labels.hpp"
#include "linear/example.hpp"
#include "state.hpp"
#include "tree/forgotten.hpp"
#include "tree/frozen_postings.hpp"
#include "tree/slot_numbers.hpp"

namespace labeltree {

// How similar labels are to an example; memory that one thread uses and uses again.
struct Similar {
  std::vector<float> of_label;    // c . x; zero for labels not found
  bool all = false;               // any label may have been found
  std::vector<LabelId> found;     // else these: the first n_found of it; memory for groups, too
  std::size_t n_found = 0;
  struct Near {
    float similarity;
    LabelId label;
  };
  std::vector<Near> near;         // the best of those found, best first
  struct LookUp {
    std::size_t list;
    float value;  // of the feature
  };
  std::vector<LookUp> look_ups;
  std::vector<float> largest;     // similarity of a group of labels
};

// A label's centroid is the sum c of its rows, each made of length 1. The similarity of a row x is
// c . x / |c|^0.75: between the cosine, which overrates labels of one row, and the plain sum, which
// overrates frequent ones. Each feature remembers `length` labels at most, those it is most typical
// of, so that an example costs its number of features times `length` whatever the number of labels.
// It is made for words: the constant, and values that are not positive, are left out.
class LabelIndex {
 public:
  // `slots`: that features may have. A `frozen` index is restored, and only found in.
  LabelIndex(std::size_t length, std::size_t slots, bool frozen)
      : length_(length),
        slots_(slots),
        frozen_(frozen),
        numbers_(length > 0 && !frozen ? slots : 0),
        frozen_postings_(length > 0 && frozen ? slots : 0) {}

  void resize(std::size_t labels);
  void add(LabelId label, const Example& x, float weight);
  void forget(const Forgotten& forgotten);
  std::size_t bytes() const;  // that lists and labels take

  // Finds the `n` labels most similar to x. Of the labels in `without`, whose centroids have x in
  // them with the given weight, it is taken out again. `forget` must follow.
  void find(const Example& x, std::size_t n, std::span<const LabelId> without, float weight,
            Similar& similar) const;
  static void forget(Similar& similar);
  float similarity(LabelId label, const Similar& similar) const;  // 0 if it was not found

  void visit_state(StateVisitor& state, std::size_t labels);

 private:
  struct Posting {
    LabelId label;
    float sum;
  };

  static constexpr std::size_t no_list = FrozenPostings::no_list;

  static std::size_t find(const std::vector<Posting>& list, LabelId label);
  std::pair<std::size_t, float> least_typical(const std::vector<Posting>& list) const;
  std::size_t list(std::size_t slot) const;
  std::vector<Posting>& list_to_add_to(std::size_t slot);
  void prefetch_postings(std::size_t list) const;
  template <class Visit> void visit_postings(std::size_t list, Visit visit) const;
  template <class Add> void add_up(const std::vector<Similar::LookUp>& look_ups, Add add) const;
  void select(std::size_t n, Similar& similar) const;
  template <class Visit> void visit_lists(Visit visit) const;
  void freeze(StateVisitor& state) const;

  std::size_t length_;
  std::size_t slots_;
  bool frozen_;
  SlotNumbers numbers_;                         // of the lists
  std::vector<std::vector<Posting>> lists_;
  std::size_t postings_ = 0;                    // in all lists
  FrozenPostings frozen_postings_;              // frozen: the same, with norms multiplied in
  std::vector<double> squared_norm_;            // of each label's centroid
  std::vector<float> inverse_norm_;             // 1 / |c|^0.75, derived; frozen: 1
};

}  // namespace labeltree
