// Text and program are the same thing: print(parse(x)) is x, and whatever a program holds survives being printed.
#include <gtest/gtest.h>

#include <random>

#include "base/text.h"
#include "tile/parse.h"
#include "tile/print.h"
#include "tile/verify.h"
#include "worked.h"

namespace quern::tile {
namespace {

TEST(RoundTrip, OfTheWorkedPrograms) {
  ASSERT_GE(worked_names().size(), 12u);
  for (const std::string& name : worked_names()) {
    std::string text = worked_text(name);
    EXPECT_EQ(print(parsed(text)), text) << name;
  }
}

TEST(RoundTrip, OfTheDocument) {
  auto source = read_source("docs/tile.md");
  ASSERT_TRUE(source.has_value());
  std::string text((*source)->text());
  size_t begin = text.find("```\nprogram attention") + 4;
  text = text.substr(begin, text.find("```", begin) - begin);
  Program p = parsed(text);
  EXPECT_EQ(print(p), text);
  EXPECT_EQ(render(verify(p)), "");
}

// Everything that a program can hold and the worked ones do not.
TEST(RoundTrip, OfEveryPart) {
  const std::string text = R"(program parts laid
dims M = 8, dyn N, K = 4
in a: f16[M, N * 2 - (K - 1)]
const b: u4[M, K]
in s: f64
out c: f32[M]
inout d: f64[M]
tmp t: i64[M] zeroed
site E802 "a\x22b\x5c" "i + 1"
site E803 "c" ""

kernel first
  axes m < M, n in m.lo + 1 .. N - 1, i in load t[m] .. M, k < K
  scalar i
  grid m:8 in 1 .. m.hi, i in .. 3
  keep x near
  keep y far n%2 m/4%2 n/2
  if load s > 1.5:f64
    for n:all in 2 .., k
      carry u = -inf
      carry w = fill[m](nan)
      nest m:2 n held | k:4 lanes m block
        x = fastmax[k](load a[checked m, k] @0) - (fastmin(f32(1), -2.5) - 3.0)
        y = -(4.0) - -x - -(-5.0) + (x if not (x < 1.0) == (x > 2.0) else x if m < n else 0.0)
      next u = 0.0
      next w = w
  z = dot:i64[k](load b[m, k] if k < m, load b[m, (k + 1) % K])
  atomic store t[checked m] @1 += (load t[m] if m < 3) + 1 when m > 2 and (m < 7 or true)
  store d[m] = f64(fma(1.0, f32(z << 3 >> (2 ^ 1)), pow(2.0, 3.0)))
  v = all[m, n](m != n) or any[k](k <= m // 2 - -9223372036854775808)

kernel
  nest
    z2 = 7
    e = f32((z2 if true else 2) & 1 | 2)
)";
  EXPECT_EQ(print(parsed(text)), text);
}

TEST(RoundTrip, LiteralsKeepEveryBit) {
  for (double v : {0.0, -0.0, 0.1, 1e300, 5e-324, 1.0, -2.0, 1e22, 123456789.125}) {
    Program p;
    p.kernels.resize(1);
    p.kernels[0].names.resize(1);
    for (ScalarType type : {ScalarType::f32, ScalarType::f64}) {
      p.kernels[0].names[0].type = type;
      p.kernels[0].body = {{Let{0, real(v, type)}}};
      std::string text = print(p);
      Program back = parsed(text);
      const ExprPtr& e = std::get<Let>(back.kernels[0].body[0].is).value;
      EXPECT_TRUE(equal(e, real(v, type))) << text;
    }
  }
}

// Passes may call two things alike, or as a word of the grammar: the text tells them apart.
TEST(RoundTrip, NamesAreToldApart) {
  Program p;
  p.dims = {{Symbol("M"), 3}};
  Kernel k;
  k.axes = {{Symbol("M"), nullptr, dim(0)}, {Symbol("M"), nullptr, dim(0)}};
  k.names = {{Symbol("x"), ScalarType::i64, AxisSet::of(0)},
             {Symbol("x"), ScalarType::i64, AxisSet::of(0) | AxisSet::of(1)},
             {Symbol("load"), ScalarType::i64, {}},
             {Symbol("a.b"), ScalarType::i64, {}}};
  auto use = [&](int32_t id) { return name(id, ScalarType::i64, k.names[static_cast<size_t>(id)].axes); };
  k.body = {{Let{0, axis(0)}},
            {Let{1, apply(Op::kAdd, {use(0), axis(1)})}},
            {Let{2, integer(1)}},
            {Let{3, apply(Op::kMul, {use(2), dim(0)})}}};
  p.kernels = {k};
  std::string text = print(p);
  EXPECT_EQ(text, R"(program lowered
dims M = 3

kernel
  axes M_2 < M, M_3 < M
  x = M_2
  x_2 = x + M_3
  load_2 = 1
  a_b = load_2 * M
)");
  EXPECT_EQ(print(parsed(text)), text);
}

// --- random expressions ---

class RandomExpression {
 public:
  explicit RandomExpression(uint64_t seed) : random_(seed) {}

  ExprPtr make(int depth) {
    if (depth == 0 || below(6) == 0) return leaf();
    const OpRow& r = op_rows()[below(op_rows().size())];
    auto arg = [&] { return make(depth - 1); };
    AxisSet some(below(8));
    switch (r.family) {
      case Family::literal:
      case Family::dim:
      case Family::axis:
      case Family::name: return leaf();
      case Family::load: {
        Expr e = *load(0, ScalarType::f16, {arg(), arg()}, below(2) ? arg() : nullptr);
        e.checked = static_cast<uint32_t>(below(4));
        e.site = static_cast<int32_t>(below(3)) - 1;
        return std::make_shared<const Expr>(e);
      }
      case Family::fill: return fill(some, arg());
      case Family::cast: {
        ExprPtr a = arg();
        ScalarType type = type_rows()[below(type_rows().size())].type;
        return cast(type, a);
      }
      case Family::reduce: return flagged(reduce(r.op, some, arg()), r);
      case Family::dot: {
        ScalarType type = below(2) ? ScalarType::f32 : ScalarType::i64;
        return dot(type, some, arg(), arg(), below(2) ? arg() : nullptr, r.op);
      }
      default: {
        std::vector<ExprPtr> args;
        for (int i = 0; i < r.arity; ++i) args.push_back(arg());
        return flagged(apply(r.op, std::move(args)), r);
      }
    }
  }

 private:
  size_t below(size_t n) { return random_() % n; }
  ExprPtr leaf() {
    switch (below(9)) {
      case 0: return integer(static_cast<int64_t>(random_()) >> below(64));
      case 1: return real(static_cast<double>(static_cast<int64_t>(random_())) * 0x1p-70);
      case 2: return real(-3, ScalarType::f64);
      case 3: return boolean(below(2));
      case 4: return dim(0);
      case 5: return axis_low(1);
      case 6: return axis_high(2);
      case 7: return name(0, ScalarType::f32, AxisSet::of(1));
      default: return axis(static_cast<AxisId>(below(3)));
    }
  }
  ExprPtr flagged(ExprPtr e, const OpRow& r) {
    bool extreme = r.op == Op::kMax || r.op == Op::kMin || r.family == Family::extremum;
    if (!extreme || below(2)) return e;
    Expr copy = *e;
    copy.nan_ignored = true;
    return std::make_shared<const Expr>(copy);
  }
  std::mt19937_64 random_;
};

TEST(RoundTrip, OfRandomExpressions) {
  Program p;
  p.dims = {{Symbol("N"), std::nullopt}};
  p.parameters = {{.name = Symbol("a"), .type = ScalarType::f16, .shape = {dim(0), dim(0)}}};
  p.sites = {{Code::E801, {}, "a", "i"}, {Code::E803, {}, "b", "j", Site::End{"len[i]", true, 40}}};
  Kernel k;
  for (const char* axis : {"i", "j", "k"}) k.axes.push_back({Symbol(axis), nullptr, dim(0)});
  k.names = {{Symbol("x"), ScalarType::f32, AxisSet::of(1)}, {Symbol("y"), ScalarType::f32, {}}};
  p.kernels = {k};
  ExprPtr first = real(0);
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    ExprPtr e = RandomExpression(seed).make(6);
    p.kernels[0].names[1] = {Symbol("y"), e->type, e->axes};
    p.kernels[0].body = {{Let{0, fill(AxisSet::of(1), first)}}, {Let{1, e}}};
    std::string text = print(p);
    Program back = parsed(text);
    ASSERT_EQ(print(back), text) << seed;
    ASSERT_TRUE(equal(std::get<Let>(back.kernels[0].body[1].is).value, e)) << seed << "\n" << text;
  }
}

}  // namespace
}  // namespace quern::tile
