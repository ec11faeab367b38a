// .npz: a zip archive of .npy members, the format of numpy.savez and savez_compressed, read and written with libzip.
//
// An archive is taken apart in memory and nothing is ever put on disk. Before a byte is unpacked every member's name,
// method and declared size are checked; a member is given exactly the memory that its .npy header's shape asks for, and
// only if that is what the archive declares for it; the declared sizes together stay below a limit. So a small archive
// that claims to be large (a zip bomb) is refused at the price of its directory.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "array/array.h"
#include "array/bytes.h"

namespace quern::array {

inline constexpr int64_t kNpzLimit = int64_t{16} << 30;  // bytes unpacked, 16 GiB

// All arrays, in the archive's order; `as` by name (a member `w.npy` is the array `w`), as read_npy explains it.
// E716 if the members declare more than `limit` bytes together; E720 to E727 as read_npy; E728 a member that is not a
// stored or deflated .npy, is encrypted, has a name that is absolute, leads upward, is not UTF-8 or occurs twice, whose
// checksum or size is wrong, or a damaged directory.
Result<std::vector<Named>> read_npz(const std::string& path, const Wanted& as = {}, int64_t limit = kNpzLimit);

// One array; the others are not unpacked and need not be readable. Also E729: no array of that name.
Result<Array> read_npz_array(const std::string& path, std::string_view name,
                             std::optional<ScalarType> as = std::nullopt, int64_t limit = kNpzLimit);

// The same from memory, which is only needed during the call; `path` is what messages call it.
Result<std::vector<Named>> parse_npz(const Bytes& bytes, const std::string& path, const Wanted& as = {},
                                     int64_t limit = kNpzLimit);
Result<Array> parse_npz_array(const Bytes& bytes, const std::string& path, std::string_view name,
                              std::optional<ScalarType> as = std::nullopt, int64_t limit = kNpzLimit);

// Writes the arrays uncompressed, in order, whole or not at all, without copying their data; the same arrays give the
// same bytes. Names follow the rules for reading. E730.
Result<void> write_npz(const std::string& path, const std::vector<Named>& arrays);

// Why an array can't have this name in an archive ("its name is absolute"); empty if it can. With `\` as with `/`.
std::string npz_name_fault(std::string_view name);

}  // namespace quern::array
