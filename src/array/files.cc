#include "array/files.h"

#include <fmt/format.h>

#include "array/file_error.h"
#include "array/npy.h"
#include "array/npz.h"
#include "array/safetensors.h"

namespace quern::array {
namespace {

enum class Format { kNpy, kNpz, kSafetensors };

Result<Format> format_of(const std::string& path) {
  if (path.ends_with(".npy")) return Format::kNpy;
  if (path.ends_with(".npz")) return Format::kNpz;
  if (path.ends_with(".safetensors")) return Format::kSafetensors;
  return fail(diagnose(Code::E731, {}, {{"path", path}}));
}

std::string stem(std::string_view path) {
  size_t slash = path.rfind('/');
  if (slash != std::string_view::npos) path.remove_prefix(slash + 1);
  return std::string(path.substr(0, path.rfind('.')));
}

}  // namespace

Result<std::vector<Named>> read_arrays(const std::string& path, const Wanted& as) {
  auto format = format_of(path);
  if (!format) return fail(std::move(format.error()));
  if (*format == Format::kNpz) return read_npz(path, as);
  if (*format == Format::kSafetensors) {
    auto file = read_safetensors(path, as);
    if (!file) return fail(std::move(file.error()));
    return std::move(file->arrays);
  }
  std::string name = stem(path);
  auto array = read_npy(path, as ? as(name) : std::nullopt);
  if (!array) return fail(std::move(array.error()));
  return std::vector<Named>{{std::move(name), *std::move(array)}};
}

Result<Array> read_array(const std::string& path, std::string_view name, std::optional<ScalarType> as) {
  auto format = format_of(path);
  if (!format) return fail(std::move(format.error()));
  if (*format == Format::kNpz) return read_npz_array(path, name, as);
  if (*format == Format::kSafetensors) return read_safetensors_array(path, name, as);
  if (!name.empty() && name != stem(path)) return no_array(path, name, {stem(path)});
  return read_npy(path, as);
}

Result<void> write_arrays(const std::string& path, const std::vector<Named>& arrays) {
  auto format = format_of(path);
  if (!format) return fail(std::move(format.error()));
  if (*format == Format::kNpz) return write_npz(path, arrays);
  if (*format == Format::kSafetensors) return write_safetensors(path, arrays);
  if (arrays.size() != 1) {
    return unwritable(path, fmt::format("a .npy file holds one array, not {}", arrays.size()));
  }
  return write_npy(path, arrays[0].array);
}

}  // namespace quern::array
