#include "lang/token.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "base/scalar_type.h"
#include "expr/node.h"

namespace quern::lang {
namespace {

bool is_lower(char c) { return (c >= 'a' && c <= 'z') || c == '_'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return is_lower(c) || is_upper(c) || is_digit(c); }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

constexpr std::array<std::string_view, 9> kTwoCharacters = {"->", "+=", "//", "<<", ">>", "<=", ">=", "==", "!="};
constexpr std::string_view kOneCharacter = "()[]{},:=+-*/%&|^<>";

TokenKind word_kind(std::string_view word) {
  static const auto kinds = [] {
    std::unordered_map<std::string_view, TokenKind> map;
    for (std::string_view k : keywords()) map[k] = TokenKind::kKeyword;
    for (const TypeRow& r : type_rows()) map[r.name] = TokenKind::kType;
    for (const expr::OpRow& r : expr::op_rows()) {
      if (r.family == expr::Family::reduction) map[r.text] = TokenKind::kReduction;
    }
    return map;
  }();
  auto found = kinds.find(word);
  return found == kinds.end() ? TokenKind::kLower : found->second;
}

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// The name of a character that doesn't show, or looks like a blank: pasted text brings them.
std::optional<std::string> unseen_character(std::string_view c) {
  if (c == kByteOrderMark) return "U+FEFF";
  if (c == "\xC2\xA0") return "U+00A0";
  if (c == "\xC2\xAD") return "U+00AD";
  if (c.size() != 3 || !c.starts_with("\xE2\x80")) return std::nullopt;
  int low = static_cast<unsigned char>(c[2]) - 0x80;  // U+2000 to U+203F: spaces, joiners, marks of direction
  bool unseen = low <= 0x0F || (low >= 0x28 && low <= 0x2F);
  return unseen ? std::optional(fmt::format("U+{:04X}", 0x2000 + low)) : std::nullopt;
}

// The binary operator or comparison that a sign is.
const expr::OpRow* operator_of(std::string_view sign) {
  using expr::Family;
  static const auto operators = [] {
    std::unordered_map<std::string_view, const expr::OpRow*> map;
    for (const expr::OpRow& r : expr::op_rows()) {
      if (r.family == Family::arithmetic || r.family == Family::bits || r.family == Family::compare) map[r.text] = &r;
    }
    return map;
  }();
  auto found = operators.find(sign);
  return found == operators.end() ? nullptr : found->second;
}

class Lexer {
 public:
  Lexer(const Source& source, Diagnostics& errors) : source_(source), text_(source.text()), errors_(errors) {}

  Tokens run() {
    out_.tokens.reserve(text_.size() / 3);
    while (at_ < text_.size()) {
      char c = text_[at_];
      if (c == '\n') {
        ++line_;
        fresh_ = true;
        ++at_;
      } else if (c == ' ' || c == '\t' || c == '\r') {
        ++at_;
      } else if (c == '#') {
        comment();
      } else if (is_digit(c) || (c == '.' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1]))) {
        number();
      } else if (is_word(c)) {
        word();
      } else {
        sign();
      }
    }
    add(TokenKind::kEnd, text_.size());
    return std::move(out_);
  }

 private:
  void add(TokenKind kind, size_t end) {
    Token t;
    t.kind = kind;
    t.first_of_line = fresh_;
    t.begin = static_cast<uint32_t>(at_);
    t.end = static_cast<uint32_t>(end);
    t.line = line_;
    t.text = text_.substr(at_, end - at_);
    if (kind == TokenKind::kSign) t.op = operator_of(t.text);
    out_.tokens.push_back(t);
    fresh_ = false;
    at_ = end;
  }

  // What isn't text of the notation at all is not worth a message a character.
  void report(Diagnostic diagnostic) {
    constexpr size_t kEnough = 100;
    out_.damaged.push_back(diagnostic.span.begin);
    if (errors_.size() < kEnough) errors_.push_back(std::move(diagnostic));
  }

  Span span(size_t begin, size_t end) const {
    return {&source_, static_cast<uint32_t>(begin), static_cast<uint32_t>(end)};
  }

  void comment() {
    size_t end = std::min(text_.find('\n', at_), text_.size());
    std::string_view body = text_.substr(at_ + 1, end - at_ - 1);
    if (!body.empty() && body.front() == ' ') body.remove_prefix(1);
    while (!body.empty() && (body.back() == ' ' || body.back() == '\r' || body.back() == '\t')) body.remove_suffix(1);
    out_.comments.push_back({line_, fresh_, out_.tokens.size(), std::string(body)});
    at_ = end;
  }

  void word() {
    size_t end = at_;
    bool lower = false, upper = false;
    while (end < text_.size() && is_word(text_[end])) {
      lower |= text_[end] >= 'a' && text_[end] <= 'z';
      upper |= is_upper(text_[end]);
      ++end;
    }
    std::string_view word = text_.substr(at_, end - at_);
    if (lower && upper) {
      if (mixed_.insert(word).second) {
        report(diagnose(Code::E103, span(at_, end), {{"n", std::string(word)}}));
      } else {
        out_.damaged.push_back(static_cast<uint32_t>(at_));
      }
      return add(is_upper(word[0]) ? TokenKind::kUpper : TokenKind::kLower, end);
    }
    add(upper ? TokenKind::kUpper : word_kind(word), end);
  }

  // 12, 0x1f, 0.5, 1e-6; whatever else follows a digit without a blank belongs to the malformed number.
  void number() {
    size_t end = at_;
    auto digits = [&](auto belongs) {
      size_t begin = end;
      while (end < text_.size() && belongs(text_[end])) ++end;
      return end > begin;
    };
    bool good = true, real = false;
    if (text_[at_] == '0' && at_ + 1 < text_.size() && text_[at_ + 1] == 'x') {
      end += 2;
      good = digits(is_hex);
    } else {
      good = digits(is_digit);
      if (end < text_.size() && text_[end] == '.') {
        ++end;
        real = true;
        good = digits(is_digit) && good;
      }
      if (end < text_.size() && (text_[end] == 'e' || text_[end] == 'E')) {
        ++end;
        real = true;
        if (end < text_.size() && (text_[end] == '+' || text_[end] == '-')) ++end;
        good = digits(is_digit) && good;
      }
    }
    if (end < text_.size() && (is_word(text_[end]) || text_[end] == '.')) {
      good = false;
      digits([](char c) { return is_word(c) || c == '.'; });
    }
    if (!good) {
      report(diagnose(Code::E116, span(at_, end), {{"n", std::string(text_.substr(at_, end - at_))}}));
      size_t begin = at_;
      add(TokenKind::kInteger, end);
      out_.tokens.back().text = "0";  // reported; any number will do
      out_.tokens.back().begin = static_cast<uint32_t>(begin);
      return;
    }
    add(real ? TokenKind::kReal : TokenKind::kInteger, end);
  }

  void sign() {
    std::string_view two = text_.substr(at_, 2);
    bool power = two == "**", both = two == "&&", either = two == "||";
    if (power || both || either) {
      auto d = diagnose(Code::E101, span(at_, at_ + 2), {{"c", std::string(two)}});
      d.remedy = power ? "`**` is `pow(x, y)`" : both ? "`&&` is `and`" : "`||` is `or`";
      report(std::move(d));
      add(power ? TokenKind::kSign : TokenKind::kKeyword, at_ + 2);
      if (!power) out_.tokens.back().text = both ? "and" : "or";  // as was meant
      return;
    }
    if (std::ranges::find(kTwoCharacters, two) != kTwoCharacters.end()) return add(TokenKind::kSign, at_ + 2);
    if (kOneCharacter.find(text_[at_]) != std::string_view::npos) return add(TokenKind::kSign, at_ + 1);
    size_t end = at_ + 1;
    while (end < text_.size() && (static_cast<unsigned char>(text_[end]) & 0xC0) == 0x80) ++end;
    std::string_view c = text_.substr(at_, end - at_);
    auto code = static_cast<unsigned char>(c[0]);
    std::string shown = code < 32 || code == 127 ? fmt::format("\\x{:02x}", code) : std::string(c);
    if (auto unseen = unseen_character(c)) shown = *unseen;
    auto d = diagnose(Code::E101, span(at_, end), {{"c", shown}});
    if (c == kByteOrderMark) d.remedy = "save the file without a byte order mark";
    if (c == "!") d.remedy = "`!` is `not`; `!=` compares";
    if (c == ";") d.remedy = "a definition ends with its line";
    if (c == "?") d.remedy = "a condition is `a if c else b`";
    report(std::move(d));
    at_ = end;
  }

  const Source& source_;
  std::string_view text_;
  Diagnostics& errors_;
  Tokens out_;
  size_t at_ = 0;
  uint32_t line_ = 1;
  bool fresh_ = true;
  std::unordered_set<std::string_view> mixed_;  // names complained about
};

}  // namespace

const std::vector<std::string_view>& keywords() {
  static const std::vector<std::string_view> words = {"kernel", "fn",   "const", "import", "for", "return",
                                                      "if",     "else", "and",   "or",     "not", "inout",
                                                      "dyn",    "true", "false", "inf",    "nan"};
  return words;
}

Tokens tokenize(const Source& source, Diagnostics& errors) { return Lexer(source, errors).run(); }

}  // namespace quern::lang
