// A program as nvcc builds one, made by hand: a wrapper around a container with PTX, registered by its constructor,
// launched by the stub's calls.
#include <gtest/gtest.h>

#include "../fatbin/make_fatbin.h"
#include "runtime.h"

namespace quern::cuda {
namespace {

constexpr const char* kPtx = R"(.version 7.0
.target sm_80
.address_size 64
.const .align 4 .u32 factor;
.global .align 4 .u32 counter;
.visible .entry scale(.param .u64 p, .param .u32 n)
{
  .reg .pred %q;
  .reg .b32 %r<8>;
  .reg .b64 %d<4>;
  ld.param.u64 %d0, [p];
  ld.param.u32 %r0, [n];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.u32 %r4, %r1, %r2, %r3;
  setp.ge.u32 %q, %r4, %r0;
  @%q bra done;
  cvta.to.global.u64 %d1, %d0;
  mul.wide.u32 %d2, %r4, 4;
  add.u64 %d3, %d1, %d2;
  ld.global.u32 %r5, [%d3];
  ld.const.u32 %r6, [factor];
  mul.lo.u32 %r7, %r5, %r6;
  st.global.u32 [%d3], %r7;
  st.global.u32 [counter], %r0;
done:
  ret;
}
)";

struct Wrapper {
  uint32_t magic = 0x466243b1, version = 1;
  const void* fatbin = nullptr;
  const void* unused = nullptr;
};

// In the data of this program, where a container's extent is known from the file that is mapped.
alignas(8) char container[4096];
Wrapper wrapper;
char stub, factor_shadow, counter_shadow;

void register_program() {
  static bool done = false;
  if (std::exchange(done, true)) return;
  std::string bytes = fatbin::container_bytes(fatbin::good_entry(kPtx, 80, 1, 0x11 | fatbin::kZstdFlag));
  ASSERT_LE(bytes.size(), sizeof container);
  std::memcpy(container, bytes.data(), bytes.size());
  wrapper.fatbin = container;
  auto get = [](const char* name) { return find_export(name, 13); };
  auto handle = reinterpret_cast<void** (*)(void*)>(get("__cudaRegisterFatBinary"))(&wrapper);
  reinterpret_cast<void (*)(void**, const char*, const char*, const char*, int, void*, void*, void*, void*, int*)>(
      get("__cudaRegisterFunction"))(handle, &stub, "scale", "scale", -1, nullptr, nullptr, nullptr, nullptr, nullptr);
  auto variable = reinterpret_cast<void (*)(void**, char*, const char*, const char*, int, size_t, int, int)>(
      get("__cudaRegisterVar"));
  variable(handle, &factor_shadow, "factor", "factor", 0, 4, 1, 0);
  variable(handle, &counter_shadow, "counter", "counter", 0, 4, 0, 0);
  reinterpret_cast<void (*)(void**)>(get("__cudaRegisterFatBinaryEnd"))(handle);
}

Error launch(Dim3 grid, Dim3 block, void** arguments, size_t shared = 0) {
  return call("cudaLaunchKernel", static_cast<const void*>(&stub), grid, block, arguments, shared, kNoStream);
}

TEST(Program, LaunchesWhatItRegistered) {
  register_program();
  constexpr unsigned kCount = 100;
  unsigned in[kCount], out[kCount], factor = 3, counter = 0, count = kCount;
  for (unsigned i = 0; i < kCount; ++i) in[i] = i;
  unsigned* memory = device_array<unsigned>(kCount);
  ok(copy(memory, in, kCount, CopyKind::kHostToDevice));
  ok(call("cudaMemcpyToSymbol", static_cast<const void*>(&factor_shadow), static_cast<const void*>(&factor), size_t{4},
          size_t{0}, CopyKind::kHostToDevice));
  void* arguments[] = {&memory, &count};
  ok(launch({4, 1, 1}, {32, 1, 1}, arguments));
  ok(call("cudaDeviceSynchronize"));
  ok(copy(out, memory, kCount, CopyKind::kDeviceToHost));
  for (unsigned i = 0; i < kCount; ++i) ASSERT_EQ(out[i], 3 * i);
  ok(call("cudaMemcpyFromSymbol", static_cast<void*>(&counter), static_cast<const void*>(&counter_shadow), size_t{4},
          size_t{0}, CopyKind::kDeviceToHost));
  EXPECT_EQ(counter, kCount);
  size_t bytes = 0;
  ok(call("cudaGetSymbolSize", &bytes, static_cast<const void*>(&counter_shadow)));
  EXPECT_EQ(bytes, 4u);
}

TEST(Program, LaunchesPastTheLimitsAreErrors) {
  register_program();
  unsigned* memory = device_array<unsigned>(1);
  unsigned count = 0;
  void* arguments[] = {&memory, &count};
  EXPECT_EQ(launch({1, 1, 1}, {1025, 1, 1}, arguments), Error::kInvalidConfiguration);
  EXPECT_EQ(launch({0, 1, 1}, {1, 1, 1}, arguments), Error::kInvalidConfiguration);
  EXPECT_EQ(launch({1, 65536, 1}, {1, 1, 1}, arguments), Error::kInvalidConfiguration);
  EXPECT_EQ(launch({1, 1, 1}, {1, 1, 1}, arguments, 50 << 10), Error::kInvalidValue);
  ok(call("cudaFuncSetAttribute", static_cast<const void*>(&stub), 8, 64 << 10));
  ok(launch({1, 1, 1}, {1, 1, 1}, arguments, 50 << 10));
  EXPECT_EQ(call("cudaLaunchKernel", static_cast<const void*>(&count), Dim3{}, Dim3{}, arguments, size_t{0}, kNoStream),
            Error::kInvalidDeviceFunction);
  int blocks = 0;
  ok(call("cudaOccupancyMaxActiveBlocksPerMultiprocessor", &blocks, static_cast<const void*>(&stub), 256, size_t{0}));
  EXPECT_EQ(blocks, 8);  // 2048 threads of an H100's multiprocessor
  ok(call("cudaOccupancyMaxActiveBlocksPerMultiprocessor", &blocks, static_cast<const void*>(&stub), 32,
          size_t{100 << 10}));
  EXPECT_EQ(blocks, 2);  // 228 KiB, of which each block takes 101
  while (call("cudaGetLastError") != Error::kSuccess) {
  }
}

TEST(Program, ABadAccessEndsIt) {
  register_program();
  unsigned* memory = device_array<unsigned>(4);
  ok(call("cudaMemset", static_cast<void*>(memory), 0, size_t{16}));
  unsigned count = 5;
  void* arguments[] = {&memory, &count};
  auto run = [&] {
    launch({1, 1, 1}, {32, 1, 1}, arguments);
    call("cudaDeviceSynchronize");
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(1), "scale");
}

}  // namespace
}  // namespace quern::cuda
