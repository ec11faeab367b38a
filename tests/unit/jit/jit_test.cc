// Text becomes machine code, bad text and bad bytes become diagnostics.
#include "jit/jit.h"

#include <gtest/gtest.h>

#include <vector>

namespace quern::jit {
namespace {

constexpr std::string_view kAdd = R"(
define i64 @add(i64 %a, i64 %b) {
  %c = add i64 %a, %b
  ret i64 %c
}
)";

constexpr std::string_view kClear = R"(
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare float @llvm.fma.f32(float, float, float)
define void @clear(ptr %p, i64 %n) {
  call void @llvm.memset.p0.i64(ptr %p, i8 0, i64 %n, i1 false)
  ret void
}
define float @fused(float %a, float %b, float %c) {
  %r = call float @llvm.fma.f32(float %a, float %b, float %c)
  ret float %r
}
)";

std::string message(const Diagnostics& all) { return all.empty() ? "" : all[0].message; }

TEST(Jit, RunsWhatItCompiles) {
  for (VectorLevel level : {VectorLevel::kSse2, VectorLevel::kAvx2}) {
    CpuTarget target = cpu_of(level);
    if (!runs_here(target)) GTEST_SKIP() << "this machine has no " << name(level);
    Result<std::string> object = compile(kAdd, target);
    ASSERT_TRUE(object) << message(object.error());
    auto code = load(*object);
    ASSERT_TRUE(code) << message(code.error());
    auto add = reinterpret_cast<int64_t (*)(int64_t, int64_t)>((*code)->entry("add"));
    ASSERT_NE(add, nullptr);
    EXPECT_EQ(add(40, 2), 42);
    EXPECT_EQ((*code)->entry("subtract"), nullptr);
  }
}

TEST(Jit, TheSameTextGivesTheSameBytes) {
  EXPECT_EQ(compile(kClear, host_cpu()).value(), compile(kClear, host_cpu()).value());
}

TEST(Jit, KnowsTheSymbolsThatLlvmMayCall) {
  auto code = load(compile(kClear, cpu_of(VectorLevel::kSse2)).value());
  ASSERT_TRUE(code) << message(code.error());
  std::vector<char> bytes(1000, 'x');
  reinterpret_cast<void (*)(char*, int64_t)>((*code)->entry("clear"))(bytes.data(), 1000);
  EXPECT_EQ(bytes, std::vector<char>(1000, 0));
  auto fused = reinterpret_cast<float (*)(float, float, float)>((*code)->entry("fused"));
  EXPECT_EQ(fused(1 + 0x1p-12f, 1 + 0x1p-12f, -1), 0x1p-11f + 0x1p-24f);
}

TEST(Jit, BadTextIsABugAndNoAbort) {
  for (std::string_view text : {"define i64 @f( {", "define void @f() { ret i64 %x }",
                                "define i64 @f() {\n br label %a\na:\n %x = add i64 %x, 1\n ret i64 %x\n}"}) {
    auto object = compile(text, host_cpu());
    ASSERT_FALSE(object) << text;
    EXPECT_EQ(object.error()[0].code, Code::B001);
    EXPECT_NE(message(object.error()).find("LLVM: "), std::string::npos);
  }
}

TEST(Jit, BytesThatAreNoObjectAreRefused) {
  std::string object = compile(kAdd, host_cpu()).value();
  EXPECT_FALSE(load(""));
  EXPECT_FALSE(load("not an object file"));
  EXPECT_FALSE(load(object.substr(0, 80)));
}

TEST(Jit, UnknownSymbolsAreRefused) {
  auto object = compile(
      "declare void @system(ptr)\ndefine void @f(ptr %p) {\n call void @system(ptr %p)\n ret void\n}\n", host_cpu());
  ASSERT_TRUE(object);
  EXPECT_FALSE(load(*object));
}

TEST(Jit, AssemblyIsOfTheTarget) {
  constexpr std::string_view kText =
      "define <16 x float> @f(<16 x float> %a, <16 x float> %b) {\n %c = fadd <16 x float> %a, %b\n"
      " ret <16 x float> %c\n}\n";
  EXPECT_NE(assembly(kText, cpu_of(VectorLevel::kAvx512)).value().find("%zmm0"), std::string::npos);
  EXPECT_NE(assembly(kText, cpu_of(VectorLevel::kAvx2)).value().find("%ymm0"), std::string::npos);
  EXPECT_EQ(assembly(kText, cpu_of(VectorLevel::kSse2)).value().find("ymm"), std::string::npos);
}

TEST(Jit, HostIsKnown) {
  CpuTarget host = host_cpu();
  EXPECT_TRUE(runs_here(host));
  EXPECT_TRUE(runs_here(cpu_of(VectorLevel::kSse2)));
  EXPECT_EQ(key(host), key(host_cpu()));
  EXPECT_NE(key(cpu_of(VectorLevel::kSse2)), key(cpu_of(VectorLevel::kAvx2)));
  EXPECT_EQ(parse_level("avx2"), VectorLevel::kAvx2);
  EXPECT_FALSE(parse_level("mmx"));
}

}  // namespace
}  // namespace quern::jit
