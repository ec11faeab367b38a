// The front door to array files: the ending of the name says which format.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "array/array.h"

namespace quern::array {

// All arrays of a .npy, .npz or .safetensors file; the one of a .npy file is named as the file is, without folder and
// ending. `as` and errors as read_npy, read_npz and read_safetensors have them; E731 for another ending.
Result<std::vector<Named>> read_arrays(const std::string& path, const Wanted& as = {});

// One array by name, E729 if there is none; for a .npy file the empty name, or its own.
Result<Array> read_array(const std::string& path, std::string_view name, std::optional<ScalarType> as = std::nullopt);

// Writes the arrays, whole or not at all. E730, also if a .npy file should hold more or less than one; E731.
Result<void> write_arrays(const std::string& path, const std::vector<Named>& arrays);

}  // namespace quern::array
