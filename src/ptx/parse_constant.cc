// Constant expressions (PTX ISA 9.0, section 4.5): 64-bit integers, signed unless they do not fit or end in U, and
// floats, with the operators of C.
#include <bit>
#include <charconv>
#include <cmath>

#include "base/text.h"
#include "ptx/parser.h"

namespace quern::ptx {
namespace {

constexpr std::string_view kTooDeep = "parentheses in each other";

// How tightly a binary operator binds; 0: it is none.
int precedence(const Token& t) {
  if (t.kind != TokenKind::kSign) return 0;
  bool two = t.text.size() == 2;
  switch (t.sign) {
    case '|': return two ? 1 : 3;
    case '&': return two ? 2 : 5;
    case '^': return 4;
    case '=': return two ? 6 : 0;
    case '!': return two ? 6 : 0;
    case '<':
    case '>': return two && t.text[1] == t.sign ? 8 : 7;
    case '+':
    case '-': return 9;
    case '*':
    case '/':
    case '%': return 10;
    default: return 0;
  }
}

template <class T>
std::optional<bool> compared(std::string_view op, T a, T b) {
  if (op == "==") return a == b;
  if (op == "!=") return a != b;
  if (op == "<=") return a <= b;
  if (op == ">=") return a >= b;
  if (op == "<") return a < b;
  if (op == ">") return a > b;
  return std::nullopt;
}

Constant truth(bool value) { return {.bits = value ? 1u : 0u}; }

std::optional<Constant> of_reals(std::string_view op, double a, double b) {
  if (auto truth_value = compared(op, a, b)) return truth(*truth_value);
  double out = 0;
  if (op == "+") {
    out = a + b;
  } else if (op == "-") {
    out = a - b;
  } else if (op == "*") {
    out = a * b;
  } else if (op == "/") {
    out = a / b;
  } else {
    return std::nullopt;
  }
  return Constant{.real = true, .bits = std::bit_cast<uint64_t>(out)};
}

std::optional<Constant> of_integers(std::string_view op, const Constant& x, const Constant& y) {
  uint64_t a = x.bits, b = y.bits;
  auto signed_a = static_cast<int64_t>(a), signed_b = static_cast<int64_t>(b);
  bool is_unsigned = x.is_unsigned || y.is_unsigned;
  auto is = [&](uint64_t bits) { return Constant{.is_unsigned = is_unsigned, .bits = bits}; };
  if (op == "||") return truth(a || b);
  if (op == "&&") return truth(a && b);
  if (auto t = is_unsigned ? compared(op, a, b) : compared(op, signed_a, signed_b)) return truth(*t);
  if (op == "|") return is(a | b);
  if (op == "^") return is(a ^ b);
  if (op == "&") return is(a & b);
  if (op == "+") return is(a + b);
  if (op == "-") return is(a - b);
  if (op == "*") return is(a * b);
  if (op == "<<" || op == ">>") {
    // The type is that of the left operand alone.
    uint64_t out = op == "<<"      ? (b > 63 ? 0 : a << b)
                   : x.is_unsigned ? (b > 63 ? 0 : a >> b)
                                   : static_cast<uint64_t>(signed_a >> (b > 63 ? 63 : b));
    return Constant{.is_unsigned = x.is_unsigned, .bits = out};
  }
  if (b == 0) return std::nullopt;
  if (is_unsigned) return is(op == "/" ? a / b : a % b);
  if (signed_b == -1) return is(op == "/" ? 0 - a : 0);
  return is(static_cast<uint64_t>(op == "/" ? signed_a / signed_b : signed_a % signed_b));
}

}  // namespace

double Constant::as_double() const {
  if (!real) return is_unsigned ? static_cast<double>(bits) : static_cast<double>(static_cast<int64_t>(bits));
  return single ? std::bit_cast<float>(static_cast<uint32_t>(bits)) : std::bit_cast<double>(bits);
}

bool Parser::starts_constant() const {
  if (here_.kind == TokenKind::kNumber) return true;
  if (here_.kind == TokenKind::kName) return here_.text == "WARP_SZ";
  bool unary_sign = here_.is('-') || here_.is('+') || here_.is('~') || here_.is('(');
  return unary_sign || (here_.is('!') && after_.kind == TokenKind::kNumber);
}

bool Parser::constant(Constant& out) { return conditional(out, 0); }

bool Parser::conditional(Constant& out, int depth) {
  if (!binary(out, 1, depth)) return false;
  if (!accept('?')) return true;
  Constant yes, no;
  if (depth >= kDeepest) return too_much(span(here_), kTooDeep, std::to_string(depth + 1), kDeepest);
  if (!conditional(yes, depth + 1) || !expect(':') || !conditional(no, depth + 1)) return false;
  out = (out.real ? out.as_double() != 0 : out.bits != 0) ? yes : no;
  return true;
}

// Operators that bind at least as `least`; those of one level from left to right.
bool Parser::binary(Constant& out, int least, int depth) {
  if (!unary(out, depth)) return false;
  for (;;) {
    int level = precedence(here_);
    if (level == 0 || level < least) return true;
    Token at = take();
    Constant right;
    if (!binary(right, level + 1, depth)) return false;
    auto result = out.real || right.real ? of_reals(at.text, out.as_double(), right.as_double())
                                         : of_integers(at.text, out, right);
    if (!result) {
      return fail(diagnose(Code::E903, span(at),
                           {{"n", "'" + std::string(at.text) + "'"},
                            {"why", out.real || right.real ? "is not for floats" : "divides by zero"}}));
    }
    out = *result;
  }
}

bool Parser::unary(Constant& out, int depth) {
  if (!(here_.is('-') || here_.is('+') || here_.is('~') || here_.is('!'))) return primary(out, depth);
  if (depth >= kDeepest) return too_much(span(here_), "signs before a constant", std::to_string(depth + 1), kDeepest);
  Token sign = take();
  if (!unary(out, depth + 1)) return false;
  if (sign.is('!')) {
    out = truth(out.real ? out.as_double() == 0 : out.bits == 0);
  } else if (out.real) {
    if (sign.is('~')) return fail(diagnose(Code::E903, span(sign), {{"n", "'~'"}, {"why", "is not for floats"}}));
    if (sign.is('-')) out.bits ^= out.single ? uint64_t{1} << 31 : uint64_t{1} << 63;
  } else {
    if (sign.is('-')) out.bits = 0 - out.bits;
    if (sign.is('~')) out.bits = ~out.bits;
  }
  return true;
}

bool Parser::primary(Constant& out, int depth) {
  if (here_.kind == TokenKind::kNumber) {
    Token at = take();
    return number(at, out);
  }
  if (here_.kind == TokenKind::kName && here_.text == "WARP_SZ") {
    take();
    out = {.bits = 32};
    return true;
  }
  if (!here_.is('(')) return expected("a constant");
  if (depth >= kDeepest) return too_much(span(here_), kTooDeep, std::to_string(depth + 1), kDeepest);
  take();
  if (here_.word("s64") || here_.word("u64")) {  // a cast
    bool is_unsigned = take().text == "u64";
    if (!expect(')') || !unary(out, depth + 1)) return false;
    if (out.real) return fail(diagnose(Code::E903, since(last_end_), {{"n", "a cast"}, {"why", "is not for floats"}}));
    out.is_unsigned = is_unsigned;
    return true;
  }
  return conditional(out, depth + 1) && expect(')');
}

bool Parser::number(const Token& t, Constant& out) {
  std::string_view text = t.text;
  auto bad = [&](std::string_view why) {
    return fail(diagnose(Code::E903, span(t), {{"n", printable(t.text, 40)}, {"why", std::string(why)}}));
  };
  auto digits = [&](std::string_view all, int base) {
    if (all.empty()) return bad("is no number");
    auto [end, error] = std::from_chars(all.data(), all.data() + all.size(), out.bits, base);
    if (error == std::errc::result_out_of_range) return bad("does not fit 64 bits");
    return (error == std::errc() && end == all.data() + all.size()) || bad("is no number");
  };
  out = {};
  char second = text.size() > 1 && text[0] == '0' ? text[1] : '\0';
  if (second == 'f' || second == 'F' || second == 'd' || second == 'D') {
    out.real = true;
    out.single = second == 'f' || second == 'F';
    size_t want = out.single ? 8 : 16;
    if (text.size() != want + 2) return bad("needs " + std::to_string(want) + " hexadecimal digits");
    return digits(text.substr(2), 16);
  }
  if (text.find('.') != text.npos || (second != 'x' && second != 'X' && text.find_first_of("eE") != text.npos)) {
    double value = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc::result_out_of_range) return bad("does not fit a float of 64 bits");
    if (error != std::errc() || end != text.data() + text.size()) return bad("is no number");
    out = {.real = true, .bits = std::bit_cast<uint64_t>(value)};
    return true;
  }
  if (text.ends_with('U')) {
    out.is_unsigned = true;
    text.remove_suffix(1);
  }
  bool good = second == 'x' || second == 'X'   ? digits(text.substr(2), 16)
              : second == 'b' || second == 'B' ? digits(text.substr(2), 2)
              : second != '\0'                 ? digits(text.substr(1), 8)
                                               : digits(text, 10);
  out.is_unsigned |= out.bits > static_cast<uint64_t>(INT64_MAX);
  return good;
}

bool Parser::int_constant(int64_t& out) {
  uint32_t begin = here_.begin;
  Constant c;
  if (!constant(c)) return false;
  if (c.real) {
    return fail(diagnose(Code::E903, since(begin), {{"n", "a float"}, {"why", "can't stand where an integer is due"}}));
  }
  out = static_cast<int64_t>(c.bits);
  return true;
}

}  // namespace quern::ptx
