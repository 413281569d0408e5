#include "linear/loss.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace labeltree {
namespace {

// How far the margin a = y p travels in time tau under da/dtau = 1 / (1 + exp(a)).
// Its solution satisfies z + exp(z) = a + exp(a) + tau, z being the margin at the end.
double logistic_travel(double a, double tau) {
  if (a > 30.0) return tau * std::exp(-a);  // the slope no longer changes
  const double ea = std::exp(a);
  const double slope = 1.0 / (1.0 + ea);
  if (tau < 0.02) {  // Taylor to third order: the rest is below 1e-9
    const double r = 1.0 - slope;
    return tau * slope * (1.0 - tau * r * slope * (0.5 - tau * slope * (3.0 * r - 1.0) / 6.0));
  }
  const double q = a + ea + tau;
  // Newton's method, which converges from the right of the root, and from anywhere comes there with its
  // first step: from Taylor's polynomial of second order, or if tau is large from the right; neither
  // the first Euler step nor max(0, log q) lies left of the root.
  double z = tau < 1.0 ? a + tau * slope * (1.0 - 0.5 * tau * (1.0 - slope) * slope)
                       : std::min(a + tau * slope, std::max(0.0, std::log(std::max(q, 1.0))));
  for (int i = 0; i < 50; ++i) {
    const double ez = std::exp(z);
    const double dz = (z + ez - q) / (1.0 + ez);
    z -= dz;
    if (std::abs(dz) < 2e-5) break;  // what is left is less than its square
  }
  return z - a;
}

}  // namespace

double probability(Loss loss, float p) {
  switch (loss) {
    case Loss::logistic: return 1.0 / (1.0 + std::exp(-double{p}));
    case Loss::squared: return std::clamp(double{p}, 0.0, 1.0);
    case Loss::hinge: break;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

float gradient(Loss loss, float p, float y) {
  switch (loss) {
    case Loss::logistic: return -y / (1.0f + std::exp(y * p));
    case Loss::squared: return 2.0f * (p - y);
    case Loss::hinge: return y * p < 1.0f ? -y : 0.0f;
  }
  return 0.0f;
}

float importance_aware_step(Loss loss, float p, float y, float kappa, float step) {
  if (!(kappa > 0.0f)) return -step * gradient(loss, p, y);
  switch (loss) {
    case Loss::logistic:
      return y * static_cast<float>(logistic_travel(double{y} * p, double{step} * kappa) / kappa);
    case Loss::squared: return (p - y) * std::expm1(-2.0f * step * kappa) / kappa;
    case Loss::hinge: {
      const float margin = y * p;
      return margin < 1.0f ? y * std::min(step, (1.0f - margin) / kappa) : 0.0f;
    }
  }
  return 0.0f;
}

}  // namespace labeltree
