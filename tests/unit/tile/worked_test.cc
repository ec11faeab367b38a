// The worked programs against plain loops, and the laws that hold for every program: any tiles give the same result
// within the bound, rounding stays within it, and full tiles change nothing.
#include "worked.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "base/running_error.h"
#include "worked_case.h"

namespace quern::tile {
namespace {

// The largest bound relative to 1 or the value. What is rounded to f16 has that much more.
bool stores_f16(const std::string& name) { return name.starts_with("matmul"); }
double allowed_bound(const std::string& name) { return stores_f16(name) ? 2e-3 : 1e-3; }

void expect_near(const std::vector<double>& got, const std::vector<double>& want, const std::vector<double>& bound,
                 const std::string& where) {
  ASSERT_EQ(got.size(), want.size()) << where;
  ASSERT_EQ(bound.size(), want.size()) << where;
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_LE(std::fabs(got[i] - want[i]), bound[i] + 1e-12) << where << " [" << i << "]";
  }
}

TEST(Worked, AgreeWithPlainLoops) {
  for (bool larger : {false, true}) {
    for (Case& c : worked_cases(larger)) {
      Ran ran = run(c.program, c.arguments, Mode::kBound);
      ASSERT_EQ(ran.fault, "") << c.name;
      EXPECT_TRUE(ran.findings.empty()) << c.name << render(ran.findings);
      Arguments want = c.reference(dims_of(c.program), c.arguments);
      ASSERT_EQ(ran.outputs.size(), want.size());
      for (auto& [out, numbers] : want) {
        const Output& got = ran.outputs[out];
        expect_near(got.value, numbers.at, got.bound, c.name);
        for (size_t i = 0; i < got.value.size(); ++i) {
          ASSERT_LE(got.bound[i], allowed_bound(c.name) * std::max(1.0, std::fabs(got.value[i]))) << c.name << i;
        }
      }
    }
  }
}

// A program that sums in f64 differs from the loops by f64's rounding only.
TEST(Worked, ValuesAreNotRounded) {
  for (Case& c : worked_cases(false)) {
    if (stores_f16(c.name)) continue;
    Ran ran = run(c.program, c.arguments, Mode::kBound);
    for (auto& [out, numbers] : c.reference(dims_of(c.program), c.arguments)) {
      const std::vector<double>& got = ran.outputs[out].value;
      for (size_t i = 0; i < got.size(); ++i) {
        ASSERT_NEAR(got[i], numbers.at[i], 1e-7 * std::max(1.0, std::fabs(got[i]))) << c.name;
      }
    }
  }
}

TEST(Law, RoundedIsWithinTheBound) {
  for (bool larger : {false, true}) {
    for (Case& c : worked_cases(larger)) {
      Ran a = run(c.program, c.arguments, Mode::kBound), b = run(c.program, c.arguments, Mode::kRounded);
      ASSERT_EQ(b.fault, "") << c.name;
      for (auto& [out, o] : a.outputs) expect_near(b.outputs[out].value, o.value, o.bound, c.name);
    }
  }
}

void retile(std::vector<Walk>& walks, std::mt19937_64& random) {
  for (Walk& w : walks) {
    if (w.size != 1) w.size = static_cast<int64_t>(random() % 12);
  }
}

void retile(Block& body, std::mt19937_64& random) {
  for (Statement& s : body) {
    if (auto* loop = std::get_if<Loop>(&s.is)) {
      retile(loop->walks, random);
      retile(loop->body, random);
    }
    if (auto* nest = std::get_if<Nest>(&s.is)) {
      for (NestAxis& a : nest->axes) a.size = 1 + static_cast<int64_t>(random() % 12);
    }
  }
}

TEST(Law, AnyTilesGiveTheSame) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 6; ++round) {
    for (Case& c : worked_cases(round % 2)) {
      Ran a = run(c.program, c.arguments, Mode::kBound);
      Program other = c.program;
      for (Kernel& k : other.kernels) {
        retile(k.grid, random);
        retile(k.body, random);
      }
      for (Mode mode : {Mode::kBound, Mode::kRounded}) {
        Ran b = run(other, c.arguments, mode);
        ASSERT_EQ(b.fault, "") << c.name;
        for (auto& [out, o] : a.outputs) {
          std::vector<double> bound = o.bound;
          for (size_t i = 0; i < bound.size(); ++i)
            bound[i] += mode == Mode::kBound ? b.outputs[out].bound[i] : bound[i];
          expect_near(b.outputs[out].value, o.value, bound, c.name);
        }
      }
    }
  }
}

// Absent elements do not show: loads of them are 0, and a selection stands where that is not enough.
const char* const kPaddedRight[] = {"matmul",       "matmul_laid",      "grouped_gemm",
                                    "softmax_laid", "softmax_resident", "attention_laid"};

void expect_padded_same(const Program& program, const Case& c) {
  Ran a = run(program, c.arguments, Mode::kBound), p = run(program, c.arguments, Mode::kPadded);
  ASSERT_EQ(p.fault, "") << c.name;
  for (auto& [out, o] : a.outputs) {
    std::vector<double> exact(o.bound.size(), 1e-6);
    if (stores_f16(c.name)) exact = o.bound;
    expect_near(p.outputs[out].value, o.value, exact, c.name);
  }
}

TEST(Law, FullTilesChangeNothing) {
  for (bool larger : {false, true}) {
    for (Case& c : worked_cases(larger)) {
      if (std::ranges::find(kPaddedRight, c.name) != std::end(kPaddedRight)) expect_padded_same(c.program, c);
    }
  }
}

// The same for a program whose tiles need selections, once they are there.
TEST(Law, FullTilesChangeNothingWhereSelectionsMendThem) {
  for (Case& c : worked_cases(false)) {
    if (c.name != "attention" && c.name != "softmax_streamed") continue;
    std::string text = worked_text(c.name);
    if (c.name == "attention") {
      text = replaced(text, "s if n <= m + N - M else -inf", "s if n <= m + N - M and n < n.hi else -inf");
    } else {
      text = replaced(text, "xs = load x[r, n]", "xs = load x[r, n] if n < n.hi else -inf");
    }
    expect_padded_same(parsed(text), c);
  }
}

double farthest(Ran a, Ran b) {
  double off = 0;
  for (auto& [out, o] : a.outputs) {
    for (size_t i = 0; i < o.value.size(); ++i) {
      double d = std::fabs(o.value[i] - b.outputs[out].value[i]);
      off = std::max(off, std::isnan(d) ? kInfinity : d);
    }
  }
  return off;
}

TEST(Law, AMissingSelectionShows) {
  const struct {
    const char *name, *from, *to;
  } all[] = {
      {"softmax_laid", "p if n < n.hi else 0.0", "p"},
      {"attention_laid", "t = s if n < n.hi else -inf", "t = s"},
      {"attention_laid", "p if n < n.hi else 0.0", "p"},
  };
  for (Case& c : worked_cases(false)) {
    for (const auto& [name, from, to] : all) {
      if (c.name != name) continue;
      Program broken = parsed(replaced(worked_text(c.name), from, to));
      Ran a = run(c.program, c.arguments, Mode::kBound), p = run(broken, c.arguments, Mode::kPadded);
      EXPECT_EQ(p.fault, "");
      EXPECT_GT(farthest(a, p), 1e-3) << name << " without " << from;
    }
  }
}

// What was kept has nothing at all behind its end, not even what was computed there.
TEST(Law, KeptValuesEndWithTheirRange) {
  for (Case& c : worked_cases(false)) {
    if (c.name != "softmax_laid") continue;
    std::string text = replaced(worked_text(c.name), "    store y[r, n] = 0.0 if mx == -inf else p / l",
                                "    store y[r, n] = p / l + 0.0 * sum[n](p)");
    Program again = parsed(replaced(text, "  nest n:8 lanes", "  nest | n:8 lanes"));
    Ran a = run(c.program, c.arguments, Mode::kBound), q = run(again, c.arguments, Mode::kPadded);
    EXPECT_EQ(q.fault, "");
    EXPECT_EQ(farthest(a, q), kInfinity);
    EXPECT_LT(farthest(a, run(again, c.arguments, Mode::kBound)), 1e-6);
  }
}

}  // namespace
}  // namespace quern::tile
