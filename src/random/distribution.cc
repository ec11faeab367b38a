#include "random/distribution.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace quern::random {

Pair normal_pair(double u, double v) {
  double radius = std::sqrt(-2 * std::log(u)), angle = 2 * std::numbers::pi * v;
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

double normal_quantile(double p) {
  if (p >= 1) p = 1 - 0x1p-53;
  bool low = p < 0.5;
  double tail = low ? p : 1 - p;
  double t = std::sqrt(-2 * std::log(tail));
  double x = t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
  for (int i = 0; i < 3; ++i) {
    // x is where the upper tail is `tail`.
    double error = 0.5 * std::erfc(x / std::numbers::sqrt2) - tail;
    double density = std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
    if (density == 0) break;
    double step = error / density;
    x += step / (1 - x * step / 2);
  }
  return low ? -x : x;
}

Poisson::Poisson(double mean) {
  // What is left out on either side is less than 2^-53.
  double reach = 12 * std::sqrt(mean) + 24;
  double first = std::max(0.0, std::floor(mean - reach)), last = std::ceil(mean + reach);
  first_ = static_cast<uint32_t>(first);
  double sum = 0;
  for (double k = first; k <= last; ++k) {
    sum += std::exp(k * std::log(mean) - mean - std::lgamma(k + 1));
    cumulative_.push_back(sum);
  }
  for (double& c : cumulative_) c /= sum;
}

uint32_t Poisson::at(double p) const {
  auto found = std::lower_bound(cumulative_.begin(), cumulative_.end(), p);
  if (found == cumulative_.end()) --found;
  return first_ + static_cast<uint32_t>(found - cumulative_.begin());
}

}  // namespace quern::random
