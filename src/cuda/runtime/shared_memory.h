// Memory of this process's device that other processes map. What is exported becomes pages of one file in memory, at
// the offset that its address has in the range of device addresses; who imports it opens that file, by the number of
// the process or by a descriptor that was sent, and maps the same pages. Nothing else of the device is in the file.
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

// The file, made when it is first needed; -1: there can be none.
int shared_file();

// kInvalidValue; kMapBufferObjectFailed where the system refuses. Nobody writes to the memory meanwhile.
Error export_memory(uint64_t address, int64_t bytes, uint64_t kind, SharedHandle& out);
// Maps it at an address of this process's own. A file: where it is, else it is opened as the handle says.
Error import_memory(const SharedHandle& handle, uint64_t kind, int file, const char* name, vgpu::Holds holds,
                    int device, uint64_t& address);
// False: it is no import.
bool end_import(uint64_t address);

}  // namespace quern::cuda
