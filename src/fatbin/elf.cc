#include "fatbin/elf.h"

#include <elf.h>

#include <cstring>

namespace quern::fatbin {
namespace {

std::unexpected<Diagnostics> refuse(const std::string& path, std::string why, std::string remedy = {}) {
  auto d = diagnose(Code::E974, {}, {{"path", path}, {"why", std::move(why)}});
  d.remedy = std::move(remedy);
  return fail(std::move(d));
}

// Copies are read, so nothing has to be aligned.
template <class T>
std::optional<T> at(std::span<const std::byte> bytes, uint64_t offset) {
  if (offset > bytes.size() || sizeof(T) > bytes.size() - offset) return std::nullopt;
  T out;
  std::memcpy(&out, bytes.data() + offset, sizeof out);
  return out;
}

std::optional<std::span<const std::byte>> range(std::span<const std::byte> bytes, uint64_t offset, uint64_t size) {
  if (offset > bytes.size() || size > bytes.size() - offset) return std::nullopt;
  return bytes.subspan(offset, size);
}

}  // namespace

Result<Elf> Elf::open(std::span<const std::byte> bytes, const std::string& path) {
  if (bytes.size() < EI_NIDENT || std::memcmp(bytes.data(), ELFMAG, SELFMAG) != 0) {
    return refuse(path, "it is no ELF file",
                  "give a program that nvcc built, a .cu file, or PTX with the name of a kernel");
  }
  if (std::to_integer<int>(bytes[EI_CLASS]) != ELFCLASS64) return refuse(path, "it is a 32-bit program");
  auto header = at<Elf64_Ehdr>(bytes, 0);
  if (!header || std::to_integer<int>(bytes[EI_DATA]) != ELFDATA2LSB) return refuse(path, "its header is damaged");
  if (header->e_machine != EM_X86_64) return refuse(path, "it is a program for another machine than x86-64");
  if (header->e_type != ET_EXEC && header->e_type != ET_DYN) return refuse(path, "it is an object file, not a program");
  Elf out;
  std::vector<Elf64_Shdr> headers;
  for (uint64_t i = 0; i < header->e_shnum; ++i) {
    auto one = at<Elf64_Shdr>(bytes, header->e_shoff + i * header->e_shentsize);
    if (!one || header->e_shentsize < sizeof(Elf64_Shdr)) return refuse(path, "its table of sections is damaged");
    headers.push_back(*one);
  }
  for (const Elf64_Shdr& h : headers) {
    ElfSection s;
    s.type = h.sh_type;
    s.link = h.sh_link;
    if (h.sh_type != SHT_NOBITS && h.sh_type != SHT_NULL) {
      auto contents = range(bytes, h.sh_offset, h.sh_size);
      if (!contents) return refuse(path, "a section leads out of the file: it is truncated");
      s.bytes = *contents;
    }
    out.sections_.push_back(s);
  }
  if (header->e_shstrndx < headers.size()) {
    const ElfSection names = out.sections_[header->e_shstrndx];
    for (size_t i = 0; i < headers.size(); ++i) out.sections_[i].name = out.text(names, headers[i].sh_name);
  }
  return out;
}

std::string_view Elf::text(const ElfSection& table, uint64_t offset) const {
  if (offset >= table.bytes.size()) return {};
  const char* first = reinterpret_cast<const char*>(table.bytes.data()) + offset;
  return {first, ::strnlen(first, table.bytes.size() - offset)};
}

const ElfSection* Elf::section(std::string_view name) const {
  for (const ElfSection& s : sections_) {
    if (s.name == name) return &s;
  }
  return nullptr;
}

std::vector<std::string_view> Elf::functions() const {
  std::vector<std::string_view> out;
  for (const ElfSection& s : sections_) {
    if (s.type != SHT_SYMTAB || s.link >= sections_.size()) continue;
    for (uint64_t offset = 0; auto symbol = at<Elf64_Sym>(s.bytes, offset); offset += sizeof(Elf64_Sym)) {
      if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_shndx == SHN_UNDEF) continue;
      out.push_back(text(sections_[s.link], symbol->st_name));
    }
  }
  return out;
}

std::vector<std::string> Elf::needed() const {
  std::vector<std::string> out;
  for (const ElfSection& s : sections_) {
    if (s.type != SHT_DYNAMIC || s.link >= sections_.size()) continue;
    for (uint64_t offset = 0; auto entry = at<Elf64_Dyn>(s.bytes, offset); offset += sizeof(Elf64_Dyn)) {
      if (entry->d_tag == DT_NULL) break;
      if (entry->d_tag == DT_NEEDED) out.emplace_back(text(sections_[s.link], entry->d_un.d_val));
    }
  }
  return out;
}

}  // namespace quern::fatbin
