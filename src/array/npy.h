// .npy: one array a file, the format of numpy.save. Reading maps the file: no byte of the data is copied.
#pragma once

#include <optional>
#include <string>

#include "array/array.h"
#include "array/bytes.h"

namespace quern::array {

// Reads versions 1.0, 2.0 and 3.0, row-major and little-endian (a column-major array of which at most one dimension
// exceeds 1 is row-major too).
//
// `as` is the type the caller wants; the result has it, or it is an error. Without it the file's own type counts.
// Types that NumPy lacks are read only where `as` says so: bf16 from u2, 8-bit floats from u1, 4-bit types from u1 with
// half the last dimension, any 8- or 16-bit type from the V1 and V2 that ml_dtypes arrays are saved as.
//
// E720 unreadable, E721 not .npy, E722 truncated, E723 column-major, E724 big-endian, E725 a type the notation lacks,
// E726 a shape that needs more than 63 bits, E727 not the wanted type, E728 bytes after the data or more
// than kMaxRank dimensions.
Result<Array> read_npy(const std::string& path, std::optional<ScalarType> as = std::nullopt);

// The same from memory; `name` is what messages call it. The array shares `bytes`.
Result<Array> parse_npy(const Bytes& bytes, const std::string& name, std::optional<ScalarType> as = std::nullopt);

// Writes the bytes that numpy.save writes (for version 1, 2 or 3 of the format), whole or not at all, without copying
// the data. Types that NumPy lacks are written raw, as u1 or u2. E730.
Result<void> write_npy(const std::string& path, const Array& array, int version = 1);

}  // namespace quern::array
