#include "compile/build_id.h"

#include <elf.h>
#include <fmt/format.h>
#include <link.h>

#include <cstring>

namespace quern::compile {

namespace {

struct Search {
  uintptr_t address = 0;  // of code in the object that is meant
  std::string id;
};

std::string id_in(const char* note, const char* end) {
  while (note + sizeof(ElfW(Nhdr)) <= end) {
    ElfW(Nhdr) header;
    std::memcpy(&header, note, sizeof header);
    auto padded = [](size_t size) { return (size + 3) / 4 * 4; };
    const char* name = note + sizeof header;
    const char* content = name + padded(header.n_namesz);
    const char* next = content + padded(header.n_descsz);
    if (next > end) break;
    if (header.n_type == NT_GNU_BUILD_ID && header.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0) {
      std::string out;
      for (size_t i = 0; i < header.n_descsz; ++i) out += fmt::format("{:02x}", static_cast<unsigned char>(content[i]));
      return out;
    }
    note = next;
  }
  return {};
}

int look(dl_phdr_info* object, size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  std::string id;
  bool here = false;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = object->dlpi_phdr[i];
    uintptr_t begin = object->dlpi_addr + part.p_vaddr, end = begin + part.p_memsz;
    if (part.p_type == PT_LOAD && begin <= search.address && search.address < end) here = true;
    if (part.p_type == PT_NOTE && id.empty()) {
      id = id_in(reinterpret_cast<const char*>(begin), reinterpret_cast<const char*>(end));
    }
  }
  if (!here) return 0;
  search.id = id;
  return 1;
}

}  // namespace

std::string build_id() {
  static const std::string id = [] {
    Search search{reinterpret_cast<uintptr_t>(&build_id), {}};
    dl_iterate_phdr(look, &search);
    return search.id;
  }();
  return id;
}

}  // namespace quern::compile
