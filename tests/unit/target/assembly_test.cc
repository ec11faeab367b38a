// What cannot be run on every machine is read: AVX-512 code, and that nothing calls a library.
#include <algorithm>

#include "jitted_program.h"
#include "target/functions.h"

namespace quern::target {
namespace {

using jit::VectorLevel;

std::string assembly_of(const std::string& text, const jit::CpuTarget& cpu) {
  auto program = tile::parse(Source::make("<test>", text));
  if (!program) {
    ADD_FAILURE() << render(program.error());
    return "";
  }
  auto emitted = emit_x86(*program, 0, cpu);
  if (!emitted) {
    ADD_FAILURE() << said(emitted.error());
    return "";
  }
  auto out = jit::assembly(emitted->ir, cpu);
  if (!out) ADD_FAILURE() << said(out.error()) << emitted->ir;
  return out ? *out : "";
}

int64_t count(const std::string& text, std::string_view what) {
  int64_t out = 0;
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += what.size()) ++out;
  return out;
}

constexpr const char* kDot = R"(program p laid
dims M = 64, N = 96, K = {k}
in a: {a}[M, K]
in b: {b}[K, N]
out c: {c}[M, N]

kernel p
  axes m < M, n < N, k < K
  nest m:{m} n:{n} lanes | k:{step}
    store c[m, n] = dot{t}[k](load a[m, k], load b[k, n])
)";

TEST(Assembly, AnF32BlockOf8x48NeitherSpillsNorCopies) {
  std::string text = assembly_of(
      filled(
          kDot,
          {{"k", "64"}, {"a", "f32"}, {"b", "f32"}, {"c", "f32"}, {"m", "8"}, {"n", "48"}, {"step", "1"}, {"t", ""}}),
      jit::cpu_of(VectorLevel::kAvx512));
  EXPECT_EQ(count(text, "vfmadd231ps"), 24);
  EXPECT_EQ(count(text, "(%rsp)"), 0) << text;
  EXPECT_EQ(count(text, "%ymm"), 0);
}

TEST(Assembly, ASquareIsTurnedInRegisters) {
  std::string text = assembly_of(
      "program p laid\nin x: f32[64, 64]\nout y: f32[64, 64]\n\nkernel p\n  axes m < 64, n < 64\n"
      "  nest m:8 lanes n:8\n    store y[n, m] = load x[m, n]\n",
      jit::cpu_of(VectorLevel::kAvx2));
  EXPECT_EQ(count(text, "vmovups"), 16) << text;  // eight rows in, eight out
  EXPECT_EQ(count(text, "vmovss") + count(text, "vinsertps") + count(text, "vgather"), 0) << text;
}

TEST(Assembly, AnF32BlockOf6x16IsTwelveFmas) {
  std::string text = assembly_of(
      filled(
          kDot,
          {{"k", "64"}, {"a", "f32"}, {"b", "f32"}, {"c", "f32"}, {"m", "6"}, {"n", "16"}, {"step", "1"}, {"t", ""}}),
      jit::cpu_of(VectorLevel::kAvx2));
  // 64 rows by 6: near-equal blocks of 6 and 5.
  EXPECT_EQ(count(text, "vfmadd231ps"), 12 + 10);
  EXPECT_EQ(count(text, "vmovaps\t%ymm"), 0) << text;
}

TEST(Assembly, Bf16ProductsAreVdpbf16ps) {
  for (const char* k : {"64", "63"}) {
    std::string text = assembly_of(
        filled(
            kDot,
            {{"k", k}, {"a", "bf16"}, {"b", "bf16"}, {"c", "f32"}, {"m", "8"}, {"n", "48"}, {"step", "2"}, {"t", ""}}),
        jit::cpu_of(VectorLevel::kAvx512));
    EXPECT_EQ(count(text, "vdpbf16ps"), k[1] == '4' ? 24 : 48);
    EXPECT_EQ(count(text, "vfmadd"), 0);
  }
  std::string text = assembly_of(
      filled(
          kDot,
          {{"k", "64"}, {"a", "bf16"}, {"b", "bf16"}, {"c", "f32"}, {"m", "6"}, {"n", "16"}, {"step", "2"}, {"t", ""}}),
      jit::cpu_of(VectorLevel::kAvx2));
  EXPECT_EQ(count(text, "vdpbf16ps"), 0);
  EXPECT_GT(count(text, "vfmadd"), 0);
}

TEST(Assembly, ByteProductsAreVpdpbusd) {
  for (bool swapped : {false, true}) {
    std::string text = assembly_of(filled(kDot, {{"k", "64"},
                                                 {"a", swapped ? "i8" : "u8"},
                                                 {"b", swapped ? "u8" : "i8"},
                                                 {"c", "i64"},
                                                 {"m", "8"},
                                                 {"n", "48"},
                                                 {"step", "4"},
                                                 {"t", ":i64"}}),
                                   jit::cpu_of(VectorLevel::kAvx512));
    EXPECT_EQ(count(text, "vpdpbusd"), 24);
  }
  // Sums that could leave 32 bits are not made that way.
  std::string text = assembly_of(filled(kDot, {{"k", "100000"},
                                               {"a", "u8"},
                                               {"b", "i8"},
                                               {"c", "i64"},
                                               {"m", "8"},
                                               {"n", "48"},
                                               {"step", "4"},
                                               {"t", ":i64"}}),
                                 jit::cpu_of(VectorLevel::kAvx512));
  EXPECT_EQ(count(text, "vpdpbusd"), 0);
}

TEST(Assembly, NothingCallsALibrary) {
  constexpr const char* kText = R"(program p laid
dims N = 100
in x: f32[N]
in h: f16[N]
in d: f64[N]
out y: f32[N]
out z: f64[N]
out g: f16[N]
out b: bf16[N]

kernel p
  axes n < N
  nest n:{n} lanes
    u = load x[n]
    v = load d[n]
    store y[n] = exp(u) + exp2(u) + log(u) + log2(u) + sqrt(u) + rsqrt(u) + sin(u) + cos(u) + tanh(u) + erf(u) + pow(u, u) + floor(u) + ceil(u) + round(u) + f32(load h[n])
    store z[n] = exp(v) + exp2(v) + log(v) + log2(v) + sqrt(v) + rsqrt(v) + sin(v) + cos(v) + tanh(v) + erf(v) + pow(v, v) + floor(v) + ceil(v) + round(v)
    store g[n] = f16(v)
    store b[n] = bf16(v + f64(i64(u) // 3))
)";
  for (VectorLevel level : {VectorLevel::kSse2, VectorLevel::kAvx2, VectorLevel::kAvx512}) {
    jit::CpuTarget cpu = jit::cpu_of(level);
    for (int n : {cpu.vector_bytes / 4, 1}) {
      std::string text = assembly_of(filled(kText, {{"n", std::to_string(n)}}), cpu);
      // One of ours is called where an angle is huge.
      EXPECT_EQ(count(text, "	call"), count(text, "	callq	far_angles")) << name(level);
    }
  }
}

TEST(Assembly, ExponentialsScaleAtOnce) {
  constexpr const char* kText = R"(program p laid
dims N = 256
in x: f32[N]
in d: f64[N]
out y: f32[N]
out z: f64[N]

kernel p
  axes n < N
  nest n:{n} lanes
    store {store}
)";
  jit::CpuTarget cpu = jit::cpu_of(VectorLevel::kAvx512);
  std::string text =
      assembly_of(filled(kText, {{"n", "64"}, {"store", "y[n] = exp(load x[n]) * exp2(load x[n])"}}), cpu);
  EXPECT_EQ(count(text, "vscalefps"), 8);
  EXPECT_EQ(count(text, "vpslld"), 0);
  text = assembly_of(filled(kText, {{"n", "16"}, {"store", "z[n] = exp(load d[n])"}}), cpu);
  EXPECT_EQ(count(text, "vscalefpd"), 2);
}

TEST(Assembly, MachinesAreOfTheirLevel) {
  tile::Machine sse2 = machine_of(jit::cpu_of(VectorLevel::kSse2)), avx2 = machine_of(jit::cpu_of(VectorLevel::kAvx2)),
                avx512 = machine_of(jit::cpu_of(VectorLevel::kAvx512));
  EXPECT_EQ(sse2.lanes(ScalarType::f32), 4);
  EXPECT_EQ(avx2.lanes(ScalarType::f32), 8);
  EXPECT_EQ(avx512.lanes(ScalarType::f32), 16);
  EXPECT_EQ(avx512.dot(ScalarType::f32, ScalarType::f32)->m, 8);
  EXPECT_EQ(avx512.dot(ScalarType::f32, ScalarType::f32)->n, 48);
  EXPECT_EQ(avx2.dot(ScalarType::f32, ScalarType::f32)->n, 16);
  for (const tile::Machine* m : {&sse2, &avx2, &avx512}) {
    for (const tile::DotRule& d : m->dots) {
      int64_t vectors = d.n / m->lanes(d.result == ScalarType::f64 ? ScalarType::f64 : ScalarType::f32);
      EXPECT_LE(d.m * vectors + vectors + 1, m->registers) << name(d.operand);
    }
  }
}

TEST(Assembly, WhatIsNotLaidIsABug) {
  constexpr const char* kText = R"(program p laid
dims N = 4
in x: f32[N]
out y: f32[N]

kernel p
  axes n < N
  nest n
    store y[n] = sum[n](load x[n])
)";
  auto program = tile::parse(Source::make("<test>", kText));
  ASSERT_TRUE(program);
  auto emitted = emit_x86(*program, 0, jit::cpu_of(VectorLevel::kSse2));
  ASSERT_FALSE(emitted);
  EXPECT_EQ(emitted.error()[0].code, Code::B001);
  EXPECT_EQ(emitted.error()[0].message,
            "bug in quern: kernel p is not laid: a reduction in a nest is not over its strips");
}

}  // namespace
}  // namespace quern::target
