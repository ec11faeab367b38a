// Fatbins: what nvcc puts into a program beside the machine code of the host. A container is a header of 16 bytes and
// entries one after another; an entry holds PTX, machine code of one chip, or code for link-time optimisation, plain or
// compressed. NVIDIA does not document the format; this is what CUDA 13.0 and older toolkits write.
//
//   container   u32 magic 0xba55ed50, u16 version 1, u16 header size, u64 bytes of all entries
//   entry       u16 kind, u16 0x0101, u32 header size, u64 payload size, u32 compressed size, u32 offset of the
//   options,
//               u16 minor, u16 major, u32 chip, u32 offset of the source's name, u32 its length, u64 flags, u64 seed,
//               u64 size when unpacked
//
// Nothing that the bytes say is believed: an offset or size that leads outside its container is E970.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace quern::fatbin {

enum class EntryKind : uint8_t { kPtx, kMachineCode, kLinkTime, kOther };
enum class Packing : uint8_t { kPlain, kLz4, kZstd };

struct Entry {
  EntryKind kind = EntryKind::kOther;
  uint32_t arch = 0;  // 90
  char suffix = 0;    // 'a': for this chip alone, 'f': for its family, 0: for newer ones too
  Packing packing = Packing::kPlain;
  std::span<const std::byte> payload;  // without padding where it is compressed
  uint64_t unpacked = 0;               // its size then; of plain ones that of the payload
  std::string_view source;             // the .cu file, where -lineinfo or -G kept its name
};

inline constexpr size_t kContainerHeader = 16;
// What a text is unpacked to at most: a damaged size must not take the machine's memory.
inline constexpr uint64_t kMaxUnpacked = uint64_t{1} << 30;

// The bytes of the container that starts here, with its header; E970 if none does.
Result<uint64_t> container_size(std::span<const std::byte> bytes, std::string_view what);

// All containers in a file that isn't read otherwise: an object, a library of objects. What only looks like one is left
// out.
std::vector<std::span<const std::byte>> find_containers(std::span<const std::byte> file);

// The entries of the container at the start of `bytes`, which may go on behind it. They point into `bytes`. `what` is
// who holds the container, for messages.
Result<std::vector<Entry>> read_container(std::span<const std::byte> bytes, std::string_view what);

// The payload unpacked, without the zeros that pad it.
Result<std::string> unpack(const Entry& entry, std::string_view what);

// "compute_90a"
std::string arch_name(const Entry& entry);

}  // namespace quern::fatbin
