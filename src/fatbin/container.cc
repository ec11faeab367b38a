#include "fatbin/container.h"

#include <fmt/format.h>
#include <lz4.h>
#include <zstd.h>

#include <cstring>
#include <memory>

#include "fatbin/damaged.h"

namespace quern::fatbin {
namespace {

constexpr uint32_t kMagic = 0xba55ed50;
constexpr size_t kEntryHeader = 64;
constexpr uint64_t kFlagLz4 = 0x2000, kFlagZstd = 0x8000;
constexpr uint64_t kFlagChip = 0x100000, kFlagFamily = 0x200000;

template <class T>
T read(std::span<const std::byte> bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

EntryKind kind_of(uint16_t number) {
  switch (number) {
    case 1: return EntryKind::kPtx;
    case 2: return EntryKind::kMachineCode;
    case 8: return EntryKind::kLinkTime;
    default: return EntryKind::kOther;
  }
}

// The entry at the start of `bytes`, and how many of them it takes.
Result<std::pair<Entry, uint64_t>> read_entry(std::span<const std::byte> bytes, std::string_view what) {
  if (bytes.size() < kEntryHeader) return damaged(what, "it ends inside the header of an entry");
  Entry out;
  out.kind = kind_of(read<uint16_t>(bytes, 0));
  uint64_t header = read<uint32_t>(bytes, 4), payload = read<uint64_t>(bytes, 8);
  uint64_t compressed = read<uint32_t>(bytes, 16), flags = read<uint64_t>(bytes, 40);
  if (header < kEntryHeader || header > bytes.size()) {
    return damaged(what, fmt::format("an entry's header has {} bytes", header));
  }
  if (payload > bytes.size() - header) {
    return damaged(what, fmt::format("an entry has {} bytes, {} are left", payload, bytes.size() - header));
  }
  if (compressed > payload) {
    return damaged(what, fmt::format("an entry of {} bytes holds {} compressed ones", payload, compressed));
  }
  out.arch = read<uint32_t>(bytes, 28);
  out.suffix = flags & kFlagChip ? 'a' : flags & kFlagFamily ? 'f' : 0;
  out.packing = flags & kFlagZstd ? Packing::kZstd : flags & kFlagLz4 ? Packing::kLz4 : Packing::kPlain;
  out.payload = bytes.subspan(header, out.packing != Packing::kPlain && compressed ? compressed : payload);
  out.unpacked = out.packing == Packing::kPlain ? payload : read<uint64_t>(bytes, 56);
  uint64_t name = read<uint32_t>(bytes, 32), length = read<uint32_t>(bytes, 36);
  if (name) {
    if (name > header || length > header - name) return damaged(what, "the name of a source leads out of its entry");
    out.source = {reinterpret_cast<const char*>(bytes.data()) + name, length};
  }
  return std::pair(out, header + payload);
}

// Piece by piece, so that memory is taken for what is there and not for what is promised.
Result<std::string> unpack_zstd(const std::string& packed, uint64_t most, std::string_view what) {
  std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx*)> context(ZSTD_createDCtx(), &ZSTD_freeDCtx);
  ZSTD_inBuffer in{packed.data(), packed.size(), 0};
  std::string out;
  for (size_t left = 1; left != 0;) {
    size_t room = ZSTD_DStreamOutSize(), before = out.size();
    out.resize(before + room);
    ZSTD_outBuffer to{out.data() + before, room, 0};
    size_t at = in.pos;
    left = ZSTD_decompressStream(context.get(), &to, &in);
    out.resize(before + to.pos);
    if (ZSTD_isError(left)) return damaged(what, fmt::format("zstd: {}", ZSTD_getErrorName(left)));
    if (out.size() > most) return damaged(what, fmt::format("its PTX has more than the {} bytes it should have", most));
    if (left && to.pos == 0 && in.pos == at) return damaged(what, "its zstd frame is truncated");
  }
  return out;
}

Result<std::string> unpack_lz4(const std::string& packed, uint64_t size, std::string_view what) {
  // A byte of LZ4 stands for 255 at most.
  constexpr uint64_t kMostRatio = 255;
  if (packed.size() > kMaxUnpacked || size > (packed.size() + 1) * kMostRatio) {
    return damaged(what, fmt::format("{} bytes of LZ4 can't hold {}", packed.size(), size));
  }
  std::string out(size, '\0');
  int got = LZ4_decompress_safe(packed.data(), out.data(), static_cast<int>(packed.size()), static_cast<int>(size));
  if (got < 0) return damaged(what, "what it holds is no LZ4 block");
  out.resize(static_cast<size_t>(got));
  return out;
}

}  // namespace

std::unexpected<Diagnostics> damaged(std::string_view what, std::string why) {
  return fail(diagnose(Code::E970, {}, {{"what", std::string(what)}, {"why", std::move(why)}}));
}

Result<uint64_t> container_size(std::span<const std::byte> bytes, std::string_view what) {
  if (bytes.size() < kContainerHeader) return damaged(what, fmt::format("it has only {} bytes", bytes.size()));
  if (uint32_t magic = read<uint32_t>(bytes, 0); magic != kMagic) {
    return damaged(what, fmt::format("it starts with {:#010x}, expected {:#010x}", magic, kMagic));
  }
  if (uint16_t version = read<uint16_t>(bytes, 4); version != 1) {
    return damaged(what, fmt::format("it is of version {}, expected 1", version));
  }
  uint64_t header = read<uint16_t>(bytes, 6), entries = read<uint64_t>(bytes, 8);
  if (header < kContainerHeader || header > bytes.size()) {
    return damaged(what, fmt::format("its header has {} bytes", header));
  }
  if (entries > bytes.size() - header) {
    return damaged(what, fmt::format("its entries have {} bytes, {} are there", entries, bytes.size() - header));
  }
  return header + entries;
}

std::vector<std::span<const std::byte>> find_containers(std::span<const std::byte> file) {
  std::vector<std::span<const std::byte>> out;
  std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  std::string_view magic(reinterpret_cast<const char*>(&kMagic), sizeof kMagic);
  for (size_t at = text.find(magic); at != text.npos; at = text.find(magic, at)) {
    auto size = container_size(file.subspan(at), {});
    if (size) out.push_back(file.subspan(at, *size));
    at += size ? *size : magic.size();
  }
  return out;
}

Result<std::vector<Entry>> read_container(std::span<const std::byte> bytes, std::string_view what) {
  auto size = container_size(bytes, what);
  if (!size) return fail(std::move(size.error()));
  auto rest = bytes.first(*size).subspan(read<uint16_t>(bytes, 6));
  std::vector<Entry> out;
  while (!rest.empty()) {
    auto entry = read_entry(rest, what);
    if (!entry) return fail(std::move(entry.error()));
    out.push_back(entry->first);
    rest = rest.subspan(entry->second);
  }
  return out;
}

Result<std::string> unpack(const Entry& entry, std::string_view what) {
  if (entry.packing != Packing::kPlain && entry.unpacked > kMaxUnpacked) {
    return damaged(what, fmt::format("its PTX would have {} bytes, more than {}", entry.unpacked, kMaxUnpacked));
  }
  std::string plain(reinterpret_cast<const char*>(entry.payload.data()), entry.payload.size());
  auto out = entry.packing == Packing::kZstd  ? unpack_zstd(plain, entry.unpacked, what)
             : entry.packing == Packing::kLz4 ? unpack_lz4(plain, entry.unpacked, what)
                                              : Result<std::string>(std::move(plain));
  while (out && !out->empty() && out->back() == '\0') out->pop_back();
  return out;
}

std::string arch_name(const Entry& entry) {
  std::string out = fmt::format("{}_{}", entry.kind == EntryKind::kMachineCode ? "sm" : "compute", entry.arch);
  if (entry.suffix) out += entry.suffix;
  return out;
}

}  // namespace quern::fatbin
