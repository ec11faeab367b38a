#include "fatbin/program_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "fatbin/device_runtime.h"
#include "fatbin/elf.h"

namespace quern::fatbin {
namespace {

std::unexpected<Diagnostics> refuse(const std::string& path, std::string why, std::string remedy = {}) {
  auto d = diagnose(Code::E974, {}, {{"path", path}, {"why", std::move(why)}});
  d.remedy = std::move(remedy);
  return fail(std::move(d));
}

// A file's bytes, mapped.
struct Mapped {
  void* at = MAP_FAILED;
  size_t bytes = 0;

  Mapped() = default;
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;
  ~Mapped() {
    if (at != MAP_FAILED) ::munmap(at, bytes);
  }
};

Result<void> map(const std::string& path, Mapped& out) {
  int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return refuse(path, std::strerror(errno));
  struct stat info = {};
  int status = ::fstat(file, &info);
  std::string why;
  if (status != 0) {
    why = std::strerror(errno);
  } else if (S_ISDIR(info.st_mode)) {
    why = "it is a folder";
  } else if (!S_ISREG(info.st_mode)) {
    why = "it is no regular file";
  } else if (::access(path.c_str(), X_OK) != 0) {
    why = "it is not executable";
  } else if (info.st_size == 0) {
    why = "it is empty";
  } else {
    out.bytes = static_cast<size_t>(info.st_size);
    out.at = ::mmap(nullptr, out.bytes, PROT_READ, MAP_PRIVATE, file, 0);
    if (out.at == MAP_FAILED) why = std::strerror(errno);
  }
  ::close(file);
  if (!why.empty()) return refuse(path, why, why == "it is not executable" ? "chmod +x " + path : "");
  return {};
}

// Entries of all containers in a section, one after another with zeros between them, but for those of NVIDIA's own.
Result<std::vector<Entry>> read_section(std::span<const std::byte> rest, const std::string& path) {
  std::vector<Entry> out;
  constexpr size_t kAlign = 8;
  while (rest.size() >= kContainerHeader) {
    if (std::ranges::all_of(rest.first(kAlign), [](std::byte b) { return b == std::byte{0}; })) {
      rest = rest.subspan(kAlign);
      continue;
    }
    auto size = container_size(rest, path);
    if (!size) return fail(std::move(size.error()));
    auto entries = read_container(rest, path);
    if (!entries) return fail(std::move(entries.error()));
    if (!is_device_runtime(*entries)) out.insert(out.end(), entries->begin(), entries->end());
    rest = rest.subspan(std::min<size_t>(rest.size(), (*size + kAlign - 1) / kAlign * kAlign));
  }
  return out;
}

bool is_runtime(std::string_view library) { return library.starts_with("libcudart.so."); }

}  // namespace

Result<ProgramFile> look_into(std::span<const std::byte> bytes, const std::string& path, const ChipName& chip) {
  if (bytes.size() >= 2 && std::memcmp(bytes.data(), "#!", 2) == 0) return ProgramFile{};
  auto elf = Elf::open(bytes, path);
  if (!elf) return fail(std::move(elf.error()));
  ProgramFile out;
  out.libraries = elf->needed();
  auto functions = elf->functions();
  out.static_runtime = std::ranges::find(functions, "__cudaRegisterFatBinary") != functions.end();
  // Code that was compiled to be linked is in a section of its own; what the linker made of it is machine code only.
  std::vector<Entry> all;
  for (const char* name : {"__nv_relfatbin", ".nv_fatbin"}) {
    const ElfSection* section = elf->section(name);
    if (!section) continue;
    auto entries = read_section(section->bytes, path);
    if (!entries) return fail(std::move(entries.error()));
    all.insert(all.end(), entries->begin(), entries->end());
  }
  out.has_code = !all.empty();
  if (!out.has_code) return out;
  if (auto best = choose(all, chip, path); !best) return fail(std::move(best.error()));
  if (!out.static_runtime && std::ranges::none_of(out.libraries, is_runtime)) {
    if (functions.empty()) {
      return refuse(path, "it is stripped, so the CUDA runtime inside it can't be found",
                    "leave out -s and strip, or build it with -cudart shared");
    }
  }
  return out;
}

Result<ProgramFile> look_into(const std::string& path, const ChipName& chip) {
  Mapped file;
  if (auto good = map(path, file); !good) return fail(std::move(good.error()));
  return look_into({static_cast<const std::byte*>(file.at), file.bytes}, path, chip);
}

}  // namespace quern::fatbin
