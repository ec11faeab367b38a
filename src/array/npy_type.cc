// What the element types of a .npy file are in the notation, and back: the second half of npy_header.h.
//
// NumPy has no bf16, 8-bit or 4-bit floats, and no 4-bit integers. Files hold them as raw bits in u1 or u2 (two 4-bit
// elements a byte, so the last dimension is half the logical one), or, saved with the package ml_dtypes, as V1, V2 and
// f1. ml_dtypes keeps its 4-bit types one a byte, so a V1 is never read as a 4-bit type here: that would double the
// dimension of data that isn't packed.
#include <fmt/format.h>

#include <algorithm>

#include "array/file_error.h"
#include "array/npy_header.h"
#include "base/text.h"

namespace quern::array {
namespace {

// The type that a descriptor without byte order names by itself.
std::optional<ScalarType> natural_type(std::string_view letters) {
  if (letters == "f1") return ScalarType::f8e5m2;  // ml_dtypes registers this one as NumPy's float of one byte
  for (const TypeRow& r : type_rows()) {
    if (!r.npy.empty() && r.npy == letters) return r.type;
  }
  return std::nullopt;
}

bool raw_fits(std::string_view letters, ScalarType type) {
  int bits = row(type).bits;
  bool foreign = row(type).npy.empty();
  if (letters == "u1") return foreign && bits <= 8;
  if (letters == "u2") return foreign && bits == 16;
  if (letters == "V1") return bits == 8;
  if (letters == "V2") return bits == 16;
  return false;
}

// Column-major and row-major agree where at most one dimension has more than one element, or there are none.
bool order_matters(std::span<const int64_t> shape) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return false;
  return std::count_if(shape.begin(), shape.end(), [](int64_t d) { return d != 1; }) > 1;
}

}  // namespace

Result<NpyLayout> npy_layout(const NpyHeader& header, std::optional<ScalarType> as, const std::string& name) {
  std::string shown = printable(header.descr);
  auto mismatch = [&](std::string have) {
    Diagnostic d =
        diagnose(Code::E727, {}, {{"path", name}, {"have", std::move(have)}, {"want", std::string(quern::name(*as))}});
    if (!row(*as).npy.empty()) d.remedy = "convert the array, or choose another type";
    return fail(std::move(d));
  };
  std::string_view letters = header.descr;
  if (header.structured || letters.size() < 2) return foreign_type(name, header.descr);
  char order = letters[0];
  if (order == '<' || order == '>' || order == '|') letters.remove_prefix(1);
  auto natural = natural_type(letters);
  bool raw = letters == "u2" || letters == "V1" || letters == "V2";
  if (order == '>' && ((natural && letters[1] != '1') || letters == "u2" || letters == "V2")) {
    return fail(diagnose(Code::E724, {}, {{"path", name}, {"descr", shown}}));
  }
  bool known = order == '<' || order == '>' || order == '|';
  if (!known || (!natural && !raw)) return foreign_type(name, header.descr);
  if (!as && !natural) {
    auto refused = foreign_type(name, header.descr);
    refused.error()[0].remedy = "convert it with a.astype(...), or say which type its bits stand for";
    return refused;
  }
  bool taken_raw = as && natural != as;
  if (taken_raw && !raw_fits(letters, *as)) return mismatch(shown);

  NpyLayout layout{as ? *as : *natural, header.shape, 0};
  if (header.fortran && header.shape_fits && order_matters(header.shape)) {
    return fail(diagnose(Code::E723, {}, {{"path", name}}));
  }
  if (!header.shape_fits) return overflowing(name, header.shape_literal);
  if (layout.shape.size() > kMaxRank) {
    return hostile(name, fmt::format("it has {} dimensions, at most {} are supported", layout.shape.size(), kMaxRank));
  }
  if (row(layout.type).bits < 8) {
    if (layout.shape.empty()) return mismatch(shown + " without dimensions");
    if (__builtin_mul_overflow(layout.shape.back(), int64_t{2}, &layout.shape.back()))
      return overflowing(name, header.shape_literal);
  }
  auto bytes = checked_byte_size(layout.type, layout.shape);
  if (!bytes) return overflowing(name, header.shape_literal);
  layout.byte_size = *bytes;
  return layout;
}

std::string npy_header(const Array& array, int version) {
  const TypeRow& r = row(array.type);
  std::vector<int64_t> shape = array.shape;
  if (r.bits < 8) shape.back() /= 2;
  std::string descr = r.bits <= 8 ? "|" : "<";
  descr += !r.npy.empty() ? r.npy : r.bits <= 8 ? "u1" : "u2";
  std::string dict = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", descr, shape_text(shape));
  // Room for the first dimension to grow to 21 digits, then blanks so that the data begins at a multiple of 64.
  if (!shape.empty()) dict.append(21 - std::to_string(shape[0]).size(), ' ');
  size_t prefix = version == 1 ? 10 : 12;
  dict.append(64 - (prefix + dict.size() + 1) % 64, ' ');
  dict += '\n';
  std::string out("\x93NUMPY", 6);
  out += static_cast<char>(version);
  out += '\0';
  for (size_t i = 0; i < prefix - 8; ++i) out += static_cast<char>(dict.size() >> (8 * i) & 255);
  return out + dict;
}

}  // namespace quern::array
