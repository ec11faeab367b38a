// As much of ELF (System V ABI, AMD64 supplement) as telling programs apart takes: sections by name, symbols, needed
// libraries. Every offset is held against the file before it is followed.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace quern::fatbin {

struct ElfSection {
  std::string_view name;
  uint32_t type = 0;
  std::span<const std::byte> bytes;  // empty for what takes no room in the file
  uint32_t link = 0;                 // of another section
};

class Elf {
 public:
  // E974: why it is no file for this machine.
  static Result<Elf> open(std::span<const std::byte> bytes, const std::string& path);

  const std::vector<ElfSection>& sections() const { return sections_; }
  const ElfSection* section(std::string_view name) const;
  // Names of all functions that the file defines; empty where its symbols were stripped.
  std::vector<std::string_view> functions() const;
  std::vector<std::string> needed() const;

 private:
  // The text at an offset of a section of texts; empty where it leads out of it.
  std::string_view text(const ElfSection& table, uint64_t offset) const;

  std::vector<ElfSection> sections_;
};

}  // namespace quern::fatbin
