// The best labels of rows, of learners that rank them.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "model_lock.hpp"
#include "signals.hpp"

template <class Learner>
std::tuple<nb::ndarray<nb::numpy, labeltree::LabelId>, nb::ndarray<nb::numpy, float>> predict_topk(
    const Learner& self, const BoundMatrix& X, std::size_t k, std::size_t threads) {
  Reading lock(self.lock());
  require_features(X.view, self.bank().params().features);
  NewArray<labeltree::LabelId> labels({X.view.rows, k});
  NewArray<float> scores({X.view.rows, k});
  SignalPoll signals;
  {
    const ReleasedGil released;
    self.predict_topk(X.view, k, threads, labels.data(), scores.data(), signals.callback());
    lock.release();
  }
  signals.rethrow();
  return {labels.release(), scores.release()};
}

// Of one row, as lists without what is missing: quicker than arrays for so few.
template <class Learner>
std::tuple<std::vector<labeltree::LabelId>, std::vector<float>> predict_row(const Learner& self,
                                                                            const BoundMatrix& X,
                                                                            std::size_t k) {
  Reading lock(self.lock());
  require_features(X.view, self.bank().params().features);
  if (X.view.rows != 1) invalid("X has " + std::to_string(X.view.rows) + " rows, expected one");
  std::vector<labeltree::LabelId> labels(k);
  std::vector<float> scores(k);
  {
    const ReleasedGil released;
    self.predict_topk(X.view, k, 1, labels.data(), scores.data(), [] { return false; });
    lock.release();
  }
  labels.erase(std::find(labels.begin(), labels.end(), labeltree::no_label), labels.end());
  scores.resize(labels.size());
  return {std::move(labels), std::move(scores)};
}
