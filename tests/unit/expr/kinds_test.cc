// Kinds of expressions, and what may be stored where.
#include "checked.h"

namespace quern::expr {
namespace {

// int i, real x, bool c, and tensors of each.
std::string kind_of(const std::string& expression) {
  CheckedText checked = check_text(
      "kernel f(i: i32, x: f32, c: bool, ti: u8[N], tx: bf16[N], tc: bool[N], a: T[N]) -> y: f32 {\n  v = " + expression +
      "\n  used = i + x + (1 if c else 0) + ti[0] + tx[0] + (1 if tc[0] else 0) + a[0]\n  y = used + i32(v == v)\n}\n");
  if (!checked.unit.errors.empty()) {
    checked = check_text("kernel f(i: i32, x: f32, c: bool, ti: u8[N], tx: bf16[N], tc: bool[N], a: T[N]) -> y: f32 {\n  v = " + expression +
                         "\n  used = i + x + (1 if c else 0) + ti[0] + tx[0] + (1 if tc[0] else 0) + a[0]\n  y = used + (1 if v else 0)\n}\n");
    if (!checked.unit.errors.empty()) return checked.codes();
  }
  return std::string(name(checked.program().locals[0].kind));
}

TEST(Kinds, OfOperations) {
  const std::string integer(name(Kind::kInt)), real(name(Kind::kReal)), boolean(name(Kind::kBool));
  for (const char* e : {"i + 1", "i // 2", "i % 2", "i & 3", "i << 2", "-i", "N", "ti[0]", "0x1f", "max(i, 2)", "sum[k] ti[k]", "argmax[k] tx[k]",
                        "i32(x)", "i if c else 2", "abs(i)", "i32(c)", "random_bits(i, 0)", "sum[k < 3] k", "count[k](tc[k])", "floor(i)"}) {
    EXPECT_EQ(kind_of(e), integer) << e;
  }
  for (const char* e : {"x + 1", "i / 2", "1 / 2", "x * i", "-x", "0.5", "1e3", "inf", "nan", "exp(i)", "sqrt(x)", "a[0]", "tx[0]", "max(i, 0.5)",
                        "i if c else 0.5", "f32(i)", "bf16(x)", "T(x)", "sum[k] tx[k]", "floor(x)", "round(x)", "pow(i, 2)", "mean[k](ti[k])"}) {
    EXPECT_EQ(kind_of(e), real) << e;
  }
  for (const char* e : {"i < 1", "x < i <= 3", "c and i > 0", "not c", "true", "any[k] tc[k]", "c if c else false", "bool(x)", "bool(i)", "tc[0]"}) {
    EXPECT_EQ(kind_of(e), boolean) << e;
  }
}

TEST(Kinds, ThatDoNotFit) {
  EXPECT_EQ(kind_of("c + 1").substr(0, 4), "E401");
  EXPECT_EQ(kind_of("-c").substr(0, 4), "E401");
  EXPECT_EQ(kind_of("c < c").substr(0, 4), "E401");
  EXPECT_EQ(kind_of("sum[k] tc[k]").substr(0, 4), "E401");
  EXPECT_EQ(kind_of("f32(c)").substr(0, 4), "E401");
  EXPECT_EQ(kind_of("exp(c)").substr(0, 4), "E401");
  EXPECT_EQ(kind_of("i if c else c").substr(0, 4), "E402");
  EXPECT_EQ(kind_of("x // 2").substr(0, 4), "E403");
  EXPECT_EQ(kind_of("x & 1").substr(0, 4), "E403");
  EXPECT_EQ(kind_of("2 << x").substr(0, 4), "E403");
  EXPECT_EQ(kind_of("random_bits(x, 0)").substr(0, 4), "E403");
  EXPECT_EQ(kind_of("1 if i else 2").substr(0, 4), "E404");
  EXPECT_EQ(kind_of("not i").substr(0, 4), "E404");
  EXPECT_EQ(kind_of("c and x").substr(0, 4), "E404");
  EXPECT_EQ(kind_of("all[k] ti[k]").substr(0, 4), "E404");
  EXPECT_EQ(kind_of("tx[x]").substr(0, 4), "E405");
  EXPECT_EQ(kind_of("tx[c]").substr(0, 4), "E405");
  EXPECT_EQ(kind_of("sum[k < x] k").substr(0, 4), "E405");
}

std::string stored(const std::string& type, const std::string& value) {
  return check_text("kernel f(i: i32[N], x: f32[N], c: bool[N]) -> y: " + type + "[N] {\n  u[n] = i[n] + x[n] + (1 if c[n] else 0)\n  y[n] = " +
                    value + " if u[n] < 1 else " + value + "\n}\n")
      .codes();
}

TEST(Kinds, OfStoredValues) {
  for (const char* type : {"f32", "bf16", "f8e4m3", "T"}) {
    EXPECT_EQ(stored(type, "x[n]"), "");
    EXPECT_EQ(stored(type, "i[n]"), "");
    EXPECT_EQ(stored(type, "c[n]"), "E402");
  }
  for (const char* type : {"i32", "u4", "i64"}) {
    EXPECT_EQ(stored(type, "x[n]"), "E406");
    EXPECT_EQ(stored(type, "i[n]"), "");
    EXPECT_EQ(stored(type, "c[n]"), "E406");
    EXPECT_EQ(stored(type, std::string(type) + "(x[n])"), "");
    EXPECT_EQ(stored(type, "i32(c[n])"), "");
  }
  EXPECT_EQ(stored("bool", "c[n]"), "");
  EXPECT_EQ(stored("bool", "x[n] > 0"), "");
  EXPECT_EQ(stored("bool", "x[n]"), "E402");
  EXPECT_EQ(stored("bool", "bool(x[n])"), "");
}

TEST(Kinds, OfDefaultsAndFirstValues) {
  auto codes = [](const std::string& type, const std::string& value) {
    return check_text("kernel f(x: i32[N], s: " + type + " = " + value + ") -> y: " + type + "[N] = " + value + " {\n  for[n] y[x[n]] = s\n}\n").codes();
  };
  EXPECT_EQ(codes("f32", "1e-5"), "");
  EXPECT_EQ(codes("f32", "0"), "");
  EXPECT_EQ(codes("f32", "-inf"), "");
  EXPECT_EQ(codes("i32", "-1"), "");
  EXPECT_EQ(codes("i32", "0.5"), "E406 E406");
  EXPECT_EQ(codes("bool", "false"), "");
  EXPECT_EQ(codes("bool", "1"), "E402 E402");
  EXPECT_EQ(codes("f32", "3 % 2"), "E611 E611");
}

}  // namespace
}  // namespace quern::expr
