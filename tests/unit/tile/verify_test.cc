// Each rule of the verifier: a program that keeps it, changed so that it does not. Every message stands here at least
// once, so that a rule that is taken out is missed.
#include "tile/verify.h"

#include <gtest/gtest.h>

#include "worked.h"

namespace quern::tile {
namespace {

TEST(Verify, WorkedProgramsAreWellFormed) {
  for (const std::string& name : worked_names()) EXPECT_EQ(render(verify(worked(name))), "") << name;
}

constexpr const char* kTiled = R"(program p tiled
dims M = 8, N = 9, K = 4
in a: f16[M, K]
in b: f16[K, N]
in i: i64[M]
in r: f32
tmp t: f32[M] zeroed
out c: f32[M, N]
site E801 "a" "i"

kernel first
  axes g < 2, m < M, n < N, k < K, j < m + 1
  scalar g
  grid g, m:4 in g * 4 .. g * 4 + 4
  x = load i[m]
  z = 1
  for k:2
    carry acc = fill[m, n](0.0)
    y = dot[k](load a[checked x, k] @0 if x > 0, load b[k, n], acc)
    next acc = y
  if load r > 0.0
    u = 2.0
    store t[m] += u * f32(sum[j](fill[m](j))) when m > 0
  w = max(load r, 0.0)
  v = load t[m] if m < 4 else w
  store c[m, n] = acc + v * f32(z)

kernel second
  axes m < M
  store t[m] = 1.0
)";

constexpr const char* kLaid = R"(program p laid
dims M = 8, N = 9, K = 4
in a: f32[M, K]
in b: f32[K, N]
out c: f32[M, N]

kernel first
  axes m < M, n < N, k < K, j < N, e < 2
  scalar e
  keep acc near n%8 m n/8
  keep y far
  keep l near
  z = 1
  for e
    carry acc = fill[m, n](0.0)
    nest m:4 n:8 lanes | k
      q = load a[m, k] * 2.0
      y = dot[k](q, load b[k, n], acc)
    nest m:2 | n:8 lanes
      p = y if n < n.hi else 0.0
      l = sum[n](p)
      h = l + 1.0
      l2 = h * 2.0
    next acc = y
  nest m n:16 lanes
    store c[m, n] = acc + f32(z) + l0
)";

std::string laid() { return replaced(kLaid, " + l0", ""); }

struct Broken {
  const char *from, *to, *message;
};

void expect_broken(const std::string& text, const Broken& b) {
  std::string found = render(verify(parsed(replaced(text, b.from, b.to))));
  EXPECT_NE(found.find(b.message), std::string::npos)
      << b.from << " -> " << b.to << ": expected " << b.message << ", found\n"
      << found;
}

TEST(Verify, Tiled) {
  EXPECT_EQ(render(verify(parsed(kTiled))), "");
  const Broken all[] = {
      {"program p tiled", "program p lowered", "there is a grid"},
      {"  x = load i[m]", "  nest m\n    x2 = 1\n  x = load i[m]", "there is a nest"},
      {"  z = 1\n", "  z = 1\n  keep z near\n", "there is a keep"},
      {"program p tiled", "program p lowered", "has a tile"},
      {"  z = 1\n", "  z = 1\n  z = 2\n", "z is defined twice"},
      {"  z = 1\n", "  z = 1\n  acc = 1.0\n", "acc is defined twice"},
      {"store c[m, n] = acc + v", "store c[m, n] = acc + v * u", "u is used where it has no value"},
      {"store c[m, n] = acc + v", "store c[m, n] = y + v", "y is used where it has no value"},
      {"z = 1", "z = not 1", "an argument is of a type that the operation does not take"},
      {"z = 1", "z = 1 / 2", "an argument is of a type that the operation does not take"},
      {"z = 1", "z = 1.0 & 2.0", "an argument is of a type that the operation does not take"},
      {"z = 1", "z = f16(1.0) + f16(2.0)", "an argument is of a type that the operation does not take"},
      {"z = 1", "z = 2.0 + 1", "arguments are of different types"},
      {"z = 1", "z = i64(check(1, 2, true) @0)", "a check is of a bool, an integer and a bool"},
      {"z = 1", "z = i64(check(true, 2, true))", "a check has no site"},
      {"z = 1", "z = 1 if 2 else 3", "the condition is not a bool"},
      {"z = 1", "z = 1 if true else 3.0", "the branches are of different types"},
      {"z = 1", "z = load c[0, 0]", "c is an out and is read"},
      {"load i[m]", "load i[1.0]", "a subscript of i is not an integer"},
      {"load i[m]", "load i[m, m]", "i has 1 dimensions and 2 subscripts"},
      {"if x > 0,", "if x,", "the guard of a is not a bool"},
      {"dot[k](", "dot[n](", "a reduced axis is not in both operands"},
      {"dot[k](", "dot:i64[k](", "an operand is of another kind"},
      {"dot[k](", "dot:f16[k](", "a dot accumulates in f32, f64 or i64"},
      {"load b[k, n], acc)", "load b[k, n], x)", "the accumulator is of another type"},
      {"next acc = y", "next acc = fill[m](0.0)", "the next value of acc is of another type"},
      {"next acc = y", "next acc = 1", "the next value of acc is of another type"},
      {"carry acc = fill[m, n](0.0)", "carry acc = fill[m, n, k](0.0)", "acc is carried along its own axis"},
      {"if load r > 0.0", "if load r", "the condition of an if is not a bool"},
      {"if load r > 0.0", "if load r > f32(m)", "the condition of an if is not one value"},
      {"store t[m] +=", "store i[m] +=", "i is stored to"},
      {"store t[m] +=", "atomic store t[m] =", "is atomic and adds nothing"},
      {"when m > 0", "when m", "the condition of a store to t is not a bool"},
      {"store c[m, n] = acc + v", "store c[m, n] = 1 + 0", "a value of another type is stored to c"},
      {"store c[m, n] =", "store c[m, 0] =", "c is stored once for each n, which is in no subscript"},
      {"store t[m] = 1.0", "store t[m, m] = 1.0", "t has 1 dimensions and 2 subscripts"},
      {"grid g, m:4 in g * 4", "grid m:4 in g * 4", "g is a scalar and is used outside its walk"},
      {"grid g, m:4 in g * 4 .. g * 4 + 4", "grid m:4 in n.lo .. 4, g", "the grid's range of m uses n"},
      {"g * 4 + 4\n", "f32(g)\n", "an end of the walk of m is not an integer"},
      {"for k:2", "for k:2 in 0 .. m", "an end of the walk of k is not one value"},
      {"for k:2", "for k", "k is no scalar and walked in steps of 1"},
      {"grid g,", "grid g:2,", "g is a scalar and walked in steps of 2"},
      {"for k:2", "for k:2, k:3", "the inner tile of k is larger"},
      {"n < N, k < K, j < m + 1", "n < N, k < 1.0, j < m + 1", "an end of the range of k is not an integer"},
      {"z = 1", "z = j", "the range of j is not one, and it is in a name's type"},
      {"for k:2", "for k:2, j:2", "the range of j is not one when it is walked"},
      {"sum[j](fill[m](j))", "sum[j](j)", "the range of j depends on m, which what is reduced over it lacks"},
      {"in r: f32\n", "in r: f32 zeroed\n", "r is zeroed and no tmp"},
      {"in r: f32\n", "in r: f32\nin s: f32[1.0]\n", "a size of s is not an integer"},
      {"dims M = 8", "dims M = -8", "M is negative"},
  };
  for (const Broken& b : all) expect_broken(kTiled, b);
}

TEST(Verify, Laid) {
  EXPECT_EQ(render(verify(parsed(laid()))), "");
  const Broken all[] = {
      {"program p laid", "program p placed", "an axis lies in lanes"},
      {"m:4 n:8 lanes", "m:4 lanes n:8 lanes", "two axes of a nest lie in lanes"},
      {"  z = 1\n", "  z = 1\n  s = load a[m, 0]\n", "s is computed outside a nest"},
      {"  z = 1\n", "  z = 1\n  s = 1.0\n", "s is computed outside a nest"},
      {"  z = 1\n", "  z = 1\n  store c[0, 0] = 1.0\n", "c is stored to outside a nest"},
      {"      q = load", "      for k:all\n        o = 1\n      q = load", "a nest holds a loop"},
      {"      q = load", "      if true\n        o = 1\n      q = load", "a nest holds a condition"},
      {"      q = load", "      nest\n        o = 1\n      q = load", "a nest stands in another one"},
      {"      q = load", "      keep q near\n      q = load", "a nest holds a keep"},
      {"m:4 n:8 lanes | k", "m:4 n:8 lanes | k k", "k is twice in a nest"},
      {"m:4 n:8 lanes | k", "m:4 n:8 lanes e | k", "the scalar axis e is in a nest"},
      {"m:4 n:8 lanes | k", "m:4 | k n:8 block lanes", "the block axis n stands behind a strip"},
      {"m:4 n:8 lanes | k", "m:4 | k", "n is in a type and not in its nest"},
      {"    store c", "    s = fill[j](0.0)\n    store c", "j is in a type and not in its nest"},
      {"m:4 n:8 lanes | k", "m:4 n:8 lanes k", "a reduction over k does not fit its nest"},
      {"m:4 n:8 lanes | k", "m:4 n:8 lanes | k j", "a reduction over k does not fit its nest"},
      {"l = sum[n](p)", "l = sum[n](p - sum[n](p))", "a reduction of a nest stands in another one"},
      {"l2 = h * 2.0", "l2 = sum[n](p * h)", "a reduction of a nest needs h, another one's result"},
      {"l2 = h * 2.0", "l2 = p * h", "l2 has a strip axis and needs a reduction over it"},
      {"l2 = h * 2.0", "l2 = p * 2.0", "l2 stands behind what needs its nest's reductions"},
      {"l2 = h * 2.0", "l2 = sum[n](p * 2.0)", "l2 stands behind what needs its nest's reductions"},
      {"next acc = y", "next acc = y + 1.0", "the next value of acc is computed outside a nest"},
      {"  keep y far\n", "", "y is used in another nest and not kept"},
      {"  keep acc near n%8 m n/8\n", "", "acc is carried and not kept"},
      {"  keep y far\n", "  keep y far\n  keep y near\n", "y is kept twice"},
      {"  keep y far\n", "  keep y far\n  keep y2 near\n", "y2 is kept and not defined"},
      {"near n%8 m n/8", "near n%8 m", "the layout of acc ends before its axes do"},
      {"near n%8 m n/8", "near n m n/8", "the layout of acc has n without end twice"},
      {"near n%8 m n/8", "near n%8 m n/8 k", "the layout of acc has a digit that its type does not have"},
  };
  for (const Broken& b : all) expect_broken(laid(), b);
}

// What text cannot say.
TEST(Verify, Structs) {
  auto changed = [](auto change) {
    Program p = parsed(kTiled);
    change(p);
    return render(verify(p));
  };
  auto let = [](Program& p, size_t i) -> Let& { return std::get<Let>(p.kernels[0].body[i].is); };
  auto with = [](const ExprPtr& e, auto change) {
    Expr copy = *e;
    change(copy);
    return std::make_shared<const Expr>(copy);
  };
  struct {
    std::function<void(Program&)> change;
    const char* message;
  } all[] = {
      {[&](Program& p) { let(p, 0).value = nullptr; }, "an expression is missing"},
      {[&](Program& p) { let(p, 0).name = 77; }, "a name is not declared"},
      {[&](Program& p) { p.kernels[0].names[0].type = ScalarType::f32; }, "x is given a value of another type"},
      {[&](Program& p) { p.kernels[0].names[0].axes = AxisSet(); }, "x is given a value of another type"},
      {[&](Program& p) { p.kernels[0].names[0].axes |= AxisSet::of(0); }, "x has the scalar axis g in its type"},
      {[&](Program& p) { p.kernels[0].names[0].axes |= AxisSet::of(40); }, "an axis is not declared"},
      {[&](Program& p) { p.kernels[0].scalar |= AxisSet::of(40); }, "an axis is not declared"},
      {[&](Program& p) { p.kernels[0].grid[0].axis = 9; }, "an axis is not declared"},
      {[&](Program& p) { p.kernels[0].grid[1].size = -1; }, "m is walked in steps of -1"},
      {[&](Program& p) { let(p, 1).value = axis(50); }, "an axis is not declared"},
      {[&](Program& p) { let(p, 1).value = axis_low(50); }, "an axis is not declared"},
      {[&](Program& p) { let(p, 1).value = dim(50); }, "a dimension is not declared"},
      {[&](Program& p) { let(p, 1).value = name(50, ScalarType::i64, {}); }, "a name is not declared"},
      {[&](Program& p) { let(p, 1).value = name(0, ScalarType::f32, AxisSet::of(1)); },
       "x is used with another type than it has"},
      {[&](Program& p) { let(p, 1).value = load(50, ScalarType::i64, {}); }, "a parameter is not declared"},
      {[&](Program& p) { let(p, 1).value = load(3, ScalarType::i64, {}); }, "r is loaded as another type than it has"},
      {[&](Program& p) { let(p, 0).value = with(let(p, 0).value, [](Expr& e) { e.checked = 2; }); },
       "a subscript of i is checked that it does not have"},
      {[&](Program& p) { let(p, 0).value = with(let(p, 0).value, [](Expr& e) { e.site = 5; }); },
       "a site is not declared"},
      {[&](Program& p) { let(p, 0).value = with(let(p, 0).value, [](Expr& e) { e.axes = AxisSet(); }); },
       "axes of load i[m] do not follow from its parts"},
      {[&](Program& p) { let(p, 1).value = with(integer(1), [](Expr& e) { e.type = ScalarType::i32; }); },
       "the result is of another type than its row says"},
      {[&](Program& p) { let(p, 1).value = with(real(1), [](Expr& e) { e.type = ScalarType::i32; }); },
       "the result is of another type than its row says"},
      {[&](Program& p) { let(p, 1).value = with(integer(1), [](Expr& e) { e.op = Op::kAdd; }); },
       "another number of arguments than its row says"},
      {[&](Program& p) { p.kernels[0].axes[2].hi = axis(3); }, "the range of n uses a later axis"},
      {[&](Program& p) { p.kernels[0].axes[2].hi = name(0, ScalarType::i64, AxisSet::of(1)); },
       "the name x stands in a range that is fixed before any name"},
      {[&](Program& p) { p.kernels[0].axes[2].hi = nullptr; }, "an expression is missing"},
      {[&](Program& p) { std::get<Loop>(p.kernels[0].body[2].is).walks.clear(); }, "a loop walks no axis"},
      {[&](Program& p) {
         p.kernels[0].axes.resize(65, {Symbol("q"), nullptr, integer(1)});
       },
       "an axis is not declared"},
  };
  for (const auto& c : all) {
    std::string found = changed(c.change);
    EXPECT_NE(found.find(c.message), std::string::npos) << "expected " << c.message << ", found\n" << found;
  }
}

TEST(Verify, NestSizes) {
  Program p = parsed(laid());
  auto& loop = std::get<Loop>(p.kernels[0].body[4].is);
  std::get<Nest>(loop.body[0].is).axes[0].size = 0;
  EXPECT_NE(render(verify(p)).find("m has 0 indices at once in a nest"), std::string::npos);
}

}  // namespace
}  // namespace quern::tile
