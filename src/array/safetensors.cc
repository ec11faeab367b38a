#include "array/safetensors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <tuple>
#include <unordered_set>

#include "array/file_error.h"
#include "array/safetensors_header.h"
#include "base/text.h"

namespace quern::array {
namespace {

constexpr uint64_t kHeaderLimit = 100'000'000;  // MAX_HEADER_SIZE of the reference implementation

struct Checked {
  SafetensorsHeader header;
  int64_t data = 0;  // where the data begins
};

std::string label(const std::string& path, const SafetensorsEntry& e) { return path + ":" + printable(e.name); }

std::string shape_of(const SafetensorsEntry& e) {
  return fmt::format("({}{})", fmt::join(e.shape, ", "), e.shape.size() == 1 ? "," : "");
}

// Rank, overflow, and that the data is as long as dtype and shape say; whatever the dtype.
Result<void> check_entry(const SafetensorsEntry& e, const std::string& path) {
  const Dtype* dtype = find_dtype(e.dtype);
  if (!dtype) return foreign_type(label(path, e), e.dtype);
  if (e.shape.size() > kMaxRank) {
    return hostile(label(path, e),
                   fmt::format("it has {} dimensions, at most {} are supported", e.shape.size(), kMaxRank));
  }
  bool empty = false, too_large = false;
  int64_t elements = 1, bytes = 0, bits_over = 0;
  for (uint64_t d : e.shape) {
    empty |= d == 0;
    too_large |=
        d > INT64_MAX || __builtin_mul_overflow(elements, static_cast<int64_t>(std::max<uint64_t>(d, 1)), &elements);
  }
  if (dtype->bits % 8 == 0) {
    too_large |= __builtin_mul_overflow(elements, int64_t{dtype->bits / 8}, &bytes);
  } else {
    bytes = elements / 8 * dtype->bits + elements % 8 * dtype->bits / 8;  // fewer than `elements`
    bits_over = elements % 8 * dtype->bits % 8;
  }
  if (too_large) return overflowing(label(path, e), shape_of(e));
  if (empty) bytes = bits_over = 0;
  if (bits_over != 0) return hostile(label(path, e), "its data ends inside a byte");
  if (e.begin > e.end || e.end > INT64_MAX) {
    return hostile(label(path, e), fmt::format("its data_offsets {} to {} are not a range", e.begin, e.end));
  }
  if (e.end - e.begin != static_cast<uint64_t>(bytes)) {
    return hostile(label(path, e),
                   fmt::format("its shape takes {} bytes, its data_offsets span {}", bytes, e.end - e.begin));
  }
  return {};
}

// Everything that can be wrong apart from the type that is wanted.
Result<Checked> check(const Bytes& bytes, const std::string& path) {
  if (bytes.size < 8) return truncated(path, 8, static_cast<uint64_t>(bytes.size));
  uint64_t length = 0;
  for (size_t i = 0; i < 8; ++i) length |= uint64_t{static_cast<unsigned char>(bytes.text()[i])} << (8 * i);
  if (length > kHeaderLimit) {
    return not_a_file(path, ".safetensors",
                      fmt::format("its header would have {} bytes, at most {} are allowed", length, kHeaderLimit));
  }
  Checked out;
  out.data = 8 + static_cast<int64_t>(length);
  if (bytes.size < out.data) return truncated(path, 8 + length, static_cast<uint64_t>(bytes.size));
  std::string why = parse_safetensors_header(bytes.text().substr(8, static_cast<size_t>(length)), out.header);
  if (!why.empty()) return not_a_file(path, ".safetensors", why);
  const auto& entries = out.header.entries;
  for (const SafetensorsEntry& e : entries) {
    if (auto r = check_entry(e, path); !r) return fail(std::move(r.error()));
  }
  std::vector<size_t> order(entries.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::tuple(entries[a].begin, entries[a].end, a) < std::tuple(entries[b].begin, entries[b].end, b);
  });
  uint64_t end = 0;
  for (size_t i : order) {
    if (entries[i].begin < end)
      return hostile(label(path, entries[i]),
                     fmt::format("its data begins at {}, where another array's goes on to {}", entries[i].begin, end));
    if (entries[i].begin > end)
      return hostile(path, fmt::format("bytes {} to {} of its data belong to no array", end, entries[i].begin));
    end = entries[i].end;
  }
  auto have = static_cast<uint64_t>(bytes.size - out.data);
  if (have < end) return truncated(path, static_cast<uint64_t>(out.data) + end, static_cast<uint64_t>(bytes.size));
  if (have > end) return hostile(path, fmt::format("{} bytes follow the last array", have - end));
  return out;
}

bool raw_fits(const Dtype& dtype, ScalarType type) {
  int bits = row(type).bits;
  bool foreign = row(type).npy.empty();
  if (dtype.name == "U8") return foreign && bits <= 8;
  if (dtype.name == "I8") return type == ScalarType::f4e2m1;  // DeepSeek's weights
  if (dtype.name == "U16") return foreign && bits == 16;
  return false;
}

Result<Array> view(const Bytes& bytes, const Checked& checked, const SafetensorsEntry& e, const std::string& path,
                   std::optional<ScalarType> as) {
  const Dtype& dtype = *find_dtype(e.dtype);
  if (!as && !dtype.type) return foreign_type(label(path, e), e.dtype);
  auto mismatch = [&](std::string have, std::string remedy) {
    Diagnostic d = diagnose(Code::E727, {},
                            {{"path", label(path, e)}, {"have", std::move(have)}, {"want", std::string(name(*as))}});
    return fail(std::move(d).with_remedy(std::move(remedy)));
  };
  bool raw = as && dtype.type != as;
  if (raw && !raw_fits(dtype, *as)) return mismatch(e.dtype, "convert the array, or choose another type");
  Array array{as.value_or(dtype.type.value_or(ScalarType::u8)),
              {e.shape.begin(), e.shape.end()},
              bytes.at(checked.data + static_cast<int64_t>(e.begin)),
              nullptr};
  if (row(array.type).bits < 8) {
    if (array.shape.empty())
      return mismatch(e.dtype + " without dimensions", "convert the array, or choose another type");
    if (raw) {
      if (__builtin_mul_overflow(array.shape.back(), int64_t{2}, &array.shape.back()) ||
          !checked_byte_size(array.type, array.shape)) {
        return overflowing(label(path, e), shape_of(e));
      }
    } else if (array.shape.back() % 2 != 0) {
      return fail(diagnose(Code::E512, {}, {{"x", label(path, e)}, {"v", std::to_string(array.shape.back())}}));
    }
  }
  return array;
}

}  // namespace

Result<Safetensors> parse_safetensors(const Bytes& bytes, const std::string& path, const Wanted& as) {
  auto checked = check(bytes, path);
  if (!checked) return fail(std::move(checked.error()));
  Safetensors out;
  for (const SafetensorsEntry& e : checked->header.entries) {
    auto array = view(bytes, *checked, e, path, as ? as(e.name) : std::nullopt);
    if (!array) return fail(std::move(array.error()));
    out.arrays.push_back({e.name, *std::move(array)});
  }
  out.metadata = std::move(checked->header.metadata);
  return out;
}

Result<Array> parse_safetensors_array(const Bytes& bytes, const std::string& path, std::string_view name,
                                      std::optional<ScalarType> as) {
  auto checked = check(bytes, path);
  if (!checked) return fail(std::move(checked.error()));
  std::vector<std::string> have;
  for (const SafetensorsEntry& e : checked->header.entries) {
    if (e.name == name) return view(bytes, *checked, e, path, as);
    have.push_back(printable(e.name));
  }
  return no_array(path, name, have);
}

Result<Safetensors> read_safetensors(const std::string& path, const Wanted& as) {
  auto bytes = map_file(path);
  if (!bytes) return fail(std::move(bytes.error()));
  return parse_safetensors(*bytes, path, as);
}

Result<Array> read_safetensors_array(const std::string& path, std::string_view name, std::optional<ScalarType> as) {
  auto bytes = map_file(path);
  if (!bytes) return fail(std::move(bytes.error()));
  return parse_safetensors_array(*bytes, path, name, as);
}

Result<void> write_safetensors(const std::string& path, const std::vector<Named>& arrays,
                               const std::map<std::string, std::string>& metadata) {
  std::vector<const Named*> order;
  std::unordered_set<std::string_view> names;
  for (const Named& n : arrays) {
    std::string shown = "array '" + printable(n.name) + "'";
    if (invalid_utf8(n.name)) return unwritable(path, shown + ": its name is not UTF-8");
    if (n.name == "__metadata__") return unwritable(path, shown + ": the name is reserved");
    if (!names.insert(n.name).second) return unwritable(path, shown + " occurs twice");
    order.push_back(&n);
  }
  for (const auto& [key, value] : metadata) {
    if (invalid_utf8(key) || invalid_utf8(value))
      return unwritable(path, "metadata '" + printable(key) + "' is not UTF-8");
  }
  std::sort(order.begin(), order.end(), [](const Named* a, const Named* b) {
    const Dtype *x = &dtype_of(a->array.type), *y = &dtype_of(b->array.type);
    return x != y ? x > y : a->name < b->name;
  });
  SafetensorsHeader header{{}, metadata};
  uint64_t end = 0;
  for (const Named* n : order) {
    const Dtype& dtype = dtype_of(n->array.type);
    SafetensorsEntry entry{n->name, std::string(dtype.name), {n->array.shape.begin(), n->array.shape.end()}, end, end};
    if (dtype.type != n->array.type) entry.shape.back() /= 2;
    end = entry.end += static_cast<uint64_t>(n->array.byte_size());
    header.entries.push_back(std::move(entry));
  }
  std::string text(8, '\0');
  std::string json = safetensors_json(header);
  for (size_t i = 0; i < 8; ++i) text[i] = static_cast<char>(json.size() >> (8 * i) & 255);
  text += json;
  std::vector<std::string_view> parts = {text};
  for (const Named* n : order) {
    parts.emplace_back(reinterpret_cast<const char*>(n->array.data()), static_cast<size_t>(n->array.byte_size()));
  }
  return write_file(path, parts);
}

}  // namespace quern::array
