// Calls that can't be put in place, against the same functions here.
#include "device.h"

namespace quern::vgpu {
namespace {

class Calls : public testing::Test {
 protected:
  Device d{"tests/unit/vgpu/kernels/calls.ptx"};
};

unsigned fibonacci(unsigned n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

TEST_F(Calls, AFunctionMayCallItself) {
  uint64_t out = d.allocate(64 * 4);
  auto fault = d.run("recursion", {1, 1, 1}, {64, 1, 1}, Device::pack(out));
  ASSERT_FALSE(fault) << render(*fault);
  auto got = d.read<uint32_t>(out, 64);
  for (uint32_t t = 0; t < 64; ++t) EXPECT_EQ(got[t], fibonacci(t % 12)) << t;
}

int gather(const int* above, int depth, int seed) {
  int own[4];
  for (int i = 0; i < 4; ++i) own[i] = seed * (i + 1) + depth;
  if (depth == 0) return above ? above[seed & 3] : -1;
  int sum = gather(own, depth - 1, seed + 1);
  for (int i = 0; i < 4; ++i) sum += own[i] * (i + 1);
  return sum + (above ? above[depth & 3] : 0);
}

TEST_F(Calls, EachCallHasArraysOfItsOwn) {
  uint64_t out = d.allocate(40 * 4);
  auto fault = d.run("frames", {1, 1, 1}, {40, 1, 1}, Device::pack(out, 3));
  ASSERT_FALSE(fault) << render(*fault);
  auto got = d.read<int>(out, 40);
  for (int t = 0; t < 40; ++t) EXPECT_EQ(got[static_cast<size_t>(t)], gather(nullptr, 3 + t % 4, t)) << t;
}

TEST_F(Calls, TwoFunctionsMayCallEachOther) {
  uint64_t out = d.allocate(32 * 4);
  auto fault = d.run("mutual", {1, 1, 1}, {32, 1, 1}, Device::pack(out));
  ASSERT_FALSE(fault) << render(*fault);
  auto got = d.read<int>(out, 32);
  for (int t = 0; t < 32; ++t) EXPECT_EQ(got[static_cast<size_t>(t)], t % 2 == 0) << t;
}

TEST_F(Calls, LanesCallDifferentFunctionsThroughPointers) {
  std::vector<float> x(64);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i) * 0.5f;
  uint64_t in = d.copy(x), out = d.allocate(64 * 4);
  auto fault = d.run("pointers", {1, 1, 1}, {64, 1, 1}, Device::pack(in, out));
  ASSERT_FALSE(fault) << render(*fault);
  auto got = d.read<float>(out, 64);
  auto call = [](size_t which, float v) { return which == 0 ? 2 * v : which == 1 ? v * v : v + 1; };
  for (size_t t = 0; t < 64; ++t) EXPECT_EQ(got[t], call(t % 3, x[t]) + call(t / 8 % 3, x[t])) << t;
}

struct Shape {
  bool square;
  float a;
  float area() const { return square ? a * a : a; }
  float with(const Shape& other, int depth) const {
    if (!depth) return square ? 1 : 3;
    return square ? area() + other.with(*this, depth - 1) : 2 * other.with(*this, depth - 1) - area();
  }
};

TEST_F(Calls, VirtualFunctionsOfObjectsFromNew) {
  uint64_t out = d.allocate(96 * 4);
  auto fault = d.run("virtuals", {1, 1, 1}, {96, 1, 1}, Device::pack(out));
  ASSERT_FALSE(fault) << render(*fault);
  auto got = d.read<float>(out, 96);
  for (unsigned t = 0; t < 96; ++t) {
    Shape s{t % 2 != 0, static_cast<float>(t)}, o{t % 3 != 0, t % 3 ? 1.0f : 2.0f};
    EXPECT_EQ(got[t], s.area() + s.with(o, static_cast<int>(t % 5))) << t;
  }
}

TEST_F(Calls, APointerToNoFunctionIsAFault) {
  uint64_t out = d.allocate(32 * 4);
  auto fault = d.run("no_function", {1, 1, 1}, {32, 1, 1}, Device::pack(out));
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FaultKind::kCall) << render(*fault);
}

TEST_F(Calls, EndlessRecursionIsAFault) {
  uint64_t out = d.allocate(32 * 4);
  auto fault = d.run("frames", {1, 1, 1}, {32, 1, 1}, Device::pack(out, 100000));
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FaultKind::kStack) << render(*fault);
  EXPECT_NE(render(*fault).find("cudaLimitStackSize is 1024 bytes"), std::string::npos) << render(*fault);
}

// As LLVM writes calls of functions that don't use an argument, or give no result: no store of either.
TEST(CallsOfText, WhatNothingWritesIsNoReadOfUnwrittenMemory) {
  Device d{Device::Text{R"(
.version 7.0
.target sm_80
.address_size 64
.func (.param .b64 result) again(.param .b32 left, .param .b64 unused)
{
  .reg .pred %p;
  .reg .b32 %n;
  .reg .b64 %u, %r;
  ld.param.b32 %n, [left];
  ld.param.b64 %u, [unused];
  mov.b64 %r, 5;
  setp.eq.s32 %p, %n, 0;
  @%p bra DONE;
  add.s32 %n, %n, -1;
  {
    .param .b32 param0;
    .param .b64 param1;
    .param .b64 retval0;
    st.param.b32 [param0], %n;
    call.uni (retval0), again, (param0, param1);
    ld.param.b64 %r, [retval0];
  }
  add.s64 %r, %r, 1;
  bra.uni STORE;
DONE:
  setp.eq.s64 %p, %u, 12345;
  @%p bra END;
STORE:
  st.param.b64 [result], %r;
END:
  ret;
}
.visible .entry all(.param .u64 p0)
{
  .reg .b32 %t;
  .reg .b64 %r, %a;
  mov.u32 %t, %tid.x;
  {
    .param .b32 param0;
    .param .b64 param1;
    .param .b64 retval0;
    st.param.b32 [param0], %t;
    call.uni (retval0), again, (param0, param1);
    ld.param.b64 %r, [retval0];
  }
  ld.param.u64 %a, [p0];
  mad.wide.u32 %a, %t, 8, %a;
  st.global.u64 [%a], %r;
  ret;
}
)"}};
  uint64_t out = d.allocate(16 * 8);
  auto fault = d.run("all", {1, 1, 1}, {16, 1, 1}, Device::pack(out));
  ASSERT_FALSE(fault) << render(*fault);
  auto got = d.read<uint64_t>(out, 16);
  for (uint64_t t = 0; t < 16; ++t) EXPECT_EQ(got[t], 5 + t) << t;
}

}  // namespace
}  // namespace quern::vgpu
