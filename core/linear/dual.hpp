// One exact step of dual coordinate descent (Hsieh et al. 2008, the squared hinge loss L2).
#pragma once

#include <algorithm>

namespace labeltree {

// A model w minimises |w|^2 / 2 + C sum max(0, 1 - y w.x)^2 over examples (x, y), y = -1 or +1. Its
// dual has a variable alpha >= 0 an example, and w is the sum of alpha y x. Returns the alpha of one
// example that is best while all others stay; `agreement` is y w.x, `squared_norm` |x|^2. There is
// no step size. From alpha = 0 it is the online rule PA-II (Crammer et al. 2006).
inline float dual_step(float alpha, float agreement, float squared_norm, float C) {
  const float diagonal = 0.5f / C;
  const float gradient = agreement - 1.0f + diagonal * alpha;
  return std::max(0.0f, alpha - gradient / (squared_norm + diagonal));
}

}  // namespace labeltree
