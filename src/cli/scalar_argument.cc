#include "cli/scalar_argument.h"

#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>

namespace quern::cli {
namespace {

std::optional<int64_t> whole(std::string_view text) {
  bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  int base = text.starts_with("0x") ? 16 : 10;
  if (base == 16) text.remove_prefix(2);
  uint64_t magnitude = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), magnitude, base);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  constexpr uint64_t kTop = uint64_t{1} << 63;
  if (magnitude > kTop || (magnitude == kTop && !negative)) return std::nullopt;
  return static_cast<int64_t>(negative ? 0 - magnitude : magnitude);
}

std::optional<double> real(const std::string& text) {
  if (text.empty() || std::isspace(static_cast<unsigned char>(text[0]))) return std::nullopt;
  char* end = nullptr;
  double value = std::strtod(text.c_str(), &end);
  if (end != text.c_str() + text.size()) return std::nullopt;
  return value;
}

// strtod makes inf of 1e999 too.
bool says_infinity(const std::string& text) { return text.find_first_of("nN") != std::string::npos; }

std::string what_fits(ScalarType type) {
  switch (kind(type)) {
    case Kind::kReal: return fmt::format("a number of at most {:.6g}, inf or nan", largest(type));
    case Kind::kBool: return "true or false";
    default: return fmt::format("a whole number from {} to {}", least_int(type), greatest_int(type));
  }
}

}  // namespace

bool is_number(const std::string& text) { return whole(text) || real(text); }

Result<array::Array> scalar_from_text(const expr::Tensor& tensor, ScalarType type, const std::string& text) {
  auto refuse = [&] {
    return fail(diagnose(Code::E714, tensor.span,
                         {{"x", tensor.name.str()}, {"t", std::string(name(type))}, {"v", "'" + text + "'"}})
                    .with_remedy(what_fits(type)));
  };
  auto out = array::make(type, {}, tensor.name.str());
  if (!out) return out;
  if (kind(type) == Kind::kReal) {
    auto value = real(text);
    if (!value || (std::isinf(round_to(type, *value)) && !says_infinity(text))) return refuse();
    array::set_real(*out, 0, *value);
    return out;
  }
  std::optional<int64_t> value = whole(text);
  if (kind(type) == Kind::kBool && (text == "true" || text == "false")) value = text == "true";
  if (!value || *value < least_int(type) || *value > greatest_int(type)) return refuse();
  array::set_int(*out, 0, *value);
  return out;
}

Result<array::Array> scalar_from_default(const expr::Tensor& tensor, ScalarType type) {
  auto out = array::make(type, {}, tensor.name.str());
  if (!out) return out;
  expr::NodePtr node = tensor.value;
  double sign = 1;
  for (; node->op == expr::Op::kNeg; node = node->args[0]) sign = -sign;
  switch (node->op) {
    case expr::Op::kInteger:
      if (kind(type) == Kind::kReal) {
        array::set_real(*out, 0, sign * static_cast<double>(node->integer));
      } else {
        array::set_int(*out, 0, wrap_to(type, sign < 0 ? -node->integer : node->integer));
      }
      return out;
    case expr::Op::kReal: array::set_real(*out, 0, sign * node->real); return out;
    case expr::Op::kInf: array::set_real(*out, 0, sign * std::numeric_limits<double>::infinity()); return out;
    case expr::Op::kNan: array::set_real(*out, 0, std::numeric_limits<double>::quiet_NaN()); return out;
    case expr::Op::kTrue: array::set_int(*out, 0, 1); return out;
    case expr::Op::kFalse: array::set_int(*out, 0, 0); return out;
    default:
      return fail(
          diagnose(Code::B001, tensor.span, {{"what", "the default of " + tensor.name.str() + " is no literal"}}));
  }
}

std::string real_text(double value) { return std::isnan(value) ? "nan" : fmt::format("{:.6g}", value); }

std::string element_text(const array::Array& array, int64_t index) {
  switch (kind(array.type)) {
    case Kind::kReal: return real_text(array::real_at(array, index));
    case Kind::kBool: return array::int_at(array, index) ? "true" : "false";
    default: return fmt::format("{}", array::int_at(array, index));
  }
}

}  // namespace quern::cli
