// What a kernel does wrong is found, at the access that does it, and named; what looks like it is not reported.
#include "device.h"

namespace quern::vgpu {
namespace {

constexpr const char* kKernels = "tests/unit/vgpu/kernels/faults.ptx";

int line_of(const Fault& f) {
  if (f.source.empty()) return 0;
  std::string s = f.source.back();
  size_t colon = s.find(':');
  return std::stoi(s.substr(colon + 1));
}

TEST(Fault, PastTheEnd) {
  Device d(kKernels);
  uint64_t x = d.allocate(100 * 4);
  auto f = d.run("past_end", {2, 1, 1}, {64, 1, 1}, Device::pack(x, 100));
  ASSERT_TRUE(f);
  EXPECT_EQ(f->kind, FaultKind::kOutOfBounds);
  EXPECT_EQ(f->access, Access::kStore);
  EXPECT_EQ(f->address, x + 400);
  EXPECT_EQ(f->bytes, 4);
  EXPECT_EQ(f->block[0], 1u);
  EXPECT_EQ(f->thread[0], 36u);
  EXPECT_EQ(line_of(*f), 8);
  EXPECT_NE(f->memory.find("0 bytes after the 400 bytes"), std::string::npos) << f->memory;
  EXPECT_NE(f->instruction.find("st.global"), std::string::npos);
}

TEST(Fault, IndexAnywhere) {
  Device d(kKernels);
  std::vector<float> x(64, 1.0f);
  uint64_t dx = d.copy(x), dy = d.allocate(128);
  for (int bad : {64, -1, 1 << 20, -(1 << 29), 0x7fffffff, INT32_MIN}) {
    std::vector<int> at(32);
    for (int i = 0; i < 32; ++i) at[static_cast<size_t>(i)] = (i * 7) % 64;
    at[13] = bad;
    auto f = d.run("read_index", {1, 1, 1}, {32, 1, 1}, Device::pack(d.copy(at), dx, dy));
    ASSERT_TRUE(f) << bad;
    EXPECT_EQ(f->kind, FaultKind::kOutOfBounds) << bad;
    EXPECT_EQ(f->thread[0], 13u);
    EXPECT_EQ(f->address, dx + static_cast<uint64_t>(int64_t{bad} * 4));
  }
  std::vector<int> good(32);
  for (int i = 0; i < 32; ++i) good[static_cast<size_t>(i)] = (i * 7) % 64;
  EXPECT_FALSE(d.run("read_index", {1, 1, 1}, {32, 1, 1}, Device::pack(d.copy(good), dx, dy)));
}

TEST(Fault, PartOfAnAllocationIsNotWritten) {
  Device d(kKernels);
  for (int n : {1, 31, 32, 33, 1000, 1024}) {
    for (int missing : {-1, 0, n / 2, n - 1}) {
      std::vector<float> x(static_cast<size_t>(n), 2.0f);
      uint64_t dx = d.copy(x), dy = d.allocate(n * 4);
      if (missing >= 0) d.memory().mark_unwritten(dx + static_cast<uint64_t>(missing) * 4 + 3, 1);
      auto f = d.run("copy", {4, 1, 1}, {256, 1, 1}, Device::pack(dx, dy, n));
      ASSERT_EQ(f.has_value(), missing >= 0) << n << " " << missing;
      if (f) {
        EXPECT_EQ(f->kind, FaultKind::kUninitialised);
        EXPECT_EQ(f->address, dx + static_cast<uint64_t>(missing) * 4);
      } else {
        EXPECT_EQ(d.read<float>(dy, x.size()), x);
        EXPECT_EQ(d.memory().first_unwritten(dy, n * 4), dy + static_cast<uint64_t>(n) * 4);
      }
      d.settings.checks.init = false;
      EXPECT_FALSE(d.run("copy", {4, 1, 1}, {256, 1, 1}, Device::pack(dx, dy, n)));
      d.settings.checks.init = true;
    }
  }
}

TEST(Fault, BytesToTheByte) {
  Device d(kKernels);
  for (int n : {1, 3, 31, 32, 33, 63, 200}) {
    for (uint64_t off : {0, 1, 2, 3}) {
      std::vector<uint8_t> x(static_cast<size_t>(n) + 8, 9);
      uint64_t dx = d.copy(x), dy = d.allocate(n + 8);
      auto run = [&] { return d.run("copy_bytes", {1, 1, 1}, {256, 1, 1}, Device::pack(dx + off, dy + off, n)); };
      EXPECT_FALSE(run()) << n << " " << off;
      EXPECT_EQ(d.memory().first_unwritten(dy + off, n), dy + off + static_cast<uint64_t>(n));
      d.memory().mark_unwritten(dx + off + static_cast<uint64_t>(n) / 2, 1);
      auto f = run();
      ASSERT_TRUE(f) << n << " " << off;
      EXPECT_EQ(f->kind, FaultKind::kUninitialised);
      EXPECT_EQ(f->address, dx + off + static_cast<uint64_t>(n) / 2);
    }
  }
}

TEST(Fault, AfterFree) {
  Device d(kKernels);
  uint64_t dx = d.copy(std::vector<float>(64, 1.0f)), dy = d.allocate(256);
  d.memory().release(dx);
  auto f = d.run("copy", {1, 1, 1}, {64, 1, 1}, Device::pack(dx, dy, 64));
  ASSERT_TRUE(f);
  EXPECT_EQ(f->kind, FaultKind::kUseAfterFree);
  EXPECT_NE(f->memory.find("which were freed"), std::string::npos);
}

TEST(Fault, Misaligned) {
  Device d(kKernels);
  auto f = d.run("misaligned", {1, 1, 1}, {32, 1, 1}, Device::pack(d.allocate(1024)));
  ASSERT_TRUE(f);
  EXPECT_EQ(f->kind, FaultKind::kMisaligned);
}

TEST(Fault, ReadOnly) {
  Device d(kKernels);
  uint64_t x = d.copy(std::vector<float>(32, 1.0f));
  auto f = d.run("copy", {1, 1, 1}, {32, 1, 1}, Device::pack(x, d.program().variable("table")->address, 32));
  ASSERT_TRUE(f);
  EXPECT_EQ(f->kind, FaultKind::kReadOnly);
}

TEST(Fault, Shared) {
  Device d(kKernels);
  uint64_t y = d.allocate(1024);
  auto f = d.run("shared_uninitialised", {1, 1, 1}, {32, 1, 1}, Device::pack(y));
  EXPECT_FALSE(f) << render(*f);
  d.settings.checks.shared_init = true;
  f = d.run("shared_uninitialised", {1, 1, 1}, {32, 1, 1}, Device::pack(y));
  ASSERT_TRUE(f);
  EXPECT_EQ(f->kind, FaultKind::kUninitialised);
  EXPECT_EQ(f->thread[0], 31u);
  EXPECT_EQ(f->space, ptx::Space::kShared);
  EXPECT_EQ(f->address, 128u);
  EXPECT_FALSE(d.run("shared_past_end", {3, 1, 1}, {32, 1, 1}, Device::pack(y, 0)));
  for (int off : {1, 32, 1 << 20, -1, -(1 << 28)}) {
    f = d.run("shared_past_end", {1, 1, 1}, {32, 1, 1}, Device::pack(y, off));
    ASSERT_TRUE(f) << off;
    EXPECT_EQ(f->kind, FaultKind::kOutOfBounds) << off;
  }
}

TEST(Fault, BarriersThatNotAllReach) {
  Device d(kKernels);
  uint64_t y = d.allocate(1024);
  auto f = d.run("some_at_barrier", {1, 1, 1}, {128, 1, 1}, Device::pack(y));
  ASSERT_TRUE(f);
  EXPECT_EQ(f->kind, FaultKind::kDeadlock);
  EXPECT_NE(f->detail.find("2 of 4 warps are at barrier 0"), std::string::npos) << f->detail;
  EXPECT_NE(f->detail.find("2 of 4 warps are at barrier 1"), std::string::npos) << f->detail;
  f = d.run("divergent_barrier", {1, 1, 1}, {32, 1, 1}, Device::pack(y));
  ASSERT_TRUE(f);
  EXPECT_EQ(f->kind, FaultKind::kBarrier);
  // Threads that have ended are not waited for.
  for (int n : {1, 31, 32, 40, 64, 128})
    EXPECT_FALSE(d.run("early_exit", {2, 1, 1}, {128, 1, 1}, Device::pack(y, n))) << n;
}

TEST(Fault, LocksEnd) {
  Device d(kKernels);
  for (const char* kernel : {"spin_lock", "spin_then_work"}) {
    for (uint64_t order : {0, 1, 17}) {
      d.settings.order = order;
      uint64_t lock = d.copy(std::vector<int>{0}), count = d.copy(std::vector<int>{0});
      EXPECT_FALSE(d.run(kernel, {6, 1, 1}, {96, 1, 1}, Device::pack(lock, count)));
      EXPECT_EQ(d.read<int>(count, 1)[0], 6 * 96) << kernel;
    }
  }
}

TEST(Fault, BlocksWaitForLaterBlocks) {
  Device d(kKernels);
  for (int threads : {1, 2}) {
    d.settings.threads = threads;
    uint64_t turn = d.copy(std::vector<int>{0}), y = d.allocate(50 * 4);
    EXPECT_FALSE(d.run("chain", {50, 1, 1}, {32, 1, 1}, Device::pack(turn, y)));
    EXPECT_EQ(d.read<int>(turn, 1)[0], 50);
  }
}

TEST(Fault, KernelsThatDontEnd) {
  Device d(kKernels);
  d.settings.timeout_s = 0.2;
  auto f = d.run("forever", {2, 1, 1}, {64, 1, 1}, Device::pack(d.copy(std::vector<int>{0})));
  ASSERT_TRUE(f);
  EXPECT_EQ(f->kind, FaultKind::kTimeout);
  EXPECT_FALSE(f->standing.empty());
  f = d.run("busy", {2, 1, 1}, {64, 1, 1}, Device::pack(d.allocate(4)));
  ASSERT_TRUE(f);
  EXPECT_EQ(f->kind, FaultKind::kTimeout);
  std::atomic<bool> stop = true;
  d.settings.timeout_s = 0;
  d.settings.stop = &stop;
  f = d.run("busy", {2, 1, 1}, {64, 1, 1}, Device::pack(d.allocate(4)));
  ASSERT_TRUE(f);
  EXPECT_EQ(f->kind, FaultKind::kStopped);
}

TEST(Fault, AssertAndTrap) {
  Device d(kKernels);
  std::vector<int> x(32, 0);
  EXPECT_FALSE(d.run("asserts", {1, 1, 1}, {32, 1, 1}, Device::pack(d.copy(x))));
  x[9] = 3;
  auto f = d.run("asserts", {1, 1, 1}, {32, 1, 1}, Device::pack(d.copy(x)));
  ASSERT_TRUE(f);
  EXPECT_EQ(f->kind, FaultKind::kAssert);
  EXPECT_EQ(f->thread[0], 9u);
  EXPECT_NE(f->detail.find("x[threadIdx.x] != 3"), std::string::npos) << f->detail;
  f = d.run("traps", {1, 1, 1}, {64, 1, 1}, Device::pack(40));
  ASSERT_TRUE(f);
  EXPECT_EQ(f->kind, FaultKind::kTrap);
  EXPECT_EQ(f->thread[0], 40u);
}

TEST(Fault, Printf) {
  Device d(kKernels);
  std::string out;
  d.settings.threads = 1;
  d.settings.printed = [&](std::string_view text) { out += text; };
  EXPECT_FALSE(d.run("prints", {1, 1, 1}, {3, 1, 1}, Device::pack(3, uint64_t{0})));
  EXPECT_EQ(out,
            "thread 0 of 3:  0.00 and 1099511627776 %\nthread 1 of 3:  0.25 and 1099511627776 %\n"
            "thread 2 of 3:  0.50 and 1099511627776 %\n");
}

TEST(Fault, DeviceHeap) {
  Device d(kKernels);
  uint64_t y = d.allocate(128);
  EXPECT_FALSE(d.run("allocates", {1, 1, 1}, {32, 1, 1}, Device::pack(y)));
  for (int i = 0; i < 32; ++i) EXPECT_EQ(d.read<int>(y, 32)[static_cast<size_t>(i)], i + 1);
  auto f = d.run("frees_twice", {1, 1, 1}, {1, 1, 1}, {});
  ASSERT_TRUE(f);
  EXPECT_EQ(f->kind, FaultKind::kFree);
  EXPECT_NE(f->detail.find("freed before"), std::string::npos);
}

TEST(Fault, LocalArrays) {
  Device d(kKernels);
  std::vector<int> at(64);
  for (int i = 0; i < 64; ++i) at[static_cast<size_t>(i)] = (i * 5) % 16;
  uint64_t y = d.allocate(64 * 4), da = d.copy(at);
  EXPECT_FALSE(d.run("local_array", {1, 1, 1}, {64, 1, 1}, Device::pack(da, y)));
  for (int i = 0; i < 64; ++i) {
    int a = at[static_cast<size_t>(i)];
    EXPECT_EQ(d.read<int>(y, 64)[static_cast<size_t>(i)], a * a + i);
  }
  for (size_t i = 0; i < 32; ++i) at[i + 32] = (at[i] + 1) % 16;
  auto f = d.run("local_uninitialised", {1, 1, 1}, {32, 1, 1}, Device::pack(d.copy(at), y));
  ASSERT_TRUE(f);
  EXPECT_EQ(f->kind, FaultKind::kUninitialised);
  EXPECT_EQ(f->space, ptx::Space::kLocal);
  at[20] = 1 << 26;
  f = d.run("local_array", {1, 1, 1}, {64, 1, 1}, Device::pack(d.copy(at), y));
  ASSERT_TRUE(f);
  EXPECT_EQ(f->kind, FaultKind::kOutOfBounds);
}

TEST(Fault, IndicesThatWrap) {
  Device d(kKernels);
  std::vector<float> x(100);
  for (int i = 0; i < 100; ++i) x[static_cast<size_t>(i)] = static_cast<float>(i);
  for (uint32_t first : {0u, 0xfffffff0u, 0xffffffffu, 0xffffffe1u}) {
    uint64_t dx = d.copy(x), dy = d.allocate(400);
    EXPECT_FALSE(d.run("wraps", {1, 1, 1}, {32, 1, 1}, Device::pack(dx, dy, first, 100u))) << first;
    for (uint32_t l = 0; l < 32; ++l) {
      uint32_t i = first + l;
      if (i >= 100) continue;
      EXPECT_EQ(d.read<float>(dy, 100)[i], x[i] + 1) << first << " " << l;
    }
  }
}

TEST(Fault, Stencil) {
  Device d(kKernels);
  for (unsigned n : {1u, 2u, 32u, 33u, 1000u}) {
    std::vector<int> x(n);
    for (unsigned i = 0; i < n; ++i) x[i] = static_cast<int>(i * i % 101);
    uint64_t dx = d.copy(x), dy = d.allocate(n * 4);
    for (unsigned block : {32u, 64u, 7u}) {
      EXPECT_FALSE(d.run("stencil", {(n + block - 1) / block, 1, 1}, {block, 1, 1}, Device::pack(dx, dy, n)));
      auto y = d.read<int>(dy, n);
      for (unsigned i = 0; i < n; ++i)
        ASSERT_EQ(y[i], x[i] + (i ? x[i - 1] : 0) + (i + 1 < n ? x[i + 1] : 0)) << n << " " << block << " " << i;
    }
  }
}

TEST(Fault, LaunchesPastTheLimits) {
  Device d(kKernels);
  Launch launch;
  auto refused = [&](Code code) {
    auto ran = run(d.program(), "copy", launch, d.settings);
    ASSERT_FALSE(ran);
    EXPECT_EQ(ran.error()[0].code, code);
  };
  launch.arguments = Device::pack(uint64_t{0}, uint64_t{0}, 0);
  launch.block = {1025, 1, 1};
  refused(Code::E960);
  launch.block = {32, 32, 2};
  refused(Code::E960);
  launch.block = {32, 1, 1}, launch.grid = {1, 0, 1};
  refused(Code::E960);
  launch.grid = {1, 65536, 1};
  refused(Code::E960);
  launch.grid = {1, 1, 1}, launch.shared_bytes = 1 << 20;
  refused(Code::E960);
  launch.shared_bytes = 0, launch.arguments.pop_back();
  refused(Code::E961);
  auto ran = run(d.program(), "copi", launch, d.settings);
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error()[0].code, Code::E962);
}

// An instruction that can't be executed is an error of the launch, not of the module that has it somewhere.
// Without checks the processor itself refuses what lies nowhere: the kernel ends, and the process goes on.
TEST(Fault, StoresToNowhereWithoutChecks) {
  Device d(
      Device::Text{".version 8.0\n.target sm_80\n.address_size 64\n"
                   ".visible .entry put(.param .u64 p) {\n"
                   "  .reg .b32 %t; .reg .b64 %p;\n"
                   "  mov.u32 %t, %tid.x; ld.param.u64 %p, [p]; mad.wide.u32 %p, %t, 4, %p;\n"
                   "  bar.sync 0;\n"
                   "  st.global.u32 [%p], %t; ret;\n}\n"});
  d.settings.checks = {false, false};
  for (int threads : {1, 2}) {
    d.settings.threads = threads;
    uint64_t at = d.allocate(1 << 20), kept = d.allocate(1 << 20);
    ASSERT_TRUE(d.memory().release(at));
    auto fault = d.run("put", {4, 1, 1}, {64, 1, 1}, Device::pack(at));
    ASSERT_TRUE(fault);
    EXPECT_EQ(fault->kind, FaultKind::kOutOfBounds);
    EXPECT_EQ(fault->access, Access::kStore);
    EXPECT_GE(fault->address, at);
    EXPECT_LT(fault->address, at + 256);
    EXPECT_NE(render(*fault).find("which were freed"), std::string::npos) << render(*fault);
    auto after = d.run("put", {1, 1, 1}, {64, 1, 1}, Device::pack(kept));
    EXPECT_FALSE(after) << render(*after);
    EXPECT_EQ(d.read<uint32_t>(kept, 64)[63], 63u);
  }
}

TEST(Fault, InstructionsWithoutCode) {
  Device d(
      Device::Text{".version 8.0\n.target sm_90a\n.address_size 64\n"
                   ".visible .entry a() { ret; }\n"
                   ".visible .entry b() { wgmma.fence.sync.aligned; ret; }\n"});
  EXPECT_FALSE(d.run("a", {1, 1, 1}, {32, 1, 1}, {}));
  Launch launch;
  launch.block = {32, 1, 1};
  auto ran = run(d.program(), "b", launch, d.settings);
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error()[0].code, Code::N920);
}

// Calls are put in place: values go in and out through parameters of every size, lanes part and meet in the callee.
TEST(Fault, Calls) {
  Device d(
      Device::Text{".version 8.0\n.target sm_80\n.address_size 64\n"
                   ".func (.param .b32 r) pick(.param .b32 x, .param .align 8 .b8 pair[8]) {\n"
                   "  .reg .b32 %r<5>; .reg .pred %p;\n"
                   "  ld.param.b32 %r1, [x]; ld.param.v2.b32 {%r2, %r3}, [pair];\n"
                   "  setp.lt.u32 %p, %r1, 10;\n"
                   "  @%p bra less;\n"
                   "  st.param.b32 [r], %r3; ret;\n"
                   "less: mul.lo.u32 %r4, %r2, 2; st.param.b32 [r], %r4; ret;\n}\n"
                   ".func (.param .b32 r) twice(.param .b32 x) {\n"
                   "  .reg .b32 %r<3>;\n"
                   "  ld.param.b32 %r1, [x];\n"
                   "  { .param .b32 a; .param .align 8 .b8 b[8]; .param .b32 c;\n"
                   "    st.param.b32 [a], %r1; st.param.b32 [b], %r1; st.param.b32 [b+4], 7;\n"
                   "    call (c), pick, (a, b); ld.param.b32 %r2, [c]; }\n"
                   "  add.u32 %r2, %r2, 1000; st.param.b32 [r], %r2; ret;\n}\n"
                   ".visible .entry k(.param .u64 y) {\n"
                   "  .reg .b32 %r<4>; .reg .b64 %d<4>; .reg .pred %p;\n"
                   "  ld.param.u64 %d1, [y]; mov.u32 %r1, %tid.x; mov.u32 %r2, 5;\n"
                   "  setp.ne.u32 %p, %r1, 3;\n"
                   "  { .param .b32 a; .param .b32 c; st.param.b32 [a], %r1;\n"
                   "    @%p call (c), twice, (a); @%p ld.param.b32 %r2, [c]; }\n"
                   "  mul.wide.u32 %d2, %r1, 4; add.u64 %d3, %d1, %d2; st.global.u32 [%d3], %r2; ret;\n}\n"});
  uint64_t y = d.allocate(64 * 4);
  EXPECT_FALSE(d.run("k", {1, 1, 1}, {64, 1, 1}, Device::pack(y)));
  auto out = d.read<uint32_t>(y, 64);
  for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(out[i], i == 3 ? 5u : 1000 + (i < 10 ? 2 * i : 7)) << i;
}

}  // namespace
}  // namespace quern::vgpu
