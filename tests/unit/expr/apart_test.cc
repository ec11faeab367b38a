// Reads of an inout tensor that the kernel also writes: what is shown to be apart never meets (against every instance,
// at small sizes), and what people write is shown.
#include <algorithm>
#include <cstdlib>
#include <set>

#include "call.h"
#include "checked.h"
#include "simulator.h"

namespace quern::expr::test {
namespace {

bool accepted(const std::string& text) {
  CheckedText checked = check_text(text);
  EXPECT_TRUE(checked.codes().empty() || checked.codes().find_first_not_of("E506 ") == std::string::npos)
      << text << render(checked.unit.errors);
  return checked.codes().empty();
}

std::string kernel(const std::string& parameters, const std::string& body) {
  return "kernel f(" + parameters + ") {\n" + body + "\n}\n";
}

TEST(Apart, WhatIsShown) {
  const std::pair<const char*, const char*> shown[] = {
      {"inout x: f32[2 * N]", "for[i < N] x[i] = x[i + N]"},
      {"inout x: f32[2 * N]", "for[i < N] x[i + N] += x[i]"},
      {"inout x: f32[N]", "for[i < N // 2] x[i] = x[i + N // 2]"},
      {"inout x: f32[2 * N]", "for[i < N] x[2 * i] = x[2 * i + 1]"},
      {"inout x: f32[4 * N]", "for[i < N, j < 2] x[4 * i + 2 * j] = x[4 * i + 2 * j + 1]"},
      {"inout x: f32[2 * N]", "for[i < N] x[2 * i] = sum[j < N] x[2 * j + 1]"},
      {"inout x: f32[2, N]", "for[i < N] x[0, i] = x[1, i]"},
      {"inout x: f32[2, N]", "for[i < N] x[0, i] = sum[j < N] x[1, j]"},
      {"inout x: f32[N]", "for[i if i > 0] x[i] = x[0]"},
      {"inout x: f32[N]", "for[i if i < 4] x[i] = x[7]"},
      {"inout x: f32[N]", "for[i if i % 2 == 0] x[i] = x[i + 1] if i + 1 < N else 0"},
      {"inout x: f32[N]", "for[i if i % 3 == 1] x[i] = sum[j < N] (x[j] if j % 3 == 2 else 0)"},
      {"inout x: f32[N], k: i32", "for[i if i < k] x[i] = sum[j < N] (x[j] if j >= k else 0)"},
      {"inout x: f32[N], start: i32[2]", "for[start[0] <= i < start[1]] x[i] = x[start[1]]"},
      // By a local, whose reader's guards hold as well.
      {"inout x: f32[2 * N]", "t[i < N] = 2 * x[i + N]\nfor[i < N] x[i] = t[i]"},
      {"inout x: f32[N]", "t[i < N] = 2 * x[i]\nfor[i if i < 3] x[i] = (t[i + 3] if i + 3 < N else 0)"},
      {"inout x: f32[N]", "t[3 <= i < N] = 2 * x[i]\nfor[i if i < 3] x[i] = sum[j <= i] t[j + 3]"},
      // The same element, said in another way.
      {"inout x: f32[N]", "for[i < N] x[i] = x[(2 * i + 2) // 2 - 1]"},
      {"inout x: f32[M, N]", "for[i < M, j < N] x[i, j] = x[i * 1, j + 0] + 1"},
      // Two updates, each of which reads what the other doesn't write.
      {"inout x: f32[2 * N], inout y: f32[2 * N]", "for[i < N] x[i] = y[i + N]\nfor[i < N] y[i] = x[i + N]"},
  };
  for (const auto& [parameters, body] : shown) EXPECT_TRUE(accepted(kernel(parameters, body))) << body;
}

TEST(Apart, WhatIsRefused) {
  const std::pair<const char*, const char*> refused[] = {
      {"inout x: f32[2 * N]", "for[i <= N] x[i] = (x[i + N] if i + N < 2 * N else 0)"},
      {"inout x: f32[3 * N]", "for[i < N] x[2 * i] = x[3 * i]"},
      {"inout x: f32[3 * N]", "for[i < N] x[2 * i] = x[2 * i + 2]"},
      {"inout x: f32[2, N]", "for[i < N, r < 2] x[r, i] = x[1, i]"},
      {"inout x: f32[N]", "for[i if i >= 0] x[i] = x[0]"},
      {"inout x: f32[N]", "for[i if i % 2 == 0] x[i] = x[i + 2] if i + 2 < N else 0"},
      {"inout x: f32[N]", "for[i if i % 3 == 1] x[i] = sum[j < N] (x[j] if j % 2 == 0 else 0)"},
      {"inout x: f32[N], k: i32", "for[i if i <= k] x[i] = sum[j < N] (x[j] if j >= k else 0)"},
      {"inout x: f32[N], slot: i32[N]", "for[i < N] x[slot[i]] = x[i]"},
      {"inout x: f32[2 * N]", "t[i < N] = 2 * x[i + N - 1]\nfor[i < N] x[i] = t[i]"},
      {"inout x: f32[2 * N], inout y: f32[2 * N]", "for[i < N] x[i] = y[i + N]\nfor[i < N] y[2 * i] = x[i + N]"},
      // Other ranks on the left than on the right.
      {"inout x: f32[N], inout y: f32", "x[i] = 2\ny = sum[j] x[j]"},
      {"inout x: f32[N], inout y: f32", "y = x[0]\nx[i] = 2"},
      {"inout x: f32[N], inout y: f32[N, N]", "y[i, j] = x[i]\nx[i] = 2"},
      {"inout x: f32[N], inout c: f32", "c = sum[i] x[i]\nfor[i] x[i] += 1"},
      // Products of 64 bits wrap: nothing is known of them.
      {"inout x: f32[N], a: i64", "for[i < N] x[i * a] = x[i * a + 1]"},
  };
  for (const auto& [parameters, body] : refused) EXPECT_FALSE(accepted(kernel(parameters, body))) << body;
}

// Locals that are read twice by the next one are followed once at each place; what takes too long is refused.
TEST(Apart, LongChainsOfLocals) {
  std::string body = "t0[i] = x[i]\n";
  for (int k = 1; k < 60; ++k) {
    body += "t" + std::to_string(k) + "[i] = t" + std::to_string(k - 1) + "[i] * t" + std::to_string(k - 1) + "[i]\n";
  }
  EXPECT_TRUE(accepted(kernel("inout x: f32[N]", body + "x[i] = t59[i]")));
  body = "t0[i] = x[i]\n";
  for (int k = 1; k < 60; ++k) {
    std::string before = "t" + std::to_string(k - 1);
    body +=
        "t" + std::to_string(k) + "[i] = " + before + "[i] if i < " + std::to_string(k) + " else " + before + "[i]\n";
  }
  EXPECT_FALSE(accepted(kernel("inout x: f32[N]", body + "x[i] = t59[i]")));
  body = "t0[i] = x[i]\n";
  for (int k = 1; k < 5000; ++k) body += "t" + std::to_string(k) + "[i] = exp(t" + std::to_string(k - 1) + "[i])\n";
  EXPECT_FALSE(accepted(kernel("inout x: f32[N]", body + "x[i] = t4999[i]")));
}

// --- random kernels against every instance ---

class RandomUpdates {
 public:
  explicit RandomUpdates(Random& random) : random_(random) {}

  std::string text() {
    std::string body;
    two_ = chance(random_, 0.3);
    int updates = static_cast<int>(between(random_, 1, 2));
    bool local = chance(random_, 0.4);
    if (local) {
      names_ = {"l"};
      body += "  t[l < " + end() + "] = " + read() + "\n";
    }
    for (int u = 0; u < updates; ++u) {
      std::string i = u ? "p" : "i", j = u ? "q" : "j";
      names_ = {i, j};
      std::string ends = i + " < " + end() + ", " + j + " < " + end();
      std::string filter = chance(random_, 0.5) ? " if " + condition() : "";
      std::string left = subscripts();
      std::string value =
          (u == 0 ? std::string("n + id[0] + ") + (local ? "t[" + form() + "] + " : "") : "") + guarded();
      body +=
          "  for[" + ends + filter + "] x[" + left + "] " + (chance(random_, 0.8) ? "=" : "+=") + " " + value + "\n";
    }
    return std::string("kernel f[A, B](inout x: f32[") + (two_ ? "3, 14" : "30") + "], id: i32[4], n: i32) {\n" + body +
           "}\n";
  }

 private:
  std::string name() { return names_[static_cast<size_t>(between(random_, 0, std::ssize(names_) - 1))]; }
  std::string number(int64_t lo, int64_t hi) { return std::to_string(between(random_, lo, hi)); }
  std::string end() {
    const char* ends[] = {"A", "B", "3", "4", "A + 1", "2 * B"};
    return ends[between(random_, 0, 5)];
  }
  std::string form() {
    switch (between(random_, 0, 11)) {
      case 0: return name();
      case 1: return name() + " + " + number(1, 5);
      case 2: return number(2, 4) + " * " + name() + " + " + number(0, 3);
      case 3: return "2 * " + name() + " + 4 * " + name() + " + " + number(0, 3);
      case 4: return name() + " + A";
      case 5: return name() + " + 2 * B + " + number(0, 2);
      case 6: return "A - 1 - " + name();
      case 7: return name() + " // " + number(1, 3) + " + " + number(0, 4);
      case 8: return name() + " % " + number(1, 4) + " + " + number(0, 4);
      case 9: return number(0, 6);
      case 10: return "min(" + name() + ", " + number(0, 3) + ") + " + number(0, 4);
      default: return "id[" + name() + " % 4] + " + number(0, 3);
    }
  }
  std::string subscripts() {
    if (!two_) return form();
    std::string row = chance(random_, 0.6) ? number(0, 2) : name() + " % 3";
    return row + ", " + form();
  }
  std::string condition() {
    switch (between(random_, 0, 6)) {
      case 0: return name() + " < " + number(1, 3);
      case 1: return name() + " >= " + number(1, 3);
      case 2: return name() + " % " + number(2, 3) + " == " + number(0, 1);
      case 3: return name() + " < n";
      case 4: return name() + " >= n";
      case 5: return "not (" + form() + " < " + form() + ")";
      default: return form() + " " + (chance(random_, 0.5) ? "==" : "!=") + " " + form();
    }
  }
  std::string read() { return "x[" + subscripts() + "]"; }
  std::string guarded() {
    switch (between(random_, 0, 3)) {
      case 0: return read();
      case 1: return "(" + read() + " if " + condition() + " else " + number(0, 2) + ")";
      case 2: return "(" + number(0, 2) + " if " + condition() + " else " + read() + ")";
      default: {
        std::string bound = "sum[r < " + end() + "] ";
        names_.push_back("r");
        std::string body = chance(random_, 0.5) ? "(" + read() + " if " + condition() + " else 0)" : read();
        names_.pop_back();
        return "(" + bound + body + ")";
      }
    }
  }

  Random& random_;
  std::vector<std::string> names_;
  bool two_ = false;
};

// The first meeting that the notation refuses.
std::string meeting(const Program& program, const Simulator& simulator) {
  auto plain = [&](size_t u) {
    return std::ranges::all_of(program.updates[u].subscripts, [](const NodePtr& s) { return s->op == Op::kIndex; });
  };
  std::map<std::pair<size_t, int64_t>, std::set<size_t>> writers;
  for (const Simulator::Touch& w : simulator.writes()) writers[{w.tensor, w.element}].insert(w.update);
  for (const Simulator::Touch& r : simulator.reads()) {
    for (size_t w : writers[{r.tensor, r.element}]) {
      if (r.own && (w == r.update || (plain(w) && plain(r.update)))) continue;
      return "update " + std::to_string(r.update) + " reads element " + std::to_string(r.element) + ", update " +
             std::to_string(w) + " writes it";
    }
  }
  return {};
}

TEST(Apart, NothingThatIsAcceptedMeets) {
  const char* given = std::getenv("QUERN_TEST_SEED");
  uint64_t seed = given ? std::strtoull(given, nullptr, 0) : 20260803;
  const char* count = std::getenv("QUERN_TEST_RUNS");
  int shown = 0, meetings = 0;
  for (int i = 0; i < (count ? std::atoi(count) : 3000); ++i) {
    Random random(seed + static_cast<uint64_t>(i));
    std::string text = RandomUpdates(random).text();
    CheckedText checked = check_text(text);
    if (!checked.codes().empty()) {
      ASSERT_EQ(checked.codes().find_first_not_of("E506 "), std::string::npos) << text << render(checked.unit.errors);
      continue;
    }
    ++shown;
    const Program& program = checked.program();
    for (int at = 0; at < 6; ++at) {
      auto sizes = bind(program, request({{"A", between(random, 0, 6)}, {"B", between(random, 0, 4)}}));
      ASSERT_TRUE(sizes);
      Arguments arguments(program, *sizes);
      std::vector<int64_t> ids;
      for (int k = 0; k < 4; ++k) ids.push_back(between(random, -1, 6));
      arguments.set_whole("id", ids);
      arguments.set_whole("n", {between(random, -1, 5)});
      Simulator simulator(program, *sizes, arguments);
      simulator.watch();
      simulator.run();
      meetings += !simulator.reads().empty();
      std::string met = meeting(program, simulator);
      ASSERT_EQ(met, "") << text << "seed " << seed + static_cast<uint64_t>(i);
    }
  }
  if (!count) {
    EXPECT_GT(shown, 300);  // the test says something only while many are accepted
    EXPECT_GT(meetings, 600);
  }
}

}  // namespace
}  // namespace quern::expr::test
