// The streaming derivation on the programs of its specification: passes and accumulators, and every way to run the
// result (serial, tiles that do not divide, split with empty parts, merged in any order, a prefix continued) against
// the expression as written, on ordinary and hostile input.
#include "fuse/derive.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <sstream>

#include "derived.h"
#include "programs.h"
#include "tile/print.h"
#include "tile/verify.h"

namespace quern::fuse {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

struct Input {
  const char* name;
  double (*element)(std::mt19937_64&, size_t i, size_t n);  // i of n along a row
  bool telling = false;                                     // about mutations
};

double normal(std::mt19937_64& r) { return std::normal_distribution<double>()(r); }

const Input kInputs[] = {
    {"random", [](std::mt19937_64& r, size_t, size_t) { return normal(r); }, true},
    {"large", [](std::mt19937_64& r, size_t, size_t) { return 1e4 * normal(r); }},
    {"offset up", [](std::mt19937_64& r, size_t, size_t) { return 1e4 + normal(r); }, true},
    {"offset down", [](std::mt19937_64& r, size_t, size_t) { return -1e4 + normal(r); }},
    {"ascending", [](std::mt19937_64&, size_t i, size_t) { return 40.0 * static_cast<double>(i); }, true},
    {"descending", [](std::mt19937_64&, size_t i, size_t) { return -40.0 * static_cast<double>(i); }},
    {"equal", [](std::mt19937_64&, size_t, size_t) { return 3.0; }},
    {"masked", [](std::mt19937_64&, size_t, size_t) { return -kInf; }, true},
    {"two thirds masked", [](std::mt19937_64& r, size_t i, size_t n) { return 3 * i < 2 * n ? -kInf : normal(r); },
     true},
    {"masked, then low",
     [](std::mt19937_64& r, size_t i, size_t n) { return 3 * i < 2 * n ? -kInf : -1e4 + normal(r); }, true},
    {"half masked", [](std::mt19937_64& r, size_t, size_t) { return r() % 2 ? -kInf : normal(r); }},
    {"infinite", [](std::mt19937_64& r, size_t i, size_t n) { return i == n / 2 ? kInf : normal(r); }},
    {"nan", [](std::mt19937_64& r, size_t i, size_t n) { return i == n / 2 ? std::nan("") : normal(r); }},
    {"denormal", [](std::mt19937_64& r, size_t, size_t) { return 1e-310 * normal(r); }},
    {"lowest", [](std::mt19937_64&, size_t, size_t) { return -1.7e308; }},
    {"below -1e6", [](std::mt19937_64& r, size_t, size_t) { return -1e7 + normal(r); }},
    {"zero", [](std::mt19937_64&, size_t, size_t) { return 0.0; }},
    {"huge", [](std::mt19937_64& r, size_t, size_t) { return 1e200 * normal(r); }},
    {"tiny", [](std::mt19937_64& r, size_t, size_t) { return 1e-200 * normal(r); }},
};

// How far a form may be from the exact value: 1e-9, or 20 times what the program as written is off, where that is right
// to 1e-3 itself. Where it is not, anything goes but a crash.
std::string compare(const Outputs& exact, const Outputs& written, const Outputs& got, bool raw, bool infinite) {
  for (size_t o = 0; o < exact.size(); ++o) {
    if (exact[o].size() != got[o].size()) return "another number of elements";
    double scale = 0;
    for (double x : exact[o]) scale = std::isfinite(x) ? std::max(scale, std::abs(x)) : scale;
    for (size_t i = 0; i < exact[o].size(); ++i) {
      double e = exact[o][i], w = written[o][i], g = got[o][i];
      if (std::isnan(e) || std::isnan(w)) continue;
      if (!std::isfinite(e) || !std::isfinite(w)) {
        // What overflows has no value that a better form could not have.
        if (e == w && g != e && !raw && std::isfinite(g))
          return "got " + std::to_string(g) + " for " + std::to_string(e);
        continue;
      }
      double size = std::max({std::abs(e), 1e-300}), off = std::abs(w - e);
      if (!std::isfinite(g) && infinite) continue;  // no value
      if (off > 1e-3 * size && off > 1e-12 * scale) continue;
      double allowed = std::max({1e-9 * size, 20 * off, 1e-14 * scale, 1e-15});
      if (!(std::abs(g - e) <= allowed)) {
        return "element " + std::to_string(i) + ": got " + std::to_string(g) + " for " + std::to_string(e) +
               ", off by " + std::to_string(std::abs(g - e) / size);
      }
    }
  }
  return "";
}

void fill(Tensor& t, const Input& input, uint64_t seed) {
  std::mt19937_64 r(seed);
  size_t n = static_cast<size_t>(t.shape.back());
  for (size_t i = 0; i < t.data.size(); ++i) t.data[i] = input.element(r, i % n, n);
}

// The first form that is wrong, or nothing. `brief`: fewer forms and inputs.
std::string first_failure(Derived& d, const Case& c, bool brief) {
  size_t number = 0;
  for (const Input& input : kInputs) {
    if (brief && !input.telling) continue;
    d.draw(7);
    uint64_t seed = 11;
    for (const std::string& name : c.hostile) fill(d.tensor(name), input, seed++);
    bool extreme = input.name == std::string("infinite") || input.name == std::string("nan");
    Outputs exact = d.written(true), written = d.written(false);
    auto check = [&](const std::string& form, const Outputs& got) {
      std::string why = compare(exact, written, got, c.raw, extreme);
      return why.empty() ? why : std::string(c.name) + ", " + input.name + ", " + form + ": " + why;
    };
    std::vector<int64_t> tiles = {1, 5, d.extent};
    // Every form on the first input; on the others the forms take turns.
    bool all = number == 0 && !brief;
    for (size_t t = 0; t < tiles.size(); ++t) {
      if (brief ? t != 1 : !all && t != number % 3) continue;
      std::string why = check("tile " + std::to_string(tiles[t]), d.serial(tiles[t]));
      if (!why.empty()) return why;
    }
    if (d.derivation.passes.size() == 1) {
      int64_t n = d.extent;
      std::string why = check("split", d.split({0, n / 5, n / 2, n / 2, std::max<int64_t>(n - 1, 0), n}, number));
      if (!why.empty()) return why;
      if (all || number % 3 == 0) why = check("cascade", d.cascade(n / 3, 4));
      if (!why.empty()) return why;
    }
    ++number;
    if (c.hostile.empty()) break;
  }
  return "";
}

class Derive : public testing::TestWithParam<Case> {};

TEST_P(Derive, EveryFormIsRight) {
  const Case& c = GetParam();
  Derived d({c.text, c.sizes, c.axis, {}});
  ASSERT_EQ(d.error, "");
  int live = 0;
  for (const Accumulator& acc : d.derivation.passes.back().accumulators) live += acc.live;
  EXPECT_EQ(d.derivation.passes.size(), static_cast<size_t>(c.passes)) << print(d.derivation, d.facts);
  EXPECT_EQ(live, c.accumulators) << print(d.derivation, d.facts);
  EXPECT_EQ(render(tile::verify(d.program())), "") << tile::print(d.program());
  EXPECT_EQ(first_failure(d, c, false), "") << print(d.derivation, d.facts);
  if (c.passes == 1) {
    d.draw(3);
    EXPECT_TRUE(d.identity_merges());
    EXPECT_EQ(d.other_merge, "") << tile::print(d.program());
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, Derive, testing::ValuesIn(cases()),
                         [](const auto& info) { return std::string(info.param.name); });

// A rule that is switched off must be noticed by the suite above: by how many programs, up to `enough`.
int noticed(const Rules& rules, int enough) {
  int count = 0;
  for (const Case& c : cases()) {
    Derived d({c.text, c.sizes, c.axis, rules});
    if (!d.error.empty() || !first_failure(d, c, true).empty()) ++count;
    if (count == enough) break;
  }
  return count;
}

TEST(DeriveMutations, NoRescaling) {
  Rules r;
  r.rescale = false;
  EXPECT_EQ(noticed(r, 10), 10);
}

TEST(DeriveMutations, BothGaugesMadeFinite) {
  Rules r;
  r.raw_old_gauge = false;
  EXPECT_EQ(noticed(r, 8), 8);
}

TEST(DeriveMutations, NoGuardAgainstMinusInfinity) {
  Rules r;
  r.finite_gauge = false;
  EXPECT_EQ(noticed(r, 8), 8);
}

TEST(DeriveMutations, BinomialsDropped) {
  Rules r;
  r.binomials = false;
  EXPECT_EQ(noticed(r, 3), 3);
}

TEST(DeriveMutations, StaticCountInACentre) {
  Rules r;
  r.running_count = false;
  EXPECT_GE(noticed(r, 1), 1);
}

TEST(Derive, RawAndSafeSoftmaxHaveTheSameAccumulators) {
  std::string head = "kernel f(s: T[M, N], v: T[N, E]) -> o: T[M, E] { o[m, e] = ";
  std::map<std::string, int64_t> sizes = {{"M", 2}, {"N", 17}, {"E", 3}};
  auto carried = [&](const std::string& body) {
    Derived d({head + body + " }", sizes, "n", {}});
    std::string text = print(d.derivation, d.facts);
    text = text.substr(0, text.find("finish"));
    size_t invented = text.find(", invented");
    if (invented != std::string::npos) text.erase(invented, 10);
    // Both have one maximum, one mass and one sum; which of the sums comes first is no matter.
    std::vector<std::string> lines;
    std::stringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    std::sort(lines.begin(), lines.end());
    return lines;
  };
  EXPECT_EQ(carried("sum[n] softmax[n](s[m, n]) * v[n, e]"),
            carried("(sum[n] exp(s[m, n]) * v[n, e]) / (sum[n] exp(s[m, n]))"));
}

// R21.
TEST(Derive, ComparisonsOfAllPairsAreRejected) {
  Derived d(
      {"kernel f(x: T[N]) -> y: i64 { y = sum[n] (sum[j < N] (1 if x[j] > x[n] else 0)) * n }", {{"N", 9}}, "n", {}});
  EXPECT_NE(d.error.find("for each n it reads x at every j"), std::string::npos) << d.error;
}

TEST(Derive, RemarksSayWhatWaitsAndWhy) {
  Derived d({"kernel f(x: T[N]) -> y: T { y = sum[n] relu(x[n] - mean[n](x[n])) }", {{"N", 9}}, "n", {}});
  ASSERT_EQ(d.error, "");
  ASSERT_EQ(d.derivation.remarks.size(), 1u);
  const std::string& m = d.derivation.remarks[0].message;
  EXPECT_NE(m.find("bends where x crosses r"), std::string::npos) << m;
  EXPECT_NE(m.find("waits for"), std::string::npos) << m;
  EXPECT_EQ(d.derivation.remarks[0].code, Code::R20);
}

TEST(Derive, ResultsPerElementTakeOneMorePass) {
  Derived d({"kernel f(x: T[N]) -> y: T[N] { y[n] = softmax[n](x[n]) }", {{"N", 9}}, "n", {}});
  ASSERT_EQ(d.error, "");
  ASSERT_EQ(d.derivation.remarks.size(), 1u);
  EXPECT_EQ(d.derivation.remarks[0].code, Code::R22);
  EXPECT_EQ(d.derivation.passes.size(), 1u);
}

}  // namespace
}  // namespace quern::fuse
