// Memory of this process's device that other processes map. What is exported becomes pages of one file in memory, at
// the offset that its address has in the range of device addresses; who imports it opens that file, by the number of
// the process, and maps the same pages. Nothing else of the device is in the file. A pool that can be exported has a
// file of its own from the start, whose descriptor is sent to others.
#pragma once

#include <cstdint>

#include "cuda/abi/error.h"
#include "vgpu/memory.h"

namespace quern::cuda {

// What one process tells another: fits cudaIpcMemHandle_t and its kin.
struct SharedHandle {
  uint64_t kind = 0;  // what it is for
  int32_t process = 0, file = -1;
  uint64_t inode = 0;
  uint64_t offset = 0;
  int64_t bytes = 0;
};
static_assert(sizeof(SharedHandle) <= 64);
inline constexpr uint64_t kSharedMemory = 0x316d656d6e727571, kSharedEvent = 0x317665656e727571,
                          kSharedPiece = 0x3163706d6e727571;

// Names of files in memory that are ours begin so.
inline constexpr const char* kFileName = "quern";
// Is it such a file? Descriptors come from programs.
bool is_our_file(int file, uint64_t& inode, int64_t& bytes);

// A file as large as the range of device addresses, without pages; -1: there can be none.
int make_shared_file();
// Memory with pages of such a file. kMemoryAllocation.
Error allocate_shared(int file, int64_t bytes, const char* name, int device, uint64_t& address);
// What to tell others of it.
SharedHandle handle_of(int file, uint64_t address, int64_t bytes, uint64_t kind);

// kInvalidValue; kMapBufferObjectFailed where the system refuses. Nobody writes to the memory meanwhile.
Error export_memory(uint64_t address, int64_t bytes, uint64_t kind, SharedHandle& out);
// Maps it at an address of this process's own. A file: where it is, else it is opened as the handle says.
Error import_memory(const SharedHandle& handle, uint64_t kind, int file, const char* name, vgpu::Holds holds,
                    int device, uint64_t& address);
// Releases what was imported, or allocated here. False: it is neither.
bool release_shared(uint64_t address);

}  // namespace quern::cuda
