// Containers made by hand, byte for byte as fatbin/container.h describes them.
#pragma once

#include <lz4.h>
#include <zstd.h>

#include <cstring>
#include <span>
#include <string>

#include "fatbin/container.h"

namespace quern::fatbin {

inline constexpr uint64_t kLz4Flag = 0x2000, kZstdFlag = 0x8000, kChipFlag = 0x100000, kFamilyFlag = 0x200000;

struct EntryFields {
  uint16_t kind = 1;
  uint32_t header = 64;
  uint64_t payload = 0;
  uint32_t compressed = 0;
  uint32_t arch = 80;
  uint32_t name = 0, name_length = 0;
  uint64_t flags = 0x11;
  uint64_t unpacked = 0;
};

template <class T>
void put(std::string& bytes, size_t offset, T value) {
  if (bytes.size() < offset + sizeof value) bytes.resize(offset + sizeof value);
  std::memcpy(bytes.data() + offset, &value, sizeof value);
}

inline std::string entry_bytes(const EntryFields& f, const std::string& payload, const std::string& tail = {}) {
  std::string out(64, '\0');
  put<uint16_t>(out, 0, f.kind);
  put<uint16_t>(out, 2, 0x0101);
  put<uint32_t>(out, 4, f.header);
  put<uint64_t>(out, 8, f.payload);
  put<uint32_t>(out, 16, f.compressed);
  put<uint32_t>(out, 28, f.arch);
  put<uint32_t>(out, 32, f.name);
  put<uint32_t>(out, 36, f.name_length);
  put<uint64_t>(out, 40, f.flags);
  put<uint64_t>(out, 56, f.unpacked);
  return out + tail + payload;
}

// An entry whose sizes are right: payload padded to eight bytes.
inline std::string good_entry(const std::string& text, uint32_t arch = 80, uint16_t kind = 1, uint64_t flags = 0x11) {
  EntryFields f;
  f.kind = kind;
  f.arch = arch;
  f.flags = flags;
  std::string payload = text;
  if (flags & kZstdFlag) {
    payload.resize(ZSTD_compressBound(text.size()));
    payload.resize(ZSTD_compress(payload.data(), payload.size(), text.data(), text.size(), 3));
  } else if (flags & kLz4Flag) {
    payload.resize(static_cast<size_t>(LZ4_compressBound(static_cast<int>(text.size()))));
    payload.resize(static_cast<size_t>(LZ4_compress_default(text.data(), payload.data(), static_cast<int>(text.size()),
                                                            static_cast<int>(payload.size()))));
  }
  if (flags & (kZstdFlag | kLz4Flag)) {
    f.compressed = static_cast<uint32_t>(payload.size());
    f.unpacked = text.size();
  }
  payload.resize((payload.size() + 7) / 8 * 8);
  f.payload = payload.size();
  return entry_bytes(f, payload);
}

inline std::string container_bytes(const std::string& entries) {
  std::string out(16, '\0');
  put<uint32_t>(out, 0, 0xba55ed50);
  put<uint16_t>(out, 4, 1);
  put<uint16_t>(out, 6, 16);
  put<uint64_t>(out, 8, entries.size());
  return out + entries;
}

// "E970: the fatbin of app is damaged: …"
inline std::string text_of(const Diagnostics& error) {
  return std::string(row(error.front().code).name) + ": " + error.front().message;
}

inline std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

}  // namespace quern::fatbin
