// Wrong kernels: the embedding gives the codes, messages and places that the text gives.
#include <gtest/gtest.h>

#include "lang/load.h"
#include "quern/module.h"
#include "quern/notation.h"
#include "quern/prelude.h"

namespace quern {
namespace {

const Type T("T");
const Dim M("M"), N("N"), K("K"), J("J"), L("L"), V("V");
const Index m("m"), n("n"), k("k"), i("i"), j("j");

std::vector<std::string> codes(const Errors& errors) {
  std::vector<std::string> out;
  for (const Error& e : errors) out.push_back(e.code + " " + e.message);
  return out;
}

// The kernel has an error of this code; and its own text, parsed, has the same errors, codes and messages.
void refused(const Kernel& kernel, const std::string& code) {
  auto checked = kernel.check();
  ASSERT_FALSE(checked) << print(kernel);
  EXPECT_TRUE(checked.error().has(code)) << checked.error().text();
  auto text = parse(print(kernel));
  ASSERT_FALSE(text) << print(kernel);
  EXPECT_EQ(codes(checked.error()), codes(text.error()));
  auto program = kernel.compile();
  ASSERT_FALSE(program);
  EXPECT_EQ(codes(checked.error()), codes(program.error()));
}

struct EmbeddedErrors : testing::Test {
  Tensor a{"a", T, {M, K}}, b{"b", T, {K, N}}, c{"c", T, {M, N}}, x{"x", T, {M}}, y{"y", T, {M}};
  Tensor id{"id", i32, {M}}, h{"h", i32, {V}};
  Tensor p = Tensor::local("p"), q = Tensor::local("q");
};

TEST_F(EmbeddedErrors, E201) {
  c(m, n) = a(m, k) * b(k, n);
  refused(Kernel("f", {a, b}, {c}), "E201");
}
TEST_F(EmbeddedErrors, E201OfATensorThatIsNotListed) {
  Kernel kernel("f", {x}, {y});
  y(m) = x(m) * a(m, 0);
  refused(kernel, "E201");
  EXPECT_EQ(kernel.check().error().front().remedy,
            "list a among the kernel's parameters, or define it before it is read");
}
TEST_F(EmbeddedErrors, E203) {
  Index as_tensor("x");
  y(m) = sum(as_tensor, x(as_tensor));
  refused(Kernel("f", {x}, {y}), "E203");
}
TEST_F(EmbeddedErrors, E204) {
  Tensor alpha("alpha", f32);
  y(m) = x(m) * alpha(m);
  refused(Kernel("f", {x, alpha}, {y}), "E204");
}
TEST_F(EmbeddedErrors, E205) {
  Tensor z("z", Type("M"), {M});
  y(m) = z(m);
  refused(Kernel("f", {z}, {y}), "E205");
}
TEST_F(EmbeddedErrors, E301) {
  y(m) = sum(k, x(m + 0 * k));
  refused(Kernel("f", {x}, {y}), "E301");
}
TEST_F(EmbeddedErrors, E302) {
  Tensor other("b", T, {J, N});
  c(m, n) = sum(k, a(m, k) * other(k, n));
  refused(Kernel("f", {a, other}, {c}), "E302");
}
TEST_F(EmbeddedErrors, E303) {
  Tensor s("s", i32, {M}), t("t", i32, {M});
  p(m, k.below(s(m))) = a(m, k);
  q(m, k.below(t(m))) = a(m, k);
  y(m) = sum(k, p(m, k) * q(m, k));
  refused(Kernel("f", {a, s, t}, {y}), "E303");
}
TEST_F(EmbeddedErrors, E304) {
  y(m) = a(m);
  refused(Kernel("f", {a}, {y}), "E304");
}
TEST_F(EmbeddedErrors, E304OfATensorUsedAsAScalar) {
  y(m) = 2 * x;
  refused(Kernel("f", {x}, {y}), "E304");
}
TEST_F(EmbeddedErrors, E305) {
  Tensor z("z", T, {L});
  z(n) = 0;
  y(m) = x(m);
  refused(Kernel("f", {x}, {y, z}), "E305");
}
TEST_F(EmbeddedErrors, E308) {
  y(m) = sum({i.below(j), j.below(3)}, x(m) * i);
  refused(Kernel("f", {x}, {y}), "E308");
}
TEST_F(EmbeddedErrors, E401) {
  y(m) = x(m) * (m < 3);
  refused(Kernel("f", {x}, {y}), "E401");
}
TEST_F(EmbeddedErrors, E402) {
  y(m) = if_else(m > 0, x(m), m < 3);
  refused(Kernel("f", {x}, {y}), "E402");
}
TEST_F(EmbeddedErrors, E403) {
  y(m) = x(floor_div(m, M / 2));  // `/` of dimensions is exact in a size and real in an expression
  refused(Kernel("f", {x}, {y}), "E403");
}
TEST_F(EmbeddedErrors, E404) {
  y(m) = if_else(m, x(m), 0);
  refused(Kernel("f", {x}, {y}), "E404");
}
TEST_F(EmbeddedErrors, E405) {
  y(m) = x(Expr(m) / 2);
  refused(Kernel("f", {x}, {y}), "E405");
}
TEST_F(EmbeddedErrors, E406) {
  h(n) = 0.5 * n;
  refused(Kernel("f", {V}, {h}), "E406");
}
TEST_F(EmbeddedErrors, E407) {
  h(n) = argmax({m, k}, a(m, k)) + n;
  refused(Kernel("f", {V, a}, {h}), "E407");
}
TEST_F(EmbeddedErrors, E501) {
  y(m) = x(m);
  y(m) = 2 * x(m);
  refused(Kernel("f", {x}, {y}), "E501");
}
TEST_F(EmbeddedErrors, E501OfALocal) {
  p(m) = x(m);
  p(m) = 2 * x(m);
  y(m) = p(m);
  refused(Kernel("f", {x}, {y}), "E501");
}
TEST_F(EmbeddedErrors, E502) {
  p.update({k})(m) = a(m, k);
  y(m) = p(m);
  refused(Kernel("f", {a}, {y}), "E502");
}
TEST_F(EmbeddedErrors, E503) {
  p(m + 1) = x(m);
  y(m) = p(m);
  refused(Kernel("f", {x}, {y}), "E503");
}
TEST_F(EmbeddedErrors, E504) {
  y(m.below(3)) = x(m);
  refused(Kernel("f", {x}, {y}), "E504");
}
TEST_F(EmbeddedErrors, E504OfAFilter) {
  y.update({m}, x(m) > 0)(m) = x(m);
  refused(Kernel("f", {x}, {y}), "E504");
}
TEST_F(EmbeddedErrors, E505) {
  h.update({m})(id(m)) += 1;
  refused(Kernel("f", {V, id}, {h}), "E505");
}
TEST_F(EmbeddedErrors, E506) {
  Tensor z = Tensor("z", T, {M}).inout();
  z(m) = z(M - 1 - m);
  refused(Kernel("f", {z}), "E506");
}
TEST_F(EmbeddedErrors, E507) {
  Tensor w = Tensor("w", u4, {M, K}).inout();
  w.update({m})(m, id(m)) = 1;
  refused(Kernel("f", {id, w}), "E507");
}
TEST_F(EmbeddedErrors, E508OfALocal) {
  p(m) = x(m);
  y(m) = x(m);
  refused(Kernel("f", {x}, {y}), "E508");
}
TEST_F(EmbeddedErrors, E508OfAScalar) {
  Tensor alpha("alpha", f32);
  y(m) = x(m);
  refused(Kernel("f", {x, alpha}, {y}), "E508");
}
TEST_F(EmbeddedErrors, E509) { refused(Kernel("f", {x}, {y}), "E509"); }
TEST_F(EmbeddedErrors, E510) {
  y(m) = x(m);
  refused(Kernel("f", {x, x}, {y}), "E510");
}
TEST_F(EmbeddedErrors, E511) {
  y(m) = x(m);
  x(m) = 0;
  refused(Kernel("f", {x}, {y}), "E511");
}
TEST_F(EmbeddedErrors, E602) {
  y(m) = softmax(k, a(m, k));
  refused(Kernel("f", {a}, {y}), "E602");
}
TEST_F(EmbeddedErrors, E605) {
  Tensor e("e", f32, {K});
  y(m) = sum(k, rmsnorm(k, a(m, k), e(k)));
  refused(Kernel("f", {a, e}, {y}), "E605");
}
TEST_F(EmbeddedErrors, E606) {
  y(m) = sum({m, k}, rank({m, k}, a(m, k)));
  refused(Kernel("f", {a}, {y}), "E606");
}
TEST_F(EmbeddedErrors, E611) {
  y.first(Expr(M) * 2);
  y(m) += x(m);
  refused(Kernel("f", {x}, {y}), "E611");
}
TEST_F(EmbeddedErrors, E102OfATypeOnAResult) {
  y(m).as(f16) = x(m);
  refused(Kernel("f", {x}, {y}), "E102");
}
TEST_F(EmbeddedErrors, E102OfATensorWithADefault) {
  x.otherwise(0);
  y(m) = x(m);
  refused(Kernel("f", {x}, {y}), "E102");
}
TEST_F(EmbeddedErrors, E715) {
  Type integer("U", i32);
  Tensor z("z", integer, {M});
  z(m) = x(m);
  refused(Kernel("f", {integer, x}, {z}), "E715");
}
TEST_F(EmbeddedErrors, N901) {
  y(m) = if_else(m > 0, y(m - 1), 0) + x(m);
  refused(Kernel("f", {x}, {y}), "N901");
}
TEST_F(EmbeddedErrors, N901OfALocal) {
  p(m.below(M)) = if_else(m > 0, p(m - 1), 0) + x(m);
  y(m) = p(m);
  refused(Kernel("f", {x}, {y}), "N901");
}
TEST_F(EmbeddedErrors, LocalsThatReadEachOther) {
  p(m) = q(m) + x(m);
  q(m) = p(m);
  y(m) = q(m);
  refused(Kernel("f", {x}, {y}), "E201");
}
TEST_F(EmbeddedErrors, ARangeIsNoSubscriptOfARead) {
  y(m) = x(k.below(3)) + m;
  EXPECT_TRUE(Kernel("f", {x}, {y}).check().error().has("E201"));
}

TEST_F(EmbeddedErrors, AllIndependentOnesAreThereWithTheirPlaces) {
  Tensor z("z", T, {M});
  y(m) = x(m) + x(k);
  z(m) = x(m) + x(j);
  auto checked = Kernel("f", {x}, {y, z}).check();
  ASSERT_FALSE(checked);
  ASSERT_EQ(checked.error().size(), 2u) << checked.error().text();
  const Error& e = checked.error()[1];
  EXPECT_EQ(e.file, "<kernel f>");
  EXPECT_EQ(e.line, 3);
  EXPECT_EQ(e.column, 19);
  EXPECT_NE(e.text.find("z[m] = x[m] + x[j]"), std::string::npos) << e.text;
}

// --- names, which in a text the lexer sees ---

std::vector<std::string> name_errors(std::string tensor, std::string index, std::string dim, std::string kernel) {
  Dim size(dim);
  Index at(index);
  Tensor in(tensor, f32, {size}), out("out", f32, {size});
  out(at) = in(at);
  auto checked = Kernel(kernel, {in}, {out}).check();
  std::vector<std::string> found;
  if (checked) return found;
  for (const Error& e : checked.error()) found.push_back(e.code);
  return found;
}

TEST(EmbeddedNames, AreThoseOfTheNotation) {
  using Codes = std::vector<std::string>;
  EXPECT_EQ(name_errors("x", "i", "N", "f"), Codes());
  EXPECT_EQ(name_errors("X", "i", "N", "f"), Codes{"E104"});
  EXPECT_EQ(name_errors("xY", "i", "N", "f"), Codes{"E103"});
  EXPECT_EQ(name_errors("x", "I", "N", "f"), Codes{"E104"});
  EXPECT_EQ(name_errors("x", "i", "n", "f"), Codes{"E104"});
  EXPECT_EQ(name_errors("x", "i", "N", "F"), Codes{"E104"});
  EXPECT_EQ(name_errors("x", "i", "N", "for"), Codes{"E112"});
  EXPECT_EQ(name_errors("sum", "i", "N", "f"), Codes{"E112"});
  EXPECT_EQ(name_errors("x", "f32", "N", "f"), Codes{"E112"});
  EXPECT_EQ(name_errors("a b", "i", "N", "f"), Codes{"E102"});
  EXPECT_EQ(name_errors("", "i", "N", "f"), Codes{"E102"});
  EXPECT_EQ(name_errors("x", "i", "N", "f(){"), Codes{"E102"});
  EXPECT_EQ(name_errors("x", "i # c", "N", "f"), Codes{"E102"});
  EXPECT_EQ(name_errors("x", "i", "N", "\xc3\xa9"), Codes{"E101"});
  EXPECT_EQ(name_errors("x\ny", "i", "N", "f"), Codes{"E102"});
  EXPECT_EQ(name_errors("12", "i", "N", "f"), Codes{"E102"});
}

TEST(EmbeddedNames, AnEmptyOneIsShown) {
  Dim N("N");
  Index n("n");
  Tensor x("x", f32, {N}), y("y", f32, {N});
  y(n) = x(n);
  auto checked = Kernel("", {x}, {y}).check();
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().front().message, "expected a name for kernel, found ''");
}

// --- limits ---

TEST(EmbeddedLimits, DepthIsRefused) {
  Tensor y("y", f32, {M}), x("x", f32, {M});
  Expr total = 0;
  for (int step = 0; step < 100000; ++step) total = total + x(m);
  y(m) = total;
  auto checked = Kernel("f", {x}, {y}).check();
  ASSERT_FALSE(checked);
  EXPECT_EQ(codes(checked.error()), (std::vector<std::string>{"E113 nested deeper than 1000 levels"}));
}

TEST(EmbeddedLimits, SizeIsRefused) {
  Tensor y("y", f32, {M}), x("x", f32, {M});
  Expr value = x(m);
  for (int step = 0; step < 60; ++step) value = value * value;
  y(m) = value;
  auto checked = Kernel("f", {x}, {y}).check();
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().front().code, "E118");
}

// --- devices ---

TEST_F(EmbeddedErrors, N905) {
  y(m) = x(m);
  auto program = Kernel("f", {x}, {y}).compile(Device::named("cuda:0"));
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().front().code, "N905");
  EXPECT_EQ(program.error().front().remedy, "Device::interpreter()");
}

}  // namespace
}  // namespace quern
