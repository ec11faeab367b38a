// Where each index runs, rule by rule (docs/notation.md, ranges).
#include <fmt/format.h>

#include "checked.h"

namespace quern::expr {
namespace {

// Ranges as "lo..hi" of the binders, joined by blanks.
std::string text(const std::vector<Binder>& binders) {
  std::string out;
  for (const Binder& b : binders) {
    out += fmt::format("{}{}:{}..{}", out.empty() ? "" : " ", b.name.str(), b.lo ? print(b.lo) : "0", print(b.hi));
  }
  return out;
}

// Of the definition's own binders, then of each reduction in it, in order of the text.
std::string ranges(const std::vector<Binder>& own, const NodePtr& value) {
  std::string out = text(own);
  auto walk = [&](auto& self, const NodePtr& n) -> void {
    if (row(*n).family == Family::reduction) out += " | " + text(n->binders);
    for (const NodePtr& arg : n->args) self(self, arg);
  };
  walk(walk, value);
  return out;
}

// Of the last update of a kernel with these parameters and body.
std::string ranges(const std::string& signature, const std::string& body) {
  CheckedText checked = check_text("kernel f" + signature + " {\n" + body + "\n}\n");
  if (!checked.unit.errors.empty()) return checked.codes();
  const Update& u = checked.program().updates.back();
  return ranges(u.binders, u.value);
}

TEST(Ranges, AWrittenBoundIsTheRange) {
  const char* x = "(x: f32[N]) -> y: f32";
  const char* k = "(x: f32[N], k: i32) -> y: f32";
  EXPECT_EQ(ranges(x, "y = sum[n < N - 1] x[n + 1]"), " | n:0..N - 1");
  EXPECT_EQ(ranges(k, "y = sum[n <= k] x[n]"), " | n:0..k + 1");
  EXPECT_EQ(ranges(x, "y = sum[1 <= n < N] x[n]"), " | n:1..N");
  EXPECT_EQ(ranges(k, "y = sum[1 < n <= k] x[n]"), " | n:2..k + 1");
  EXPECT_EQ(ranges(k, "y = sum[k < n < N] x[n]"), " | n:k + 1..N");
  EXPECT_EQ(ranges(x, "y = sum[n <= 3] x[n]"), " | n:0..4");
  EXPECT_EQ(ranges(x, "y = sum[m < 4, n < m] x[n]"), " | m:0..4 n:0..m");
}

TEST(Ranges, ABoundWinsOverBareUses) {
  EXPECT_EQ(ranges("(x: f32[N]) -> y: f32", "y = sum[n < 3] x[n]"), " | n:0..3");
  EXPECT_EQ(ranges("(x: f32[M], z: f32[N]) -> y: f32[N]", "y[i < N] = x[i] + z[i]"), "i:0..N");
}

TEST(Ranges, ABareSubscriptGivesItsDimension) {
  EXPECT_EQ(ranges("(x: f32[M, K], z: f32[K, N]) -> y: f32[M, N]", "y[m, n] = sum[k] x[m, k] * z[k, n]"), "m:0..M n:0..N | k:0..K");
  EXPECT_EQ(ranges("(x: f32[N]) -> y: f32[2 * N]", "y[i] = x[i // 2]"), "i:0..2 * N");
  EXPECT_EQ(ranges("(x: f32[N]) -> y: f32", "y = sum[i] i"), "E301");
  EXPECT_EQ(ranges("(x: f32[N]) -> y: f32", "y = sum[i] x[i + 0]"), "E301");
  EXPECT_EQ(ranges("(x: f32[N]) -> y: f32", "y = sum[i] x[(i)]"), " | i:0..N");
}

TEST(Ranges, DimensionsAgreeByTheirFormulas) {
  EXPECT_EQ(ranges("(x: f32[K], z: f32[K / 2 * 2]) -> y: f32", "y = sum[k] x[k] * z[k]"), " | k:0..K");
  EXPECT_EQ(ranges("(x: f32[K], z: f32[L]) -> y: f32", "y = sum[k] x[k] * z[k]"), "E302");
  EXPECT_EQ(ranges("(x: f32[N + 1]) -> y: f32[N]", "y[i] = x[i + 1] - x[i]"), "E302");
  EXPECT_EQ(ranges("(x: f32[N + 1]) -> y: f32[N]", "y[i < N] = x[i + 1] - x[i]"), "i:0..N");
}

TEST(Ranges, ABoundThatIsADimensionIsOne) {
  // So y is defined everywhere.
  EXPECT_EQ(ranges("(x: f32[N], z: f32[N]) -> y: f32[N]", "t[i < N] = x[i]\ny[i] = t[i] + z[i]"), "i:0..N");
  EXPECT_EQ(ranges("(x: f32[N], z: f32[M]) -> y: f32[N]", "t[i < N] = x[i]\ny[i] = t[i] + z[i]"), "E302");
}

TEST(Ranges, ALocalsBoundIsRewrittenToTheSubscriptsUsed) {
  const char* signature = "(x: f32[R, N], length: i32[R]) -> y: f32[R]";
  EXPECT_EQ(ranges(signature, "s[r, n < length[r]] = x[r, n]\ny[q] = sum[j] s[q, j]"), "q:0..R | j:0..length[q]");
  EXPECT_EQ(ranges(signature, "s[r, n < length[r]] = x[r, n]\ny[q] = sum[j] s[R - 1 - q, j]"), "q:0..R | j:0..length[R - 1 - q]");
  EXPECT_EQ(ranges(signature, "s[r, r <= n < length[r]] = x[r, n]\ny[q] = sum[j] s[q, j]"), "q:0..R | j:q..length[q]");
  // Through another local.
  EXPECT_EQ(ranges(signature, "s[r, n < length[r]] = x[r, n]\nt[a, b] = 2 * s[a, b]\ny[q] = sum[j] t[q, j]"), "q:0..R | j:0..length[q]");
}

TEST(Ranges, ABoundFromALocalWinsOverDimensions) {
  const char* signature = "(x: f32[R, N], v: f32[N], length: i32[R]) -> y: f32[R]";
  EXPECT_EQ(ranges(signature, "s[r, n < length[r]] = x[r, n]\ny[r] = sum[n] s[r, n] * v[n]"), "r:0..R | n:0..length[r]");
  EXPECT_EQ(ranges(signature, "s[r, n < length[r]] = x[r, n]\nt[r, n <= r] = x[r, n]\ny[r] = sum[n] s[r, n] * t[r, n]"), "E303");
  EXPECT_EQ(ranges(signature, "s[r, n < length[r]] = x[r, n]\nt[r, n < length[r]] = v[n]\ny[r] = sum[n] s[r, n] * t[r, n]"),
            "r:0..R | n:0..length[r]");
}

TEST(Ranges, ABoundUsesWhatIsBoundBeforeIt) {
  EXPECT_EQ(ranges("(x: f32[N, N]) -> y: f32", "y = sum[i, j <= i] x[i, j]"), " | i:0..N j:0..i + 1");
  EXPECT_EQ(ranges("(x: f32[N, N]) -> y: f32", "y = sum[j <= i, i] x[i, j]"), "E308");
  EXPECT_EQ(ranges("(x: f32[N, N]) -> y: f32[N]", "y[i] = sum[j <= i] x[i, j]"), "i:0..N | j:0..i + 1");
  EXPECT_EQ(ranges("(x: f32[N, N]) -> y: f32", "t[i, j <= i] = x[i, j]\ny = sum[j, i] t[i, j]"), "E308");
  EXPECT_EQ(ranges("(x: f32[N, N]) -> y: f32", "t[i, j <= i] = x[i, j]\ny = sum[i, j] t[i, j]"), " | i:0..N j:0..i + 1");
  // A bound that needs an inner index can't be an outer one's.
  EXPECT_EQ(ranges("(x: f32[N, N]) -> y: f32", "t[i, j <= i] = x[i, j]\ny = sum[j] sum[i] t[i, j]"), "E308");
}

TEST(Ranges, AnInnerIndexOfTheSameNameIsAnother) {
  EXPECT_EQ(ranges("(s: f32[N]) -> p: f32[N]", "p[n] = s[n] / sum[n] s[n]"), "n:0..N | n:0..N");
  EXPECT_EQ(ranges("(s: f32[N], t: f32[M]) -> p: f32[N]", "p[n] = s[n] / sum[n] t[n]"), "n:0..N | n:0..M");
  EXPECT_EQ(ranges("(s: f32[N], t: f32[M]) -> p: f32[N]", "p[n] = s[n] / sum[n < n] t[n]"), "n:0..N | n:0..n");
  // The use inside doesn't count for the outer one.
  EXPECT_EQ(ranges("(t: f32[M]) -> p: f32", "p = sum[n] (n + sum[n] t[n])"), "E301");
}

TEST(Ranges, OfACallComeFromItsArgumentsOrItsBound) {
  EXPECT_EQ(ranges("(x: f32[M, N]) -> y: f32[M]", "y[m] = var[n](x[m, n])").substr(0, 15), "m:0..M | n:0..N");
  EXPECT_EQ(ranges("(x: f32[N]) -> y: f32", "y = count[n < 3](x[n] > 0)"), " | n:0..3");
  EXPECT_EQ(ranges("(x: f32[N]) -> y: f32", "y = count[n](n > 0)"), "E301");
  EXPECT_EQ(ranges("(x: f32[N], length: i32) -> y: f32", "y = count[2 <= n < length](x[n] > 0)"), " | n:2..length");
}

TEST(Ranges, AValueThatDependsOnTheIndexBindsTheCallers) {
  const char* signature = "(s: f32[M, N]) -> y: f32[M]";
  EXPECT_EQ(ranges(signature, "p[m, n] = softmax[n <= m](s[m, n])\ny[m] = sum[n] p[m, n]"), "m:0..M | n:0..m + 1");
  EXPECT_EQ(ranges(signature, "p[m, n] = softmax[n](s[m, n])\ny[m] = sum[n] p[m, n]"), "m:0..M | n:0..N");
  EXPECT_EQ(ranges(signature, "p[m] = logsumexp[n](s[m, n])\ny[m] = p[m]"), "m:0..M");
  EXPECT_EQ(ranges(signature, "p[m, n] = logsumexp[n](s[m, n])\ny[m] = sum[n] p[m, n]"), "E301");
  EXPECT_EQ(ranges(signature, "y[m] = softmax[n](s[m, n])"), "E602");
}

TEST(Ranges, SeveralIndicesStandForOneParameter) {
  EXPECT_EQ(ranges("(x: f32[H, W, C]) -> y: f32[C]", "y[c] = mean[h, w](x[h, w, c])"), "c:0..C | h:0..H w:0..W | h:0..H w:0..W");
  EXPECT_EQ(ranges("(x: f32[H, W]) -> y: f32[H, W]", "y[h, w] = softmax[h, w](x[h, w])").substr(0, 13), "h:0..H w:0..W");
  EXPECT_EQ(ranges("(x: f32[H, W]) -> y: i32[H, W]", "y[h, w] = rank[h, w](x[h, w])"), "E606");
  EXPECT_EQ(ranges("(x: f32[H, W]) -> y: f32", "y = var[h < 2, w](x[h, w])").substr(0, 16), " | h:0..2 w:0..W");
}

TEST(Ranges, OfForComeFirst) {
  EXPECT_EQ(ranges("[V](x: i32[N]) -> h: i32[V] = 0", "for[n] h[x[n]] += 1"), "n:0..N");
  EXPECT_EQ(ranges("(k: f32[N, D], slot: i32[N], inout c: f32[P, D])", "for[t if slot[t] >= 0] c[slot[t], d] = k[t, d]"), "t:0..N d:0..D");
  EXPECT_EQ(ranges("(x: f32[M, N], s: i32[X + 1]) -> y: f32[M, N] = 0", "for[e < X, s[e] <= m < s[e + 1]] y[m, n] = x[m, n]"),
            "e:0..X m:s[e]..s[e + 1] n:0..N");
}

TEST(Ranges, FunctionsHaveTheirOwnNames) {
  std::string f = "fn f[i](x[i], m) = sum[i] x[i] * m\n\n";
  CheckedText checked = check_text(f + "kernel k(a: f32[M, N], i: f32) -> y: f32[M] {\n  y[m] = f[j](a[m, j] + i, m)\n}\n");
  EXPECT_EQ(print(checked.program().updates[0].value), "sum[j < N] (a[m, j] + i) * m");
}

TEST(Ranges, AParameterMayBeReadAtAnotherIndex) {
  CheckedText checked = check_text("fn below[i](x[i]) = sum[j < i] x[j]\n\nkernel k(a: f32[M, N]) -> y: f32[M, N] {\n  y[m, n] = below[n](a[m, n])\n}\n");
  EXPECT_EQ(print(checked.program().updates[0].value), "sum[j < n] a[m, j]");
  checked = check_text("fn next[i](x[i]) = x[i + 1]\n\nkernel k(a: f32[M, N]) -> y: f32[M, N] {\n  y[m, n] = next[n](a[m, n])\n}\n");
  EXPECT_EQ(print(checked.program().updates[0].value), "a[m, n + 1]");
}

}  // namespace
}  // namespace quern::expr
