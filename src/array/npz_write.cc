// Writing .npz: see npz.h. libzip writes a temporary file beside the target and renames it when the archive is closed.
#include <fmt/format.h>
#include <sys/stat.h>
#include <zip.h>

#include <unordered_set>

#include "array/file_error.h"
#include "array/npy_header.h"
#include "array/npz.h"
#include "base/text.h"

namespace quern::array {
namespace {

constexpr zip_uint16_t kFirstOfJanuary1980 = 1 << 5 | 1;  // the first day of DOS time, which zip dates its members in

// Adds header and data as one member; empty, or why not. `header` must live until the archive is closed.
std::string add(zip_t* archive, const Named& named, std::string& header) {
  // libzip's struct is not const, but nothing is written through it.
  auto* data = reinterpret_cast<zip_uint8_t*>(const_cast<std::byte*>(named.array.data()));
  zip_buffer_fragment_t fragments[] = {
      {reinterpret_cast<zip_uint8_t*>(header.data()), header.size()},
      {data, static_cast<zip_uint64_t>(named.array.byte_size())},
  };
  zip_uint64_t count = named.array.byte_size() > 0 ? 2 : 1;
  zip_source_t* source = zip_source_buffer_fragment(archive, fragments, count, 0);
  if (!source) return zip_strerror(archive);
  zip_int64_t index = zip_file_add(archive, (named.name + ".npy").c_str(), source, ZIP_FL_ENC_UTF_8);
  if (index < 0) {
    zip_source_free(source);
    return zip_strerror(archive);
  }
  auto at = static_cast<zip_uint64_t>(index);
  if (zip_set_file_compression(archive, at, ZIP_CM_STORE, 0) != 0 ||
      zip_file_set_dostime(archive, at, 0, kFirstOfJanuary1980, 0) != 0) {
    return zip_strerror(archive);
  }
  return "";
}

}  // namespace

Result<void> write_npz(const std::string& path, const std::vector<Named>& arrays) {
  std::unordered_set<std::string_view> names;
  for (const Named& n : arrays) {
    std::string shown = "array '" + printable(n.name) + "'";
    if (std::string fault = npz_name_fault(n.name); !fault.empty()) return unwritable(path, shown + ": " + fault);
    if (!names.insert(n.name).second) return unwritable(path, shown + " occurs twice");
  }
  // libzip would remove the file instead of writing an archive without members, which is its end record alone.
  if (arrays.empty()) return write_file(path, std::string("PK\5\6", 4) + std::string(18, '\0'));
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) return unwritable(path, "Is a directory");
  int code = 0;
  zip_t* archive = zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code);
  if (!archive) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    std::string why = zip_error_strerror(&error);
    zip_error_fini(&error);
    return unwritable(path, why);
  }
  std::vector<std::string> headers;
  headers.reserve(arrays.size());
  std::string why;
  for (const Named& n : arrays) {
    headers.push_back(npy_header(n.array, 1));
    why = add(archive, n, headers.back());
    if (!why.empty()) break;
  }
  if (why.empty() && zip_close(archive) == 0) return {};
  if (why.empty()) why = zip_strerror(archive);
  zip_discard(archive);
  return unwritable(path, why);
}

}  // namespace quern::array
