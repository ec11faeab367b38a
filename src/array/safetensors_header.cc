#include "array/safetensors_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "base/text.h"

namespace quern::array {
namespace {

constexpr Dtype kDtypes[] = {
    {"BOOL", 8, ScalarType::boolean},
    {"F4", 4, ScalarType::f4e2m1},
    {"F6_E2M3", 6, {}},
    {"F6_E3M2", 6, {}},
    {"U8", 8, ScalarType::u8},
    {"I8", 8, ScalarType::i8},
    {"F8_E5M2", 8, ScalarType::f8e5m2},
    {"F8_E4M3", 8, ScalarType::f8e4m3},
    {"F8_E8M0", 8, ScalarType::f8e8m0},
    {"F8_E4M3FNUZ", 8, {}},
    {"F8_E5M2FNUZ", 8, {}},
    {"I16", 16, ScalarType::i16},
    {"U16", 16, {}},
    {"F16", 16, ScalarType::f16},
    {"BF16", 16, ScalarType::bf16},
    {"I32", 32, ScalarType::i32},
    {"U32", 32, ScalarType::u32},
    {"F32", 32, ScalarType::f32},
    {"C64", 64, {}},
    {"F64", 64, ScalarType::f64},
    {"I64", 64, ScalarType::i64},
    {"U64", 64, {}},
};

// Where the parser stands: the object or array it is in, which is as deep as the format goes.
class Handler : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Handler(SafetensorsHeader& out) : out_(out) {}

  std::string why;

  bool null() override { return unexpected("null"); }
  bool boolean(bool value) override { return unexpected(value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override { return unexpected(std::to_string(value)); }
  bool number_float(number_float_t, const string_t& text) override { return unexpected(printable(text, 40)); }
  bool binary(binary_t&) override { return unexpected("bytes"); }

  bool number_unsigned(number_unsigned_t value) override {
    if (place_ == kShape) {
      entry().shape.push_back(value);
      return true;
    }
    if (place_ == kOffsets && offsets_ < 2) {
      (offsets_++ == 0 ? entry().begin : entry().end) = value;
      return true;
    }
    return unexpected(std::to_string(value));
  }

  bool string(string_t& value) override {
    if (place_ == kMetadata) {
      out_.metadata[key_] = std::move(value);
      return true;
    }
    if (place_ == kEntry && key_ == "dtype") {
      entry().dtype = std::move(value);
      return true;
    }
    return unexpected(fmt::format("'{}'", printable(value, 40)));
  }

  bool start_object(size_t) override {
    switch (place_) {
      case kNowhere: place_ = kRoot; return true;
      case kRoot:
        place_ = key_ == "__metadata__" ? kMetadata : kEntry;
        keys_.clear();
        if (place_ == kEntry) out_.entries.push_back({key_, "", {}, 0, 0});
        return true;
      default: return unexpected("an object");
    }
  }

  bool key(string_t& value) override {
    auto& seen = place_ == kRoot ? names_ : keys_;
    if (!seen.insert(value).second) {
      return error(fmt::format("'{}' occurs twice{}", printable(value), place_ == kRoot ? "" : " in " + where()));
    }
    if (place_ == kEntry && value != "dtype" && value != "shape" && value != "data_offsets") {
      return error(fmt::format("{} has an unknown key '{}'", where(), printable(value)));
    }
    key_ = std::move(value);
    return true;
  }

  bool end_object() override {
    if (place_ == kEntry) {
      for (const char* field : {"dtype", "shape", "data_offsets"}) {
        if (!keys_.contains(field)) return error(fmt::format("{} has no '{}'", where(), field));
      }
    }
    place_ = place_ == kRoot ? kNowhere : kRoot;
    return true;
  }

  bool start_array(size_t) override {
    if (place_ != kEntry || key_ == "dtype") return unexpected("an array");
    place_ = key_ == "shape" ? kShape : kOffsets;
    offsets_ = 0;
    return true;
  }

  bool end_array() override {
    if (place_ == kOffsets && offsets_ != 2) return error(where() + ": data_offsets are not two numbers");
    place_ = kEntry;
    return true;
  }

  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception&) override {
    return error(fmt::format("its header is not JSON (at byte {} of it)", position));
  }

 private:
  enum Place { kNowhere, kRoot, kMetadata, kEntry, kShape, kOffsets };

  SafetensorsEntry& entry() { return out_.entries.back(); }

  bool error(std::string text) {
    if (why.empty()) why = std::move(text);
    return false;
  }

  std::string where() const {
    if (place_ == kMetadata) return "'__metadata__'";
    if (place_ == kNowhere || place_ == kRoot) return "the header";
    return fmt::format("'{}'", printable(out_.entries.back().name));
  }

  bool unexpected(std::string_view found) {
    switch (place_) {
      case kNowhere: return error(fmt::format("its header is {}, not an object", found));
      case kRoot: return error(fmt::format("'{}' is {}, not an object", printable(key_), found));
      case kMetadata: return error(fmt::format("{}: '{}' is {}, not a string", where(), printable(key_), found));
      case kEntry:
        return error(
            fmt::format("{}: {} is {}, not {}", where(), key_, found, key_ == "dtype" ? "a string" : "an array"));
      case kShape: return error(fmt::format("{}: shape holds {}, not a dimension of at most 63 bits", where(), found));
      case kOffsets: break;
    }
    return error(where() + ": data_offsets are not two numbers");
  }

  SafetensorsHeader& out_;
  Place place_ = kNowhere;
  std::string key_;
  int offsets_ = 0;
  std::unordered_set<std::string> names_, keys_;
};

}  // namespace

std::span<const Dtype> dtypes() { return kDtypes; }

const Dtype* find_dtype(std::string_view name) {
  auto found = std::find_if(std::begin(kDtypes), std::end(kDtypes), [&](const Dtype& d) { return d.name == name; });
  return found == std::end(kDtypes) ? nullptr : found;
}

const Dtype& dtype_of(ScalarType type) {
  if (type == ScalarType::i4 || type == ScalarType::u4) type = ScalarType::u8;
  return *std::find_if(std::begin(kDtypes), std::end(kDtypes), [&](const Dtype& d) { return d.type == type; });
}

std::string parse_safetensors_header(std::string_view json, SafetensorsHeader& out) {
  if (!json.starts_with('{')) return "its header does not begin with {";
  // nlohmann's lexer takes a zero byte for the end of the text.
  if (json.find('\0') != std::string_view::npos) return "its header holds a zero byte";
  Handler handler(out);
  nlohmann::json::sax_parse(json.begin(), json.end(), &handler);
  return handler.why;
}

std::string safetensors_json(const SafetensorsHeader& header) {
  auto quote = [](const std::string& text) { return nlohmann::json(text).dump(); };
  std::string out = "{";
  if (!header.metadata.empty()) {
    out += "\"__metadata__\":{";
    for (const auto& [key, value] : header.metadata) out += fmt::format("{}:{},", quote(key), quote(value));
    out.back() = '}';
    out += ',';
  }
  for (const SafetensorsEntry& e : header.entries) {
    std::string shape;
    for (uint64_t d : e.shape) shape += (shape.empty() ? "" : ",") + std::to_string(d);
    out += fmt::format("{}:{{\"dtype\":\"{}\",\"shape\":[{}],\"data_offsets\":[{},{}]}},", quote(e.name), e.dtype,
                       shape, e.begin, e.end);
  }
  if (out.back() == ',') out.pop_back();
  out += '}';
  out.append((8 - out.size() % 8) % 8, ' ');
  return out;
}

}  // namespace quern::array
