// Memory and copies: what comes back is what went in, and what leaves an allocation is refused.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <numeric>
#include <vector>

#include "runtime.h"

namespace quern::cuda {
namespace {

std::vector<int> numbers(size_t count) {
  std::vector<int> out(count);
  std::iota(out.begin(), out.end(), 1);
  return out;
}

TEST(Memory, CopiesThereAndBack) {
  auto in = numbers(1000), out = std::vector<int>(1000);
  int* a = device_array<int>(1000);
  int* b = device_array<int>(1000);
  ok(copy(a, in.data(), 1000, CopyKind::kHostToDevice));
  ok(copy(b, a, 1000, CopyKind::kDeviceToDevice));
  ok(copy(out.data(), b, 1000, CopyKind::kDefault));
  EXPECT_EQ(in, out);
  ok(call("cudaFree", static_cast<void*>(a)));
  ok(call("cudaFree", static_cast<void*>(b)));
  EXPECT_EQ(call("cudaFree", static_cast<void*>(b)), Error::kInvalidValue);
  EXPECT_EQ(copy(out.data(), b, 1, CopyKind::kDeviceToHost), Error::kInvalidValue);
}

TEST(Memory, WhatLeavesAnAllocationIsRefused) {
  auto in = numbers(8);
  int* a = device_array<int>(8);
  EXPECT_EQ(copy(a, in.data(), 9, CopyKind::kHostToDevice), Error::kInvalidValue);
  EXPECT_EQ(copy(a + 1, in.data(), 8, CopyKind::kHostToDevice), Error::kInvalidValue);
  EXPECT_EQ(copy(a, in.data(), 8, CopyKind::kDeviceToHost), Error::kInvalidValue);
  EXPECT_EQ(copy(a, in.data(), 8, static_cast<CopyKind>(9)), Error::kInvalidMemcpyDirection);
  EXPECT_EQ(call("cudaMemset", static_cast<void*>(a), 0, sizeof(int) * 9), Error::kInvalidValue);
  ok(call("cudaFree", static_cast<void*>(a)));
}

TEST(Memory, RowsWithAPitch) {
  constexpr size_t kWidth = 5 * sizeof(int), kHeight = 3;
  auto in = numbers(15), out = std::vector<int>(15);
  void* rows = nullptr;
  size_t pitch = 0;
  ok(call("cudaMallocPitch", &rows, &pitch, kWidth, kHeight));
  EXPECT_EQ(pitch % 512, 0u);
  ok(call("cudaMemcpy2D", rows, pitch, static_cast<const void*>(in.data()), kWidth, kWidth, kHeight,
          CopyKind::kHostToDevice));
  ok(call("cudaMemcpy2D", static_cast<void*>(out.data()), kWidth, static_cast<const void*>(rows), pitch, kWidth,
          kHeight, CopyKind::kDeviceToHost));
  EXPECT_EQ(in, out);
  EXPECT_EQ(call("cudaMemcpy2D", rows, kWidth - 1, static_cast<const void*>(in.data()), kWidth, kWidth, kHeight,
                 CopyKind::kHostToDevice),
            Error::kInvalidPitchValue);
  EXPECT_EQ(call("cudaMemcpy2D", rows, pitch, static_cast<const void*>(in.data()), kWidth, kWidth, size_t{4},
                 CopyKind::kHostToDevice),
            Error::kInvalidValue);
  ok(call("cudaMemset2D", rows, pitch, 7, kWidth, kHeight));
  ok(call("cudaMemcpy2D", static_cast<void*>(out.data()), kWidth, static_cast<const void*>(rows), pitch, kWidth,
          kHeight, CopyKind::kDeviceToHost));
  EXPECT_EQ(out, std::vector<int>(15, 0x07070707));
  ok(call("cudaFree", rows));
}

TEST(Memory, ArraysOfThreeDimensions) {
  ChannelDesc channels{32, 0, 0, 0, ChannelKind::kSigned};
  Array* array = nullptr;
  ok(call("cudaMalloc3DArray", &array, static_cast<const ChannelDesc*>(&channels), Extent{4, 3, 2}, 0u));
  auto in = numbers(24), out = std::vector<int>(24);
  Copy3D c{};
  c.dst_array = array;
  c.src_ptr = {in.data(), 4 * sizeof(int), 4, 3};
  c.extent = {4, 3, 2};
  c.kind = CopyKind::kHostToDevice;
  ok(call("cudaMemcpy3D", static_cast<const Copy3D*>(&c)));
  // The inner two by two of the second slice.
  Copy3D back{};
  back.src_array = array;
  back.src_pos = {1, 1, 1};
  back.dst_ptr = {out.data(), 2 * sizeof(int), 2, 2};
  back.extent = {2, 2, 1};
  back.kind = CopyKind::kDeviceToHost;
  ok(call("cudaMemcpy3D", static_cast<const Copy3D*>(&back)));
  EXPECT_EQ(std::vector<int>(out.begin(), out.begin() + 4), (std::vector<int>{18, 19, 22, 23}));
  back.dst_ptr.pitch = 4 * sizeof(int);
  back.extent = {4, 2, 1};
  EXPECT_EQ(call("cudaMemcpy3D", static_cast<const Copy3D*>(&back)), Error::kInvalidValue);
  ok(call("cudaFreeArray", array));
  EXPECT_EQ(call("cudaFreeArray", array), Error::kInvalidValue);
}

TEST(Memory, RegisteredMemoryIsSeenFromBothSides) {
  constexpr size_t kBytes = 10000;
  auto* own = static_cast<char*>(::mmap(nullptr, 16384, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  own[100] = 'a';
  ok(call("cudaHostRegister", static_cast<void*>(own + 100), kBytes, 0u));
  EXPECT_EQ(call("cudaHostRegister", static_cast<void*>(own + 200), size_t{1}, 0u),
            Error::kHostMemoryAlreadyRegistered);
  void* view = nullptr;
  ok(call("cudaHostGetDevicePointer", &view, static_cast<void*>(own + 100), 0u));
  auto* seen = static_cast<char*>(view);
  EXPECT_EQ(*seen, 'a');
  seen[1] = 'b';
  EXPECT_EQ(own[101], 'b');
  own[102] = 'c';
  EXPECT_EQ(seen[2], 'c');
  ok(call("cudaHostUnregister", static_cast<void*>(own + 100)));
  EXPECT_EQ(std::string(own + 100, 3), "abc");
  EXPECT_EQ(call("cudaHostUnregister", static_cast<void*>(own + 100)), Error::kHostMemoryNotRegistered);
  ::munmap(own, 16384);
}

TEST(Memory, PointersAreToldApart) {
  void *pinned = nullptr, *managed = nullptr;
  int local = 0;
  int* device = device_array<int>(4);
  ok(call("cudaMallocHost", &pinned, size_t{64}));
  ok(call("cudaMallocManaged", &managed, size_t{64}, 1u));
  auto type = [](const void* p) {
    PointerAttributes a;
    ok(call("cudaPointerGetAttributes", &a, p));
    return a.type;
  };
  EXPECT_EQ(type(device), MemoryType::kDevice);
  EXPECT_EQ(type(pinned), MemoryType::kHost);
  EXPECT_EQ(type(managed), MemoryType::kManaged);
  EXPECT_EQ(type(&local), MemoryType::kUnregistered);
  EXPECT_EQ(call("cudaFree", pinned), Error::kInvalidValue);
  ok(call("cudaFreeHost", pinned));
  ok(call("cudaFree", managed));
  ok(call("cudaFree", static_cast<void*>(device)));
}

TEST(Memory, PoolsKnowWhatIsUsed) {
  Pool* pool = nullptr;
  ok(call("cudaDeviceGetDefaultMemPool", &pool, 0));
  auto used = [&] {
    uint64_t bytes = 0;
    ok(call("cudaMemPoolGetAttribute", pool, 7, static_cast<void*>(&bytes)));
    return bytes;
  };
  uint64_t before = used();
  void* a = nullptr;
  ok(call("cudaMallocAsync", &a, size_t{1000}, kNoStream));
  EXPECT_EQ(used(), before + 1000);
  ok(call("cudaFreeAsync", a, kNoStream));
  ok(call("cudaStreamSynchronize", kNoStream));
  EXPECT_EQ(used(), before);
  EXPECT_EQ(call("cudaFreeAsync", a, kNoStream), Error::kInvalidValue);
}

}  // namespace
}  // namespace quern::cuda
