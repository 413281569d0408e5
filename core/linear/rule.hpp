// How a linear model learns.
#pragma once

#include "linear/loss.hpp"

namespace labeltree {

enum class Update { adaptive, sgd, dual };

// Models of one bank may learn by different rules: a tree's routers and its label scorers do.
struct Rule {
  Loss loss = Loss::logistic;
  Update update = Update::adaptive;
  float step = 0.5f;
  float power = 0.0f;  // sgd: the step of a model's t-th example is step / t^power
  // Examples on which the loss has no larger slope than this are not learned from: they are nearly
  // all that a rare label's model sees, and change next to nothing.
  float min_gradient = 1e-3f;
  float C = 1.0f;  // dual: how much the loss counts beside |w|^2 / 2, for rows of length one
  // dual: of how many shards of the rows this is one, if models are averaged that each learned its own.
  // Steps are as if all other shards took the same (CoCoA+, Ma et al. 2015, with sigma' = K), so that
  // the average is still the sum of alpha y x.
  float shards = 1.0f;
};

}  // namespace labeltree
