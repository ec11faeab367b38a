// The elementary functions against the C library in wider arithmetic, over the whole range: errors in units of the
// last place as tile/ops.def allows, infinities, NaN, numbers below the normal ones, huge arguments.
#include "target/functions.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <numbers>
#include <random>

#include "base/elementary.h"
#include "base/philox.h"
#include "jitted.h"

namespace quern::target {
namespace {

using tile::Op;

// Bit patterns at random, ordinary numbers, and the hard ones.
template <class T, class Bits>
std::vector<T> arguments(uint32_t seed) {
  std::mt19937_64 g(seed);
  std::vector<T> out;
  constexpr T kInf = std::numeric_limits<T>::infinity();
  for (T v : {T(0),
              T(0.5),
              T(1),
              T(2),
              T(3),
              T(10),
              T(87.3),
              T(88.8),
              T(103.9),
              T(104.5),
              T(127),
              T(128),
              T(149),
              T(150),
              T(709.7),
              T(709.9),
              T(745.2),
              T(746),
              T(1023),
              T(1024),
              T(1074),
              T(1075),
              T(0.7853981633974483),
              T(1.5707963267948966),
              T(3.141592653589793),
              T(1e5),
              T(1e6),
              T(134217728),
              T(16367173) * T(72) /* near a multiple of pi/2 */,
              T(6381956970095103.0),
              T(0.625),
              T(0.6),
              T(6),
              kInf,
              std::numeric_limits<T>::max(),
              std::numeric_limits<T>::min(),
              std::numeric_limits<T>::denorm_min(),
              std::numeric_limits<T>::quiet_NaN()}) {
    for (T s : {T(1), T(-1)}) {
      out.push_back(s * v);
      out.push_back(std::nextafter(s * v, kInf));
      out.push_back(std::nextafter(s * v, -kInf));
    }
  }
  // What is nearest to a multiple of pi/2 among f64: 5.3e-19 of it.
  if (sizeof(T) == 8) out.push_back(static_cast<T>(std::ldexp(6381956970095103.0, 797)));
  std::uniform_real_distribution<double> ordinary(-10, 10), large(-800, 800), exponent(-40, 40);
  for (int i = 0; i < 20000; ++i) {
    out.push_back(static_cast<T>(ordinary(g)));
    out.push_back(static_cast<T>(large(g)));
    out.push_back(static_cast<T>(std::exp2(exponent(g))));
    auto bits = static_cast<Bits>(g());
    T v;
    std::memcpy(&v, &bits, sizeof v);
    out.push_back(v);
  }
  out.resize(out.size() / 64 * 64);
  return out;
}

long double truth(Op op, long double x) {
  switch (op) {
    case Op::kExp: return std::exp(x);
    case Op::kExp2: return std::exp2(x);
    case Op::kLog: return std::log(x);
    case Op::kLog2: return std::log2(x);
    case Op::kSqrt: return std::sqrt(x);
    case Op::kRsqrt: return 1 / std::sqrt(x);
    case Op::kSin: return std::sin(x);
    case Op::kCos: return std::cos(x);
    case Op::kTanh: return std::tanh(x);
    default: return std::erf(x);
  }
}

// |got - want| in units of 2^-24 (2^-53) of the result, and of half the least number near zero.
template <class T>
double error(T got, long double want) {
  if (std::isnan(want)) return std::isnan(got) ? 0 : 1e30;
  T rounded = static_cast<T>(want);
  if (std::isinf(rounded) || std::isinf(got)) {
    if (got == rounded) return 0;
    // One last place from overflow.
    return std::abs(want) > 0.999999L * std::numeric_limits<T>::max() &&
                   std::abs(got) > 0.999999 * std::numeric_limits<T>::max() && (got > 0) == (want > 0)
               ? 0
               : 1e30;
  }
  long double unit = std::max(std::abs(want) * std::numeric_limits<T>::epsilon() / 2,
                              static_cast<long double>(std::numeric_limits<T>::denorm_min()) / 2);
  return static_cast<double>(std::abs(got - want) / unit);
}

template <class T, class Bits>
void check(Op op, const jit::CpuTarget& cpu, int lanes, double limit) {
  Base base = sizeof(T) == 8 ? Base::f64 : Base::f32;
  Mapped f(cpu, lanes, {base}, base,
           [&](Writer& w, const std::vector<Value>& x) { return function_of(w, features_of(cpu), op, x[0]); });
  ASSERT_TRUE(f);
  std::vector<T> x = arguments<T, Bits>(7), y(x.size());
  f(y.data(), static_cast<int64_t>(x.size()), x.data());
  double worst = 0;
  T at = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    double e = error(y[i], truth(op, x[i]));
    if (e > worst) worst = e, at = x[i];
  }
  EXPECT_LE(worst, limit) << row(op).text << " of f" << sizeof(T) * 8 << " at " << at << ", lanes " << lanes << ", "
                          << jit::name(cpu.level);
  if (getenv("QUERN_SHOW_ERRORS"))
    printf("%-6s f%zu lanes %2d %-6s %.2f at %g\n", std::string(row(op).text).c_str(), sizeof(T) * 8, lanes,
           std::string(jit::name(cpu.level)).c_str(), worst, static_cast<double>(at));
}

constexpr Op kFunctions[] = {Op::kExp,   Op::kExp2, Op::kLog, Op::kLog2, Op::kSqrt,
                             Op::kRsqrt, Op::kSin,  Op::kCos, Op::kTanh, Op::kErf};

TEST(Functions, F32AreWithinTheRowsOfTheTable) {
  for (const jit::CpuTarget& cpu : targets()) {
    for (Op op : kFunctions) {
      for (int lanes : {0, cpu.vector_bytes / 4}) check<float, uint32_t>(op, cpu, lanes, row(op).error);
    }
  }
}

TEST(Functions, F64AreGoodToAFewPlaces) {
  for (const jit::CpuTarget& cpu : targets()) {
    for (Op op : kFunctions) {
      for (int lanes : {0, cpu.vector_bytes / 8}) check<double, uint64_t>(op, cpu, lanes, 8);
    }
  }
}

template <class T>
void check_power(const jit::CpuTarget& cpu, int lanes, double limit) {
  Base base = sizeof(T) == 8 ? Base::f64 : Base::f32;
  Mapped f(cpu, lanes, {base, base}, base,
           [&](Writer& w, const std::vector<Value>& x) { return power(w, features_of(cpu), x[0], x[1]); });
  ASSERT_TRUE(f);
  constexpr T kInf = std::numeric_limits<T>::infinity(), kNan = std::numeric_limits<T>::quiet_NaN();
  std::vector<T> special = {0,
                            T(-0.0),
                            1,
                            -1,
                            2,
                            -2,
                            3,
                            -3,
                            T(0.5),
                            T(-0.5),
                            T(1.5),
                            T(-2.5),
                            T(1e30),
                            T(-1e30),
                            T(1e-30),
                            T(16777217),
                            T(9007199254740993.0),
                            std::numeric_limits<T>::denorm_min(),
                            std::numeric_limits<T>::max(),
                            T(1) + std::numeric_limits<T>::epsilon(),
                            kInf,
                            -kInf,
                            kNan};
  std::vector<T> x, y;
  for (T a : special) {
    for (T b : special) x.push_back(a), y.push_back(b);
  }
  std::mt19937_64 g(3);
  std::uniform_real_distribution<double> e(-30, 30), ordinary(-20, 20), near_one(0.9, 1.1), large(-7000, 7000);
  for (int i = 0; i < 20000; ++i) {
    x.push_back(static_cast<T>(std::exp2(e(g)))), y.push_back(static_cast<T>(ordinary(g)));
    x.push_back(static_cast<T>(near_one(g))), y.push_back(static_cast<T>(large(g)));
    x.push_back(static_cast<T>(ordinary(g))), y.push_back(static_cast<T>(std::round(ordinary(g))));
  }
  x.resize(x.size() / 64 * 64), y.resize(x.size());
  std::vector<T> out(x.size());
  f(out.data(), static_cast<int64_t>(x.size()), x.data(), y.data());
  double worst = 0;
  size_t at = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    double err = error(out[i], std::pow(static_cast<long double>(x[i]), static_cast<long double>(y[i])));
    if (err > worst) worst = err, at = i;
  }
  EXPECT_LE(worst, limit) << x[at] << " ^ " << y[at] << " = " << out[at] << " f" << sizeof(T) * 8 << " "
                          << jit::name(cpu.level);
  if (getenv("QUERN_SHOW_ERRORS")) printf("pow f%zu %.2f\n", sizeof(T) * 8, worst);
}

TEST(Functions, Powers) {
  for (const jit::CpuTarget& cpu : targets()) {
    check_power<float>(cpu, cpu.vector_bytes / 4, row(Op::kPow).error);
    check_power<float>(cpu, 0, row(Op::kPow).error);
    check_power<double>(cpu, cpu.vector_bytes / 8, 8);
  }
}

// e^h / 2^g where h and g ln 2 are near each other, however far out: as good as exp, on every machine.
template <class T>
void check_exponential_at(const jit::CpuTarget& cpu, int lanes, double far, double limit) {
  Base base = sizeof(T) == 8 ? Base::f64 : Base::f32;
  Mapped f(cpu, lanes, {base, base}, base, [&](Writer& w, const std::vector<Value>& x) {
    return function_of(w, features_of(cpu), Op::kExpAt, x[0], x[1]);
  });
  ASSERT_TRUE(f);
  constexpr T kInf = std::numeric_limits<T>::infinity(), kNan = std::numeric_limits<T>::quiet_NaN();
  std::vector<T> h, g;
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> any(-far, far), below(sizeof(T) == 8 ? -760 : -110, 6);
  for (int i = 0; i < 20000; ++i) {
    double step = 8 * std::ceil(any(random) / 8);
    g.push_back(static_cast<T>(step));
    h.push_back(static_cast<T>(step * std::numbers::ln2 + below(random)));
  }
  // Out of range on either side, and where nothing has been seen yet: a gauge of inf makes 0 of everything but NaN.
  for (T a : {T(0), T(1), T(-1e30), T(1e30), std::numeric_limits<T>::max(), kInf, -kInf, kNan}) {
    for (T b : {T(0), T(-8), T(8), T(1024), kInf, kNan}) h.push_back(a), g.push_back(b);
  }
  while (h.size() % 64 != 0) h.push_back(1), g.push_back(0);
  std::vector<T> out(h.size());
  f(out.data(), static_cast<int64_t>(h.size()), h.data(), g.data());
  double worst = 0;
  size_t at = 0;
  for (size_t i = 0; i < h.size(); ++i) {
    Real slow = exponential_at({h[i], 0}, {g[i], 0}, kDouble, 0);
    long double want = slow.v;
    if (std::isfinite(h[i]) && std::isfinite(g[i])) {
      // ln 2 in two parts, so that g ln 2 is not rounded before it cancels.
      long double near = static_cast<long double>(h[i]) - static_cast<long double>(g[i]) * 0x1.62e42feep-1L;
      want = std::exp(near - static_cast<long double>(g[i]) * 0x1.a39ef35793c7673p-33L);
      if (std::isnormal(slow.v)) {
        EXPECT_NEAR(static_cast<double>(slow.v / want), 1, 1e-15) << h[i] << " " << g[i];
      }
    }
    double err = error(out[i], want);
    if (err > worst) worst = err, at = i;
  }
  EXPECT_LE(worst, limit) << "exp_at(" << h[at] << ", " << g[at] << ") = " << out[at] << " f" << sizeof(T) * 8 << " "
                          << jit::name(cpu.level);
  if (getenv("QUERN_SHOW_ERRORS")) printf("exp_at f%zu lanes %d %.2f\n", sizeof(T) * 8, lanes, worst);
}

TEST(Functions, ExponentialsInUnitsOfAGauge) {
  for (const jit::CpuTarget& cpu : targets()) {
    for (int lanes : {0, cpu.vector_bytes / 4}) check_exponential_at<float>(cpu, lanes, 23000, row(Op::kExpAt).error);
    check_exponential_at<double>(cpu, cpu.vector_bytes / 8, 700000, 8);
  }
}

TEST(Functions, Rounding) {
  for (const jit::CpuTarget& cpu : targets()) {
    for (Op op : {Op::kFloor, Op::kCeil, Op::kRound}) {
      Mapped f(cpu, 4, {Base::f32}, Base::f32,
               [&](Writer& w, const std::vector<Value>& x) { return rounded(w, features_of(cpu), op, x[0]); });
      Mapped d(cpu, 2, {Base::f64}, Base::f64,
               [&](Writer& w, const std::vector<Value>& x) { return rounded(w, features_of(cpu), op, x[0]); });
      ASSERT_TRUE(f && d);
      auto want = [&](double x) {
        return op == Op::kFloor ? std::floor(x) : op == Op::kCeil ? std::ceil(x) : std::nearbyint(x);
      };
      auto wide = arguments<double, uint64_t>(1);
      auto narrow = arguments<float, uint32_t>(1);
      for (double half = -4.5; half < 5; half += 0.5) wide.push_back(half), narrow.push_back(static_cast<float>(half));
      wide.resize(wide.size() / 2 * 2), narrow.resize(narrow.size() / 4 * 4);
      std::vector<double> a(wide.size());
      std::vector<float> b(narrow.size());
      d(a.data(), static_cast<int64_t>(a.size()), wide.data());
      f(b.data(), static_cast<int64_t>(b.size()), narrow.data());
      for (size_t i = 0; i < a.size(); ++i) {
        if (!std::isnan(wide[i])) {
          ASSERT_EQ(a[i], want(wide[i])) << wide[i];
        }
      }
      for (size_t i = 0; i < b.size(); ++i) {
        if (!std::isnan(narrow[i])) {
          ASSERT_EQ(b[i], want(narrow[i])) << narrow[i];
        }
      }
    }
  }
}

TEST(Functions, RandomBitsArePhilox) {
  std::mt19937_64 g(5);
  std::vector<int64_t> seed(64), index(64), out(64);
  for (size_t i = 0; i < 64; ++i)
    seed[i] = static_cast<int64_t>(g()), index[i] = i < 32 ? static_cast<int64_t>(i) - 16 : static_cast<int64_t>(g());
  for (const jit::CpuTarget& cpu : targets()) {
    for (int lanes : {0, 8}) {
      Mapped f(cpu, lanes, {Base::i64, Base::i64}, Base::i64,
               [&](Writer& w, const std::vector<Value>& x) { return random_bits(w, x[0], x[1]); });
      ASSERT_TRUE(f);
      f(out.data(), 64, seed.data(), index.data());
      for (size_t i = 0; i < 64; ++i) EXPECT_EQ(out[i], quern::random_bits(seed[i], index[i]));
    }
  }
}

}  // namespace
}  // namespace quern::target
