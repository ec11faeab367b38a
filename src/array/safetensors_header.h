// The JSON header of a .safetensors file as plain structs, and the table of its dtypes. The parser is a SAX handler: it
// keeps no tree, takes nothing deeper than a shape (three levels), and refuses keys that occur twice, which a tree
// would silently merge.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/scalar_type.h"

namespace quern::array {

struct Dtype {
  std::string_view name;
  int bits;
  std::optional<ScalarType> type;  // none: the notation has no such type
};

// In the format's order of rising alignment.
std::span<const Dtype> dtypes();
const Dtype* find_dtype(std::string_view name);
const Dtype& dtype_of(ScalarType type);  // what it is written as; U8 for i4 and u4

struct SafetensorsEntry {
  std::string name;
  std::string dtype;
  std::vector<uint64_t> shape;
  uint64_t begin = 0, end = 0;  // of the data, from the header's end
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;
  std::map<std::string, std::string> metadata;
};

// Fills `out`; why not, or empty. Offsets and shapes are numbers of 64 bits, not yet compared with anything.
std::string parse_safetensors_header(std::string_view json, SafetensorsHeader& out);

// The JSON of a header, padded with blanks to a multiple of 8 bytes. Names and metadata must be UTF-8.
std::string safetensors_json(const SafetensorsHeader& header);

}  // namespace quern::array
