// What an executable is told before it is started. The ELF files are made by hand: a header, sections, their names.
#include "fatbin/program_file.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>

#include "make_fatbin.h"

namespace quern::fatbin {
namespace {

struct Section {
  std::string name;
  uint32_t type;
  std::string bytes;
  uint32_t link = 0;
};

template <class T>
std::string raw(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

// Sections are numbered from 1; the last is the table of names.
std::string elf(std::vector<Section> sections, uint16_t machine = EM_X86_64, uint16_t type = ET_DYN) {
  std::string names(1, '\0');
  std::string body(sizeof(Elf64_Ehdr), '\0');
  std::vector<Elf64_Shdr> headers(1);
  sections.push_back({".shstrtab", SHT_STRTAB, ""});
  for (Section& s : sections) {
    Elf64_Shdr h = {};
    h.sh_name = static_cast<uint32_t>(names.size());
    names += s.name + '\0';
    h.sh_type = s.type;
    h.sh_link = s.link;
    if (s.name == ".shstrtab") s.bytes = names;
    h.sh_offset = body.size();
    h.sh_size = s.bytes.size();
    body += s.bytes;
    headers.push_back(h);
  }
  Elf64_Ehdr e = {};
  std::memcpy(e.e_ident, ELFMAG, SELFMAG);
  e.e_ident[EI_CLASS] = ELFCLASS64;
  e.e_ident[EI_DATA] = ELFDATA2LSB;
  e.e_type = type;
  e.e_machine = machine;
  e.e_shoff = body.size();
  e.e_shentsize = sizeof(Elf64_Shdr);
  e.e_shnum = static_cast<uint16_t>(headers.size());
  e.e_shstrndx = static_cast<uint16_t>(headers.size() - 1);
  std::memcpy(body.data(), &e, sizeof e);
  for (const Elf64_Shdr& h : headers) body += raw(h);
  return body;
}

std::string symbol_table(uint32_t name) {
  Elf64_Sym s = {};
  s.st_name = name;
  s.st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC);
  s.st_shndx = 1;
  return raw(s);
}

const std::string kNames = std::string("\0__cudaRegisterFatBinary\0libcudart.so.13\0", 41);

std::string said(const std::string& file) {
  auto program = look_into(bytes_of(file), "app", {"h100", 90});
  if (program) return program->static_runtime ? "static" : program->libraries.empty() ? "plain" : program->libraries[0];
  return text_of(program.error());
}

std::string fatbin_section() { return container_bytes(good_entry("ptx")); }

TEST(ProgramFile, IsKnownByWhatItHolds) {
  Section fatbin{".nv_fatbin", SHT_PROGBITS, fatbin_section() + std::string(8, '\0') + container_bytes("")};
  EXPECT_EQ(said(elf({fatbin, {".symtab", SHT_SYMTAB, symbol_table(1), 3}, {".strtab", SHT_STRTAB, kNames}})),
            "static");
  Elf64_Dyn needed[2] = {{DT_NEEDED, {25}}, {DT_NULL, {0}}};
  EXPECT_EQ(said(elf({fatbin, {".dynamic", SHT_DYNAMIC, raw(needed), 3}, {".dynstr", SHT_STRTAB, kNames}})),
            "libcudart.so.13");
  EXPECT_EQ(said(elf({{".text", SHT_PROGBITS, "x"}})), "plain");
  EXPECT_EQ(said("#!/bin/sh\n"), "plain");
}

TEST(ProgramFile, SaysWhatIsWrong) {
  EXPECT_EQ(said("hello, world, this is no program"), "E974: can't run 'app': it is no ELF file");
  EXPECT_EQ(said(""), "E974: can't run 'app': it is no ELF file");
  EXPECT_EQ(said(elf({}, EM_AARCH64)), "E974: can't run 'app': it is a program for another machine than x86-64");
  EXPECT_EQ(said(elf({}, EM_X86_64, ET_REL)), "E974: can't run 'app': it is an object file, not a program");
  std::string narrow = elf({});
  narrow[EI_CLASS] = ELFCLASS32;
  EXPECT_EQ(said(narrow), "E974: can't run 'app': it is a 32-bit program");
  EXPECT_EQ(said(elf({{".nv_fatbin", SHT_PROGBITS, fatbin_section()}})),
            "E974: can't run 'app': it is stripped, so the CUDA runtime inside it can't be found");
  EXPECT_EQ(said(elf({{".nv_fatbin", SHT_PROGBITS, container_bytes(good_entry(".text.x", 90, 2))}})),
            "E971: app holds machine code (sm_90) and no PTX");
  EXPECT_EQ(said(elf({{".nv_fatbin", SHT_PROGBITS, container_bytes(good_entry("x", 90, 8))}})),
            "E972: app holds only code for link-time optimisation, and no PTX");
  EXPECT_EQ(said(elf({{".nv_fatbin", SHT_PROGBITS, "not a container at all"}})),
            "E970: the fatbin of app is damaged: it starts with 0x20746f6e, expected 0xba55ed50");
}

TEST(ProgramFile, CodeThatWasLinkedIsInASectionOfItsOwn) {
  EXPECT_EQ(said(elf({{"__nv_relfatbin", SHT_PROGBITS, fatbin_section()},
                      {".nv_fatbin", SHT_PROGBITS, container_bytes(good_entry(".text.x", 90, 2))},
                      {".symtab", SHT_SYMTAB, symbol_table(1), 4},
                      {".strtab", SHT_STRTAB, kNames}})),
            "static");
}

// Every prefix, and every byte changed: an answer, never a crash.
TEST(ProgramFile, DamageIsNoCrash) {
  std::string good = elf({{".nv_fatbin", SHT_PROGBITS, fatbin_section()},
                          {".symtab", SHT_SYMTAB, symbol_table(1), 3},
                          {".strtab", SHT_STRTAB, kNames}});
  for (size_t i = 0; i < good.size(); ++i) {
    said(good.substr(0, i));
    for (char change : {'\xff', '\x01', '\x80'}) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ change);
      said(bad);
    }
  }
}

}  // namespace
}  // namespace quern::fatbin
