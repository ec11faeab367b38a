// What is made of random words: numbers that are spread evenly, normally, log-normally, or as Poisson has it.
#pragma once

#include <cstdint>
#include <vector>

namespace quern::random {

// Above 0, up to 1: the middle of the word's interval, rounded.
constexpr float uniform(uint32_t word) { return static_cast<float>((static_cast<double>(word) + 0.5) * 0x1p-32); }
// By the 53 high bits.
constexpr double uniform_double(uint64_t bits) { return static_cast<double>((bits >> 11) + 1) * 0x1p-53; }

// Two independent normal numbers of two even ones: G. Box, M. Muller, "A note on the generation of random normal
// deviates", 1958.
struct Pair {
  double first, second;
};
Pair normal_pair(double u, double v);

// The number that a normal one is below with probability p > 0, to about 1e-13 of p or 1 - p; keeps the order of
// quasi-random numbers. From formula 26.2.23 of Abramowitz and Stegun on, by Halley's method; 1 is as the number
// before.
double normal_quantile(double p);

// Poisson numbers by a table of their cumulative probabilities around the mean.
class Poisson {
 public:
  explicit Poisson(double mean);
  uint32_t at(double p) const;  // the least number that has at least probability p below or at it

 private:
  uint32_t first_ = 0;
  std::vector<double> cumulative_;
};

}  // namespace quern::random
