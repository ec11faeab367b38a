// Allocations as programs see them: what cudaMalloc, cudaMallocHost, cudaMallocManaged and pools give out, and how a
// pointer is told apart. All of it is in the range of device addresses, so a pointer means the same to host and
// kernels.
#pragma once

#include <cstdint>
#include <optional>

#include "cuda/runtime/process.h"

namespace quern::cuda {

// Who allocated something, in the words of messages; also what tells kinds of memory apart later.
inline constexpr const char* kNameMalloc = "cudaMalloc";
inline constexpr const char* kNameHost = "cudaMallocHost";
inline constexpr const char* kNameManaged = "cudaMallocManaged";
inline constexpr const char* kNameArray = "cudaMallocArray";
inline constexpr const char* kNameAsync = "cudaMallocAsync";
inline constexpr const char* kNameRegistered = "cudaHostRegister";
inline constexpr const char* kNameOpened = "cudaIpcOpenMemHandle";
inline constexpr const char* kNameImported = "cudaMemPoolImportPointer";
inline constexpr const char* kNameMapped = "cuMemMap";

// Null: there is no room on the device, or on this machine.
void* allocate(int64_t bytes, vgpu::Holds holds, const char* name, int device, int64_t align = 256);

// False: no allocation starts there.
bool release(void* pointer);
// Everything that the device holds.
void release_all(int device);

// A pitch as cudaMallocPitch chooses it.
constexpr size_t kPitchAlign = 512;
constexpr size_t pitch_of(size_t width) { return (width + kPitchAlign - 1) / kPitchAlign * kPitchAlign; }

// Does it lie in the range of device addresses at all?
bool is_device_address(const void* pointer);
// The living allocation that contains the pointer, if there is one.
std::shared_ptr<const vgpu::Allocation> allocation_of(const void* pointer);
bool is_managed(const vgpu::Allocation& a);
// May cudaFree have it?
bool is_freeable(const vgpu::Allocation& a);

// Bytes of the device that nothing occupies.
int64_t free_bytes(int device);
int64_t total_bytes(int device);

}  // namespace quern::cuda
