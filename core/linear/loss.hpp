// Losses of a linear model and their importance-aware steps.
#pragma once

namespace labeltree {

enum class Loss { logistic, squared, hinge };

}  // namespace labeltree
