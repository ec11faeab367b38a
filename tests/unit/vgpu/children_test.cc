// Kernels that launch kernels: in which order their children run, what they are told, and what is found of those that
// can't be.
#include <algorithm>
#include <numeric>
#include <set>

#include "device.h"
#include "vgpu/children/function.h"

namespace quern::vgpu {
namespace {

constexpr const char* kKernels = "tests/unit/vgpu/kernels/children.ptx";

class Children : public testing::Test {
 protected:
  Device d{kKernels};

  std::optional<Fault> run(const char* kernel, std::vector<std::byte> arguments, Extent block = {1, 1, 1}) {
    return d.run(kernel, {1, 1, 1}, block, std::move(arguments));
  }
  // What `append` left in a list that the kernel was given.
  std::vector<int> list(const char* kernel, auto... arguments) {
    uint64_t at = d.copy(std::vector<int>(64));
    auto fault = run(kernel, Device::pack(at, arguments...), {32, 1, 1});
    EXPECT_FALSE(fault) << render(*fault);
    auto got = d.read<int>(at, 64);
    return {got.begin() + 1, got.begin() + 1 + got[0]};
  }
  std::vector<int> of_one_thread(const char* kernel, auto... arguments) {
    uint64_t at = d.copy(std::vector<int>(64));
    auto fault = run(kernel, Device::pack(at, arguments...));
    EXPECT_FALSE(fault) << render(*fault);
    return d.read<int>(at, 64);
  }
};

std::vector<int> ascending(int from, int count) {
  std::vector<int> out(static_cast<size_t>(count));
  std::iota(out.begin(), out.end(), from);
  return out;
}

int line_of(const std::string& place) { return std::stoi(place.substr(place.find(':') + 1)); }

TEST_F(Children, AStreamKeepsItsOrder) {
  for (uint64_t order : {0, 1, 2, 77}) {
    d.settings.order = order;
    EXPECT_EQ(list("one_stream"), ascending(0, 10)) << order;
  }
}

// The list isn't made for two writers at once: one thread.
TEST_F(Children, StreamsAreInAnyOrderAndEventsTieThem) {
  d.settings.threads = 1;
  std::set<std::vector<int>> seen;
  for (uint64_t order = 0; order < 6; ++order) {
    d.settings.order = order;
    auto two = [&](int tied) {
      uint64_t at = d.copy(std::vector<int>(64));
      auto fault = run("two_streams", Device::pack(at, tied));
      EXPECT_FALSE(fault) << render(*fault);
      auto got = d.read<int>(at, 17);
      return std::vector<int>(got.begin() + 1, got.end());
    };
    EXPECT_EQ(two(1), ascending(0, 16)) << order;
    std::vector<int> free = two(0), again = two(0), a, b;
    EXPECT_EQ(free, again) << order;
    for (int i : free) (i < 8 ? a : b).push_back(i);
    EXPECT_EQ(a, ascending(0, 8)) << order;
    EXPECT_EQ(b, ascending(8, 8)) << order;
    seen.insert(free);
  }
  EXPECT_GT(seen.size(), 2u);
}

TEST_F(Children, TheTailComesLastAndInOrder) {
  for (uint64_t order : {0, 5}) {
    d.settings.order = order;
    uint64_t at = d.copy(std::vector<int>(64));
    auto fault = run("tail", Device::pack(at));
    ASSERT_FALSE(fault) << render(*fault);
    EXPECT_EQ(d.read<int>(at, 6), (std::vector<int>{5, 1, 2, 3, 4, 5})) << order;
  }
}

TEST_F(Children, AllAreDoneWhenTheLaunchIs) {
  for (int threads : {1, 2, 7}) {
    d.settings.threads = threads;
    uint64_t at = d.copy(std::vector<int>{0});
    auto fault = d.run("forget", {5, 1, 1}, {3, 1, 1}, Device::pack(at));
    ASSERT_FALSE(fault) << render(*fault);
    EXPECT_EQ(d.read<int>(at, 1)[0], 5 * 3 * 4 * 64) << threads;
  }
}

TEST_F(Children, ArgumentsShapesAndSharedMemoryArrive) {
  auto got = of_one_thread("arguments");
  for (int i = 0; i < 8; ++i) EXPECT_EQ(got[static_cast<size_t>(i)], 1 + 10 + 1000 + 100 * ((3 - i % 4) % 3 + 1)) << i;
}

TEST_F(Children, ErrorsAreTheThreadsOwn) {
  auto got = of_one_thread("errors", 0u, 2048u);
  EXPECT_EQ((std::vector<int>(got.begin(), got.begin() + 18)),
            (std::vector<int>{0, 9, 9, 0, 9, 9, 9, 98, 400, 1, 400, 1, 21, 1, 801, 0, 2048, 0}));
}

TEST_F(Children, NestingEnds) {
  auto got = of_one_thread("nest");
  EXPECT_EQ(got[0], kDeepestChild);
  EXPECT_EQ(got[1], 65);  // of the deepest; those above found none, and wrote before it
}

TEST_F(Children, OnlySoManyArePending) {
  d.settings.limits.pending_launches = 100;
  auto got = of_one_thread("pending", 250);
  EXPECT_EQ(got[0], 100);
  EXPECT_EQ(got[1], 150);
  EXPECT_EQ(got[2], 0);
  got = of_one_thread("pending", 100);
  EXPECT_EQ(got[0], 100);
  EXPECT_EQ(got[1], 0);
}

TEST_F(Children, LaunchesWithoutAnEndAreStopped) {
  d.settings.timeout_s = 0.5;
  for (int threads : {1, 3}) {
    d.settings.threads = threads;
    auto fault = run("endless", Device::pack(d.copy(std::vector<int>{0})));
    ASSERT_TRUE(fault);
    EXPECT_EQ(fault->kind, FaultKind::kTimeout);
    EXPECT_EQ(fault->kernel, "_Z6spreadPi");
    EXPECT_FALSE(fault->launched_by.empty());
  }
}

TEST_F(Children, CopiesAndFills) {
  std::vector<int> in = ascending(100, 16);
  uint64_t out = d.allocate(24 * 4);
  auto fault = run("transfers", Device::pack(out, d.copy(in)));
  ASSERT_FALSE(fault) << render(*fault);
  auto got = d.read<int>(out, 24);
  std::vector<int> want = {0x11111111, 0x11111111, 0x11111111, 0x11111111, 100, 101, 102, 103};
  for (int i : {0x22222222, 100, 0, 0, 0x22222222, 102, 0, 0}) want.push_back(i);
  for (int i : {0, 1, 2, 3}) want.push_back(0x33333333), want.push_back(100 + 2 * i);
  EXPECT_EQ(got, want);
  EXPECT_EQ(d.memory().first_unwritten(out, 40), out + 40);
  EXPECT_EQ(d.memory().first_unwritten(out + 40, 8), out + 40);  // the gap of a row
}

TEST_F(Children, UnwrittenBytesStayUnwrittenWhenCopied) {
  uint64_t from = d.allocate(64), to = d.allocate(64);
  d.memory().mark_written(from, 20);
  ASSERT_FALSE(run("bad_copy", Device::pack(to, from, uint64_t{64})));
  EXPECT_EQ(d.memory().first_unwritten(to, 64), to + 20);
}

TEST_F(Children, TheHeapIsTheirs) {
  int64_t before = d.memory().used();
  uint64_t at = d.copy(std::vector<int>(64));
  auto fault = run("heap", Device::pack(at, d.copy(std::vector<int>{1, 20, 300, 4000})));
  ASSERT_FALSE(fault) << render(*fault);
  EXPECT_EQ(d.read<int>(at, 2), (std::vector<int>{1, 4321}));
  EXPECT_EQ(d.memory().used(), before + 64 * 4 + 16);
  uint64_t out = d.copy(std::vector<int>(1));
  ASSERT_FALSE(run("too_much_heap", Device::pack(out, uint64_t{1} << 62)));
  EXPECT_EQ(d.read<int>(out, 1)[0], 2);
}

TEST_F(Children, AFaultNamesWhoLaunchedIt) {
  uint64_t x = d.allocate(16);
  auto fault = run("bad_grandchild", Device::pack(x, 9));
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FaultKind::kOutOfBounds);
  EXPECT_EQ(fault->kernel, "_Z5storePii");
  EXPECT_EQ(fault->address, x + 36);
  ASSERT_EQ(fault->launched_by.size(), 2u);
  EXPECT_EQ(fault->launched_by[0].kernel, "_Z6middlePii");
  EXPECT_EQ(fault->launched_by[0].thread[0], 2u);
  EXPECT_EQ(fault->launched_by[1].kernel, "bad_grandchild");
  EXPECT_LT(line_of(fault->launched_by[0].place), line_of(fault->launched_by[1].place));
  EXPECT_NE(render(*fault).find("launched by middle(int*, int) at tests/unit/vgpu/kernels/children.cu:"),
            std::string::npos)
      << render(*fault);
}

TEST_F(Children, MemoryOfABlockIsNoArgument) {
  for (const char* kernel : {"gives_local", "gives_shared"}) {
    auto fault = run(kernel, std::string_view(kernel) == "gives_local" ? Device::pack(3) : std::vector<std::byte>{});
    ASSERT_TRUE(fault) << kernel;
    EXPECT_EQ(fault->kind, FaultKind::kLaunch) << kernel;
    EXPECT_EQ(fault->kernel, kernel);
    EXPECT_NE(fault->detail.find("argument 1 of "), std::string::npos) << fault->detail;
    EXPECT_FALSE(fault->source.empty());
  }
  auto fault = run("copies_shared", Device::pack(d.copy(std::vector<int>{1})));
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FaultKind::kLaunch);
  EXPECT_NE(fault->detail.find("cudaMemcpyAsync"), std::string::npos) << fault->detail;
}

TEST_F(Children, BuffersOfArgumentsAreChecked) {
  uint64_t x = d.copy(std::vector<int>{0});
  for (uint64_t address : {uint64_t{0}, uint64_t{1}, x, x + 4096, UINT64_MAX, uint64_t{1} << 63}) {
    auto fault = run("bad_buffer", Device::pack(address));
    ASSERT_TRUE(fault) << address;
    EXPECT_EQ(fault->kind, FaultKind::kLaunch);
    EXPECT_EQ(fault->address, address);
  }
  auto fault = run("twice", Device::pack(x));
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FaultKind::kLaunch);
  fault = run("past_the_buffer", {});
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FaultKind::kOutOfBounds);
  EXPECT_NE(fault->memory.find("a child's arguments"), std::string::npos) << fault->memory;
}

TEST_F(Children, WhatTheRuntimeTouchesIsChecked) {
  uint64_t x = d.allocate(16), freed = d.allocate(16);
  d.memory().release(freed);
  struct Case {
    uint64_t to, from, bytes;
    FaultKind kind;
    Access access;
  };
  d.memory().mark_written(x, 16);
  for (Case c : {Case{x, x, 17, FaultKind::kOutOfBounds, Access::kLoad},
                 {x + 8, x, 16, FaultKind::kOutOfBounds, Access::kStore},
                 {x, freed, 16, FaultKind::kUseAfterFree, Access::kLoad},
                 {x, UINT64_MAX - 3, 16, FaultKind::kOutOfBounds, Access::kLoad},
                 {8, x, 1, FaultKind::kOutOfBounds, Access::kStore}}) {
    auto fault = run("bad_copy", Device::pack(c.to, c.from, c.bytes));
    ASSERT_TRUE(fault) << c.to << " " << c.from;
    EXPECT_EQ(fault->kind, c.kind);
    EXPECT_EQ(fault->access, c.access);
    EXPECT_EQ(fault->kernel, "bad_copy");
  }
  for (uint64_t address : {uint64_t{16}, x + 9, freed, UINT64_MAX - 7}) {
    auto fault = run("bad_pointer", Device::pack(address));
    ASSERT_TRUE(fault) << address;
    EXPECT_EQ(fault->kind, address == freed ? FaultKind::kUseAfterFree : FaultKind::kOutOfBounds);
  }
  auto fault = run("frees", Device::pack(x));
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FaultKind::kFree);
  EXPECT_FALSE(run("frees", Device::pack(uint64_t{0})));
}

TEST_F(Children, TheOldWay) {
  auto got = of_one_thread("old_way");
  EXPECT_EQ(got[0], 1);
  EXPECT_EQ(got[1], 7);
  EXPECT_EQ(got[9], 0);
}

// What PTX may say of the device runtime's functions, but shouldn't.
TEST(DeviceFunctions, OtherSignaturesAreRefused) {
  struct Case {
    const char *declared, *call;
  };
  for (Case c : {Case{"(.param .b32 r) cudaLaunchDeviceV2(.param .b64 a)", "(r), cudaLaunchDeviceV2, (x)"},
                 {"(.param .b32 r) cudaLaunchDeviceV2(.param .b64 a, .param .align 8 .b8 b[16])",
                  "(r), cudaLaunchDeviceV2, (x, wide)"},
                 {"(.param .align 8 .b8 r[16]) cudaGetLastError()", "(wide), cudaGetLastError, ()"},
                 {"(.param .b32 r) malloc(.param .b64 a, .param .b64 b)", "(r), malloc, (x, x)"},
                 {"(.param .b32 r) vprintf(.param .b64 a)", "(r), vprintf, (x)"}}) {
    Device d{Device::Text{std::string(".version 8.0\n.target sm_80\n.address_size 64\n.extern .func ") + c.declared +
                          ";\n.visible .entry k()\n{\n.param .b32 r;\n.param .b64 x;\n.param .align 8 .b8 wide[16];\n"
                          "st.param.b64 [x], 0;\nst.param.b64 [wide], 0;\nst.param.b64 [wide+8], 0;\ncall.uni " +
                          c.call + ";\nret;\n}\n"}};
    Launch launch;
    auto ran = vgpu::run(d.program(), "k", launch, d.settings);
    ASSERT_FALSE(ran) << c.declared;
    EXPECT_EQ(ran.error().front().code, Code::N920) << c.declared;
  }
}

TEST(Synchronize, AParentSeesWhatItsChildrenDid) {
  Device d("tests/unit/vgpu/kernels/synchronize.ptx");
  for (int threads : {1, 4}) {
    d.settings.threads = threads;
    uint64_t x = d.copy(std::vector<int>(12 * 64));
    auto fault = d.run("squares", {12, 1, 1}, {64, 1, 1}, Device::pack(x));
    ASSERT_FALSE(fault) << render(*fault);
    auto got = d.read<int>(x, 12 * 64);
    for (int i = 0; i < 12 * 64; ++i) {
      int value = 63 - i % 64 + i / 64;
      ASSERT_EQ(got[static_cast<size_t>(i)], value * value + 1) << i;
    }
  }
}

TEST(Synchronize, OnlySoDeep) {
  Device d("tests/unit/vgpu/kernels/synchronize.ptx");
  std::vector<int> in = ascending(1, 16);
  auto sum = [&](int count) {
    uint64_t out = d.copy(std::vector<int>(64));
    auto fault = d.run("tree", {1, 1, 1}, {1, 1, 1}, Device::pack(out, d.copy(in), count));
    EXPECT_FALSE(fault) << render(*fault);
    return d.read<int>(out, 1)[0];
  };
  EXPECT_EQ(sum(4), 10);
  EXPECT_EQ(sum(8), 36);
  d.settings.limits.sync_depth = 1;
  EXPECT_EQ(sum(8), -68);
  d.settings.limits.sync_depth = 3;
  EXPECT_EQ(sum(16), 136);
}

TEST(Synchronize, AFaultOfAChildEndsTheParent) {
  Device d("tests/unit/vgpu/kernels/synchronize.ptx");
  uint64_t x = d.copy(std::vector<int>{1});
  auto fault = d.run("waits_for_a_fault", {1, 1, 1}, {1, 1, 1}, Device::pack(x, 1));
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kernel, "_Z6squarePi");
  EXPECT_EQ(fault->launched_by.size(), 1u);
  EXPECT_EQ(d.read<int>(x, 1)[0], 1);
}

TEST(DeviceFunctions, Names) {
  auto is = [](std::string_view text, DeviceFunction f, bool own) {
    auto named = find_device_function(text);
    return named && named->function == f && named->per_thread == own &&
           NamedFunction::of(named->number()).function == f && NamedFunction::of(named->number()).per_thread == own;
  };
  EXPECT_TRUE(is("__cudaCDP2LaunchDeviceV2", DeviceFunction::kLaunchDeviceV2, false));
  EXPECT_TRUE(is("__cudaCDP2LaunchDeviceV2_ptsz", DeviceFunction::kLaunchDeviceV2, true));
  EXPECT_TRUE(is("cudaLaunchDevice", DeviceFunction::kLaunchDevice, false));
  EXPECT_TRUE(is("cudaMemcpyAsync_ptsz", DeviceFunction::kMemcpyAsync, true));
  EXPECT_TRUE(is("__cudaDeviceSynchronizeDeprecationAvoidance", DeviceFunction::kDeviceSynchronize, false));
  for (const char* none : {"", "cuda", "__cudaCDP2", "LaunchDevice", "cudaLaunch", "cudaGraphLaunch", "vprintf"}) {
    EXPECT_FALSE(find_device_function(none)) << none;
  }
}

}  // namespace
}  // namespace quern::vgpu
