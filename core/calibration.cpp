#include "calibration.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "linear/simd.hpp"

namespace labeltree {
namespace {

constexpr std::size_t bins = 128;
constexpr float lowest = -16.0f, width = 0.25f;  // log-odds, of the first bin and of each
constexpr double prior = 10.0;  // how much an untrained curve, a = b = 1, c = 0, counts
constexpr std::uint64_t warm = 256;      // examples before the first are forgotten
constexpr std::uint64_t window = std::uint64_t{1} << 20;  // examples after which it is time again
constexpr double kept = 0.125;           // of what was noted, each time

using Numbers = std::array<double, 3>;
constexpr Numbers untrained{1.0, 1.0, 0.0};

double log1pexp(double z) { return z > 0.0 ? z + std::log1p(std::exp(-z)) : std::log1p(std::exp(z)); }

// What a, b and c are multiplied with: log q, -log(1 - q), 1.
Numbers factors(double log_odds) {
  const double more = std::log1p(std::exp(-std::abs(log_odds)));  // what both have in common
  return {-(std::max(-log_odds, 0.0) + more), std::max(log_odds, 0.0) + more, 1.0};
}

double dot(const Numbers& x, const double* curve) {
  return x[0] * curve[0] + x[1] * curve[1] + x[2] * curve[2];
}

const std::array<Numbers, bins>& bin_factors() {
  static const std::array<Numbers, bins> table = [] {
    std::array<Numbers, bins> made;
    for (std::size_t bin = 0; bin < bins; ++bin) {
      made[bin] = factors(lowest + width * (static_cast<double>(bin) + 0.5));
    }
    return made;
  }();
  return table;
}

// Solves A x = b by elimination; A is symmetric and positive definite.
Numbers solve(std::array<Numbers, 3> A, Numbers b) {
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = i + 1; j < 3; ++j) {
      const double factor = A[j][i] / A[i][i];
      for (std::size_t k = i; k < 3; ++k) A[j][k] -= factor * A[i][k];
      b[j] -= factor * b[i];
    }
  }
  for (std::size_t i = 3; i-- > 0;) {
    for (std::size_t k = i + 1; k < 3; ++k) b[i] -= A[i][k] * b[k];
    b[i] /= A[i][i];
  }
  return b;
}

}  // namespace

namespace kernel {

// With the numbers of a curve.
LABELTREE_CLONES void to_probabilities(float a, float b, float c, float* stated, std::size_t size) {
  using simd::f32x8;
  for (std::size_t i = 0; i < size; i += 8) {
    const f32x8 z = simd::load(stated + i);
    const f32x8 more = z > 0.0f ? z : f32x8{}, less = z - more;
    const f32x8 rest = simd::log(1.0f + simd::exp(less - more));  // log q = less - rest
    const f32x8 odds = a == b ? a * z + c : a * (less - rest) + b * (more + rest) + c;
    simd::store(stated + i, 1.0f / (1.0f + simd::exp(-odds)));
  }
}

}  // namespace kernel

Calibration::Calibration()
    : curve_(untrained.begin(), untrained.end()), stated_(bins, 0.0), right_(bins, 0.0) {}

void Calibration::note(float log_odds, bool right, float weight) {
  const float at = std::clamp((log_odds - lowest) / width, 0.0f, static_cast<float>(bins - 1));
  const auto bin = static_cast<std::size_t>(at);
  stated_[bin] += weight;
  if (right) right_[bin] += weight;
}

void Calibration::end_example() {
  ++examples_;
  const bool doubled = (examples_ & (examples_ - 1)) == 0;
  if (examples_ >= warm && (doubled || examples_ % window == 0)) forget();
  if (examples_ < next_fit_) return;
  next_fit_ = examples_ + 1 + examples_ / 32;
  fit();
}

void Calibration::forget() {
  for (double& weight : stated_) weight *= kept;
  for (double& weight : right_) weight *= kept;
}

double Calibration::misfit(const double* curve) const {
  double sum = 0.0;
  for (std::size_t bin = 0; bin < bins; ++bin) {
    if (stated_[bin] == 0.0) continue;
    const double z = dot(bin_factors()[bin], curve);
    sum += stated_[bin] * log1pexp(z) - right_[bin] * z;
  }
  for (std::size_t i = 0; i < 3; ++i) {
    sum += 0.5 * prior * (curve[i] - untrained[i]) * (curve[i] - untrained[i]);
  }
  return sum;
}

// Newton's steps, halved until they help. A number that would let the curve fall stays at zero.
void Calibration::fit() {
  Numbers curve{curve_[0], curve_[1], curve_[2]};
  std::array<bool, 3> fixed{};
  double before = misfit(curve.data());
  for (int step = 0; step < 30; ++step) {
    Numbers gradient{};
    std::array<Numbers, 3> hessian{};
    for (std::size_t i = 0; i < 3; ++i) {
      gradient[i] = prior * (untrained[i] - curve[i]);
      hessian[i][i] = prior;
    }
    for (std::size_t bin = 0; bin < bins; ++bin) {
      if (stated_[bin] == 0.0) continue;
      const Numbers& x = bin_factors()[bin];
      const double p = 1.0 / (1.0 + std::exp(-dot(x, curve.data())));
      for (std::size_t i = 0; i < 3; ++i) {
        gradient[i] += (right_[bin] - stated_[bin] * p) * x[i];
        for (std::size_t j = 0; j < 3; ++j) hessian[i][j] += stated_[bin] * p * (1.0 - p) * x[i] * x[j];
      }
    }
    for (std::size_t i = 0; i < 2; ++i) {
      fixed[i] = curve[i] == 0.0 && gradient[i] <= 0.0;
      if (!fixed[i]) continue;
      gradient[i] = 0.0;
      for (std::size_t j = 0; j < 3; ++j) hessian[i][j] = hessian[j][i] = i == j ? 1.0 : 0.0;
    }
    const Numbers direction = solve(hessian, gradient);
    bool better = false;
    double after = before;
    for (double length = 1.0; length > 1e-4 && !better; length *= 0.5) {
      Numbers next;
      for (std::size_t i = 0; i < 3; ++i) {
        next[i] = curve[i] + length * direction[i];
        if (i < 2) next[i] = std::max(0.0, next[i]);
      }
      after = misfit(next.data());
      better = after < before;
      if (better) curve = next;
    }
    const bool settled = !better || before - after < 1e-6 * before;
    before = after;
    if (settled) break;
  }
  curve_.assign(curve.begin(), curve.end());
}

void Calibration::to_probabilities(float* stated, std::size_t size) const {
  kernel::to_probabilities(static_cast<float>(curve_[0]), static_cast<float>(curve_[1]),
                           static_cast<float>(curve_[2]), stated, size);
}

void Calibration::visit_state(StateVisitor& state, const std::string& prefix, bool learns) {
  state.array(prefix + "curve", curve_);
  if (learns) {
    state.value(prefix + "examples", examples_);
    state.value(prefix + "next_fit", next_fit_);
    state.array(prefix + "stated", stated_);
    state.array(prefix + "right", right_);
  }
  if (!state.restoring()) return;
  const auto require = StateVisitor::require;
  require(curve_.size() == 3 && stated_.size() == bins && right_.size() == bins,
          "the saved curve of probabilities has a wrong number of entries");
  for (std::size_t i = 0; i < 3; ++i) {
    require(std::isfinite(curve_[i]) && (i == 2 || curve_[i] >= 0.0),
            "the saved curve of probabilities is none");
  }
  for (std::size_t bin = 0; bin < bins; ++bin) {
    require(right_[bin] >= 0.0 && right_[bin] <= stated_[bin] && std::isfinite(stated_[bin]),
            "the saved curve of probabilities was right more often than it was asked");
  }
}

}  // namespace labeltree
