// The errors that all readers of array files share, each with its code's arguments in one place. `path` is what
// messages call the file, or "file:array" for one array of it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace quern::array {

std::unexpected<Diagnostics> not_a_file(const std::string& path, std::string_view format, std::string why);  // E721
std::unexpected<Diagnostics> truncated(const std::string& path, uint64_t want, uint64_t have);  // E722, sizes in bytes
std::unexpected<Diagnostics> foreign_type(const std::string& path, std::string_view descr);     // E725
std::unexpected<Diagnostics> overflowing(const std::string& path, std::string_view shape);      // E726
std::unexpected<Diagnostics> hostile(const std::string& path, std::string why);                 // E728
// E729: `path` holds no array `name`, but those of `have`; a near miss is suggested.
std::unexpected<Diagnostics> no_array(const std::string& path, std::string_view name,
                                      const std::vector<std::string>& have);
std::unexpected<Diagnostics> unwritable(const std::string& path, std::string why);  // E730

}  // namespace quern::array
