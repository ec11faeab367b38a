// M. Wichura, "Algorithm AS 241: the percentage points of the normal distribution", Applied Statistics 37 (1988) 477,
// routine PPND16: rational functions of degree 7, of p - 1/2 in the middle and of sqrt(-log p) in the tails. Only + - *
// / and sqrt are used, which IEEE 754 rounds correctly, and this file is compiled without contraction to fma; the C
// library's log is not (its last bit differs between versions), so the logarithm is here too.
#include "array/normal.h"

#include <bit>
#include <cmath>

namespace quern::array {
namespace {

// Natural logarithm of a normal number 0 < x < 1: x = m * 2^e with m near 1, log m = 2 artanh((m - 1) / (m + 1)).
double logarithm(double x) {
  auto bits = std::bit_cast<uint64_t>(x);
  int64_t exponent = static_cast<int64_t>(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & 0x000FFFFFFFFFFFFF) | 0x3FF0000000000000);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    ++exponent;
  }
  double t = (m - 1) / (m + 1), square = t * t;  // |t| < 0.1716, so square^11 / 23 < 1e-18
  double series = 0;
  for (int k = 21; k >= 1; k -= 2) series = series * square + 1.0 / k;
  constexpr double kLn2 = 0.69314718055994530942;
  return static_cast<double>(exponent) * kLn2 + 2 * t * series;
}

double polynomial(const double (&c)[8], double x) {
  double value = c[7];
  for (int i = 6; i >= 0; --i) value = value * x + c[i];
  return value;
}

constexpr double kMiddleOver[8] = {3.3871328727963666080e0,  1.3314166789178437745e+2, 1.9715909503065514427e+3,
                                   1.3731693765509461125e+4, 4.5921953931549871457e+4, 6.7265770927008700853e+4,
                                   3.3430575583588128105e+4, 2.5090809287301226727e+3};
constexpr double kMiddleUnder[8] = {1.0,
                                    4.2313330701600911252e+1,
                                    6.8718700749205790830e+2,
                                    5.3941960214247511077e+3,
                                    2.1213794301586595867e+4,
                                    3.9307895800092710610e+4,
                                    2.8729085735721942674e+4,
                                    5.2264952788528545610e+3};
constexpr double kTailOver[8] = {1.42343711074968357734e0,  4.63033784615654529590e0, 5.76949722146069140550e0,
                                 3.64784832476320460504e0,  1.27045825245236838258e0, 2.41780725177450611770e-1,
                                 2.27238449892691845833e-2, 7.74545014278341407640e-4};
constexpr double kTailUnder[8] = {1.0,
                                  2.05319162663775882187e0,
                                  1.67638483018380384940e0,
                                  6.89767334985100004550e-1,
                                  1.48103976427480074590e-1,
                                  1.51986665636164571966e-2,
                                  5.47593808499534494600e-4,
                                  1.05075007164441684324e-9};
constexpr double kFarOver[8] = {6.65790464350110377720e0,  5.46378491116411436990e0,  1.78482653991729133580e0,
                                2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
                                2.71155556874348757815e-5, 2.01033439929228813265e-7};
constexpr double kFarUnder[8] = {1.0,
                                 5.99832206555887937690e-1,
                                 1.36929880922735805310e-1,
                                 1.48753612908506148525e-2,
                                 7.86869131145613259100e-4,
                                 1.84631831751005468180e-5,
                                 1.42151175831644588870e-7,
                                 2.04426310338993978564e-15};

}  // namespace

double normal_quantile(double p) {
  double q = p - 0.5;
  if (std::fabs(q) <= 0.425) {
    double r = 0.180625 - q * q;
    return q * polynomial(kMiddleOver, r) / polynomial(kMiddleUnder, r);
  }
  double r = std::sqrt(-logarithm(q < 0 ? p : 1 - p));
  double x = r <= 5 ? polynomial(kTailOver, r - 1.6) / polynomial(kTailUnder, r - 1.6)
                    : polynomial(kFarOver, r - 5) / polynomial(kFarUnder, r - 5);
  return q < 0 ? -x : x;
}

double normal_from_word(uint32_t word) { return normal_quantile((static_cast<double>(word) + 0.5) * 0x1p-32); }

}  // namespace quern::array
