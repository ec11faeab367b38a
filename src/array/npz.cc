#include "array/npz.h"

#include <fmt/format.h>
#include <zip.h>

#include <algorithm>
#include <unordered_set>

#include "array/file_error.h"
#include "array/npy_header.h"
#include "base/text.h"

namespace quern::array {
namespace {

struct Discard {
  void operator()(zip_t* archive) const { zip_discard(archive); }
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};
using Archive = std::unique_ptr<zip_t, Discard>;
using Stream = std::unique_ptr<zip_file_t, Discard>;

struct Member {
  zip_uint64_t index;
  std::string name;  // without .npy
  uint64_t size;     // unpacked, as declared
};

Result<Archive> open_archive(const Bytes& bytes, const std::string& path) {
  constexpr int64_t kEndRecord = 22;  // the least an archive has: the record that ends its directory
  std::string_view begin = bytes.text().substr(0, 2);
  if (begin != std::string_view("PK").substr(0, begin.size())) {
    return not_a_file(path, ".npz", "it does not begin with PK");
  }
  if (bytes.size < kEndRecord) return truncated(path, kEndRecord, static_cast<uint64_t>(bytes.size));
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* source = zip_source_buffer_create(bytes.first.get(), static_cast<zip_uint64_t>(bytes.size), 0, &error);
  zip_t* archive = source ? zip_open_from_source(source, ZIP_RDONLY, &error) : nullptr;
  int code = zip_error_code_zip(&error);
  zip_error_fini(&error);
  if (archive) return Archive(archive);
  if (source) zip_source_free(source);
  if (code == ZIP_ER_NOZIP) return hostile(path, "its directory is missing, as if the end was cut off");
  if (code == ZIP_ER_MEMORY) return hostile(path, "its directory needs more memory than there is");
  return hostile(path, "its directory is damaged");
}

// Every member's name, method and size, before anything is unpacked.
Result<std::vector<Member>> list_members(zip_t* archive, const std::string& path) {
  std::vector<Member> members;
  std::unordered_set<std::string> names;
  auto count = static_cast<zip_uint64_t>(std::max<zip_int64_t>(0, zip_get_num_entries(archive, 0)));
  for (zip_uint64_t i = 0; i < count; ++i) {
    const char* raw = zip_get_name(archive, i, ZIP_FL_ENC_RAW);
    zip_stat_t stat;
    if (!raw || zip_stat_index(archive, i, 0, &stat) != 0)
      return hostile(path, fmt::format("entry {} of its directory is damaged", i));
    std::string name = raw;
    std::string shown = "member '" + printable(name) + "'";
    if (std::string fault = npz_name_fault(name); !fault.empty()) return hostile(path, shown + ": " + fault);
    if (!name.ends_with(".npy")) return hostile(path, shown + " is not an .npy array");
    if (!names.insert(name).second) return hostile(path, shown + " occurs twice");
    constexpr zip_uint64_t kNeeded = ZIP_STAT_SIZE | ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
    if ((stat.valid & kNeeded) != kNeeded) return hostile(path, shown + " does not say its size and method");
    if (stat.encryption_method != ZIP_EM_NONE) return hostile(path, shown + " is encrypted");
    if (stat.comp_method != ZIP_CM_STORE && stat.comp_method != ZIP_CM_DEFLATE) {
      return hostile(path, fmt::format("{} is compressed with method {}, known are 0 (stored) and 8 (deflate)", shown,
                                       stat.comp_method));
    }
    members.push_back({i, name.substr(0, name.size() - 4), stat.size});
  }
  return members;
}

// The next `size` bytes of the member, or fewer at its end.
Result<int64_t> read_some(zip_file_t* stream, void* to, int64_t size, const std::string& label) {
  int64_t done = 0;
  while (done < size) {
    zip_int64_t n = zip_fread(stream, static_cast<char*>(to) + done, static_cast<zip_uint64_t>(size - done));
    if (n == 0) break;
    if (n < 0) {
      int code = zip_error_code_zip(zip_file_get_error(stream));
      return hostile(label, code == ZIP_ER_CRC ? "its checksum is wrong" : "its compressed data is damaged");
    }
    done += n;
  }
  return done;
}

Result<Array> read_member(zip_t* archive, const Member& member, const std::string& path, std::optional<ScalarType> as) {
  std::string label = path + ":" + printable(member.name);
  Stream stream(zip_fopen_index(archive, member.index, 0));
  if (!stream) return hostile(label, "its data is not where the directory says");
  if (member.size > INT64_MAX) return hostile(label, "its size needs more than 63 bits");
  auto size = static_cast<int64_t>(member.size);
  // First as many bytes as tell the header's length, then the header, then the data right into the array.
  std::string first(static_cast<size_t>(std::min(size, kNpyPrefix)), '\0');
  auto fill = [&](void* to, int64_t want, int64_t before) -> Result<void> {
    auto n = read_some(stream.get(), to, want, label);
    if (!n) return fail(std::move(n.error()));
    if (*n < want) return truncated(label, member.size, static_cast<uint64_t>(before + *n));
    return {};
  };
  auto begun = static_cast<int64_t>(first.size());
  if (auto r = fill(first.data(), begun, 0); !r) return fail(std::move(r.error()));
  auto offset = npy_data_offset(first, size, label);
  if (!offset) return fail(std::move(offset.error()));
  if (begun < *offset) {
    first.resize(static_cast<size_t>(*offset));
    if (auto r = fill(first.data() + begun, *offset - begun, begun); !r) return fail(std::move(r.error()));
    begun = *offset;
  }
  auto header = parse_npy_header(std::string_view(first).substr(0, static_cast<size_t>(*offset)), label);
  if (!header) return fail(std::move(header.error()));
  auto layout = npy_layout(*header, as, label);
  if (!layout) return fail(std::move(layout.error()));
  int64_t have = size - *offset;
  if (have < layout->byte_size) {
    return truncated(label, static_cast<uint64_t>(*offset) + static_cast<uint64_t>(layout->byte_size), member.size);
  }
  if (have > layout->byte_size)
    return hostile(label, fmt::format("{} bytes follow the array", have - layout->byte_size));
  auto array = make(layout->type, std::move(layout->shape), label);
  if (!array) return array;
  // A version 1.0 header may be shorter than the prefix that was read.
  int64_t early = begun - *offset;
  std::copy_n(reinterpret_cast<const std::byte*>(first.data()) + *offset, early, array->owned);
  if (auto r = fill(array->owned + early, layout->byte_size - early, begun); !r) return fail(std::move(r.error()));
  // The checksum is compared when the end is read.
  char more;
  auto n = read_some(stream.get(), &more, 1, label);
  if (!n) return fail(std::move(n.error()));
  if (*n > 0) return hostile(label, "it is longer than the directory says");
  return array;
}

Result<void> check_limit(uint64_t total, int64_t limit, const std::string& path) {
  if (total <= static_cast<uint64_t>(limit)) return {};
  return fail(diagnose(Code::E716, {},
                       {{"what", fmt::format("'{}'", path)},
                        {"v", human_bytes(total)},
                        {"limit", human_bytes(static_cast<uint64_t>(limit))}}));
}

}  // namespace

std::string npz_name_fault(std::string_view name) {
  if (invalid_utf8(name)) return "its name is not UTF-8";
  if (name.find('\0') != std::string_view::npos) return "its name holds a zero byte";
  auto slash = [&](size_t i) { return i < name.size() && (name[i] == '/' || name[i] == '\\'); };
  if (slash(0) || (slash(2) && name[1] == ':')) return "its name is absolute";
  for (size_t begin = 0; begin <= name.size();) {
    size_t end = std::min(name.find_first_of("/\\", begin), name.size());
    if (name.substr(begin, end - begin) == "..") return "its name leads upward";
    begin = end + 1;
  }
  return "";
}

Result<std::vector<Named>> parse_npz(const Bytes& bytes, const std::string& path, const Wanted& as, int64_t limit) {
  auto archive = open_archive(bytes, path);
  if (!archive) return fail(std::move(archive.error()));
  auto members = list_members(archive->get(), path);
  if (!members) return fail(std::move(members.error()));
  uint64_t total = 0;
  for (const Member& m : *members) {
    if (__builtin_add_overflow(total, m.size, &total)) total = UINT64_MAX;
    if (total == UINT64_MAX) break;
  }
  if (auto r = check_limit(total, limit, path); !r) return fail(std::move(r.error()));
  std::vector<Named> arrays;
  for (const Member& m : *members) {
    auto array = read_member(archive->get(), m, path, as ? as(m.name) : std::nullopt);
    if (!array) return fail(std::move(array.error()));
    arrays.push_back({m.name, *std::move(array)});
  }
  return arrays;
}

Result<Array> parse_npz_array(const Bytes& bytes, const std::string& path, std::string_view name,
                              std::optional<ScalarType> as, int64_t limit) {
  auto archive = open_archive(bytes, path);
  if (!archive) return fail(std::move(archive.error()));
  auto members = list_members(archive->get(), path);
  if (!members) return fail(std::move(members.error()));
  std::vector<std::string> have;
  for (const Member& m : *members) {
    if (m.name != name) {
      have.push_back(printable(m.name));
      continue;
    }
    if (auto r = check_limit(m.size, limit, path); !r) return fail(std::move(r.error()));
    return read_member(archive->get(), m, path, as);
  }
  return no_array(path, name, have);
}

Result<std::vector<Named>> read_npz(const std::string& path, const Wanted& as, int64_t limit) {
  auto bytes = map_file(path);
  if (!bytes) return fail(std::move(bytes.error()));
  return parse_npz(*bytes, path, as, limit);
}

Result<Array> read_npz_array(const std::string& path, std::string_view name, std::optional<ScalarType> as,
                             int64_t limit) {
  auto bytes = map_file(path);
  if (!bytes) return fail(std::move(bytes.error()));
  return parse_npz_array(*bytes, path, name, as, limit);
}

}  // namespace quern::array
