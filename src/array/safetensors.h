// .safetensors: the format of model weights (huggingface/safetensors, README "Format"): an 8-byte header length, a JSON
// header that gives each array's dtype, shape and place, and the bytes, without gaps. Reading maps the file: no byte of
// the data is copied. The format pads its header so that the data begins at a multiple of 8, but files whose data does
// not are legal too, so elements may lie at any address; array.h says how to read them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "array/array.h"
#include "array/bytes.h"

namespace quern::array {

struct Safetensors {
  std::vector<Named> arrays;                    // in the header's order
  std::map<std::string, std::string> metadata;  // `__metadata__`
};

// Reads all arrays. `as` by name: the type the caller wants an array as; it has it, or it is an error. Without it the
// dtype counts: F64 F32 F16 BF16 F8_E4M3 F8_E5M2 F8_E8M0 F4 I64 I32 I16 I8 U32 U8 BOOL; F4 has its logical shape. Raw
// bits are read where `as` says so: bf16 from U16, 8-bit floats from U8, 4-bit types from U8 with half the last
// dimension, f4e2m1 also from I8 so.
//
// E720 unreadable, E721 a header that is too long (100 MB, as in the reference implementation), not JSON or not of this
// form, E722 truncated, E725 a dtype the notation lacks, E726 a shape that needs more than 63 bits, E727 not the wanted
// type, E728 arrays that overlap, leave holes or have another size than their shape, names or keys that occur twice,
// bytes after the data, more than kMaxRank dimensions. What is read is checked first, all of it.
Result<Safetensors> read_safetensors(const std::string& path, const Wanted& as = {});

// One array; the others are checked but may have dtypes that the notation lacks. Also E729: no array of that name.
Result<Array> read_safetensors_array(const std::string& path, std::string_view name,
                                     std::optional<ScalarType> as = std::nullopt);

// The same from memory, which the arrays share; `path` is what messages call it.
Result<Safetensors> parse_safetensors(const Bytes& bytes, const std::string& path, const Wanted& as = {});
Result<Array> parse_safetensors_array(const Bytes& bytes, const std::string& path, std::string_view name,
                                      std::optional<ScalarType> as = std::nullopt);

// Writes the bytes that the reference implementation writes, whole or not at all, without copying the data: arrays
// by falling alignment of their dtype and then by name, so that each is aligned. i4 and u4 are written as U8 with half
// the last dimension. E730, also for a name that occurs twice, is not UTF-8, or is `__metadata__`.
Result<void> write_safetensors(const std::string& path, const std::vector<Named>& arrays,
                               const std::map<std::string, std::string>& metadata = {});

}  // namespace quern::array
