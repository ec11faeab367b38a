#include "array/npy.h"

#include <fmt/format.h>

#include "array/file_error.h"
#include "array/npy_header.h"
#include "base/text.h"

namespace quern::array {

Result<Array> parse_npy(const Bytes& bytes, const std::string& name, std::optional<ScalarType> as) {
  auto offset = npy_data_offset(bytes.text().substr(0, kNpyPrefix), bytes.size, name);
  if (!offset) return fail(std::move(offset.error()));
  auto header = parse_npy_header(bytes.text().substr(0, static_cast<size_t>(*offset)), name);
  if (!header) return fail(std::move(header.error()));
  auto layout = npy_layout(*header, as, name);
  if (!layout) return fail(std::move(layout.error()));
  int64_t have = bytes.size - *offset;
  if (have < layout->byte_size) {
    uint64_t want = static_cast<uint64_t>(*offset) + static_cast<uint64_t>(layout->byte_size);
    return truncated(name, want, static_cast<uint64_t>(bytes.size));
  }
  if (have > layout->byte_size)
    return hostile(name, fmt::format("{} bytes follow the array", have - layout->byte_size));
  return Array{layout->type, std::move(layout->shape), bytes.at(*offset), nullptr};
}

Result<Array> read_npy(const std::string& path, std::optional<ScalarType> as) {
  auto bytes = map_file(path);
  if (!bytes) return fail(std::move(bytes.error()));
  return parse_npy(*bytes, path, as);
}

Result<void> write_npy(const std::string& path, const Array& array, int version) {
  std::string header = npy_header(array, version);
  std::string_view parts[] = {header,
                              {reinterpret_cast<const char*>(array.data()), static_cast<size_t>(array.byte_size())}};
  return write_file(path, parts);
}

}  // namespace quern::array
