// The header of a .npy file: magic, version, length, and a Python dict literal that names element type, order and shape
// (NEP 1; numpy.lib.format). NumPy itself hands the literal to ast.literal_eval; here a parser takes exactly the
// three keys with the values they may have, in any order and with any blanks, and nothing else.
//
// Apart from the file's own errors (E721 to E728) nothing is returned half done. `name` is what messages call the file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "array/array.h"

namespace quern::array {

struct NpyHeader {
  std::string descr;        // "<f4"; for a structured type the literal text of its list
  bool structured = false;  // `descr` was a list
  bool fortran = false;
  std::vector<int64_t> shape;  // as the file says, before 4-bit types are unpacked
  std::string shape_literal;   // as written
  bool shape_fits = true;      // no dimension needs more than 63 bits
};

// What an array of the file is, all told.
struct NpyLayout {
  ScalarType type = ScalarType::f32;
  std::vector<int64_t> shape;  // logical
  int64_t byte_size = 0;
};

inline constexpr int64_t kNpyPrefix = 12;            // bytes that tell where any version's data begins (10 do for 1.0)
inline constexpr int64_t kNpyHeaderLimit = 1 << 16;  // of the dict; NumPy's own limit is 10,000

// Where the data begins, from the file's first min(kNpyPrefix, file_size) bytes. E721 wrong magic, unknown version or
// a header over kNpyHeaderLimit; E722 if the file ends before.
Result<int64_t> npy_data_offset(std::string_view first, int64_t file_size, const std::string& name);

// Parses the first `npy_data_offset` bytes. E721.
Result<NpyHeader> parse_npy_header(std::string_view first, const std::string& name);

// Element type and logical shape, with `as` as read_npy explains it. E723 to E728.
Result<NpyLayout> npy_layout(const NpyHeader& header, std::optional<ScalarType> as, const std::string& name);

// The bytes before an array's data, the same as numpy.save writes for version 1; version 1, 2 or 3.
std::string npy_header(const Array& array, int version);

}  // namespace quern::array
