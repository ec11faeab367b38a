#include "ptx/token.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace quern::ptx {
namespace {

constexpr size_t kMostErrors = 20;

enum Class : uint8_t { kOther, kBlank, kLetter, kDigit, kPunctuation };

constexpr std::array<Class, 256> kClasses = [] {
  std::array<Class, 256> out = {};
  for (char c : {' ', '\t', '\r', '\n', '\v', '\f'}) out[static_cast<uint8_t>(c)] = kBlank;
  for (int c = 'a'; c <= 'z'; ++c) out[c] = out[c - 'a' + 'A'] = kLetter;
  out['_'] = out['$'] = kLetter;
  for (int c = '0'; c <= '9'; ++c) out[c] = kDigit;
  for (char c : std::string_view("{}()[],;:|+-*/%<>=!~&^?@.\"")) out[static_cast<uint8_t>(c)] = kPunctuation;
  return out;
}();

Class class_of(char c) { return kClasses[static_cast<uint8_t>(c)]; }
bool in_name(char c) { return class_of(c) == kLetter || class_of(c) == kDigit; }

}  // namespace

Lexer::Lexer(const Source& source, Diagnostics& errors) : source_(source), text_(source.text()), errors_(errors) {}

void Lexer::complain(uint32_t begin, uint32_t end, std::string what) {
  if (errors_.size() < kMostErrors) {
    errors_.push_back(diagnose(Code::E902, {&source_, begin, end}, {{"what", std::move(what)}}));
  } else {
    at_ = static_cast<uint32_t>(text_.size());
  }
}

void Lexer::skip_blanks() {
  for (;;) {
    while (at_ < text_.size() && class_of(text_[at_]) == kBlank) ++at_;
    if (at_ + 1 >= text_.size() || (text_[at_] != '/' && text_[at_] != '@')) return;
    uint32_t begin = at_;
    bool line_comment = text_[at_] == text_[at_ + 1];  // @@DWARF: debug data of old compilers
    if (line_comment) {
      size_t end = text_.find('\n', at_);
      at_ = static_cast<uint32_t>(end == text_.npos ? text_.size() : end);
    } else if (text_[at_] == '/' && text_[at_ + 1] == '*') {
      size_t end = text_.find("*/", at_ + 2);
      if (end == text_.npos) {
        at_ = static_cast<uint32_t>(text_.size());
        complain(begin, begin + 2, "this comment has no end");
      } else {
        at_ = static_cast<uint32_t>(end + 2);
      }
    } else {
      return;
    }
  }
}

void Lexer::skip_to_brace(uint32_t from) {
  for (at_ = from; at_ < text_.size() && text_[at_] != '}';) {
    if (text_[at_] == '/') skip_blanks();
    if (at_ < text_.size() && text_[at_] != '}') ++at_;
  }
  at_ = std::min<uint32_t>(at_ + 1, static_cast<uint32_t>(text_.size()));
}

Token Lexer::make(TokenKind kind, uint32_t begin, uint32_t text_begin, uint32_t text_end) {
  return {kind, 0, begin, at_, text_.substr(text_begin, text_end - text_begin)};
}

Token Lexer::next() {
  for (;;) {
    skip_blanks();
    uint32_t begin = at_, size = static_cast<uint32_t>(text_.size());
    if (at_ >= size) return {TokenKind::kEnd, 0, size, size, {}};
    char c = text_[at_];
    char after = at_ + 1 < size ? text_[at_ + 1] : '\0';
    auto name = [&](uint32_t from) {
      at_ = from;
      while (at_ < size && in_name(text_[at_])) ++at_;
    };
    if (class_of(c) == kLetter || (c == '%' && class_of(after) == kLetter)) {
      name(at_ + 1);
      return make(TokenKind::kName, begin, begin, at_);
    }
    if (c == '.' && in_name(after)) {
      name(at_ + 1);
      while (at_ + 2 < size && text_[at_] == ':' && text_[at_ + 1] == ':' && in_name(text_[at_ + 2])) name(at_ + 2);
      return make(TokenKind::kWord, begin, begin + 1, at_);
    }
    if (class_of(c) == kDigit) {
      bool hex =
          c == '0' && (after == 'x' || after == 'X' || after == 'f' || after == 'F' || after == 'd' || after == 'D');
      name(at_ + 1);
      if (!hex && at_ < size && text_[at_] == '.') name(at_ + 1);
      char last = text_[at_ - 1];
      bool exponent = !hex && (last == 'e' || last == 'E') && at_ < size && (text_[at_] == '+' || text_[at_] == '-');
      if (exponent) name(at_ + 1);
      return make(TokenKind::kNumber, begin, begin, at_);
    }
    if (c == '"') {
      size_t end = text_.find_first_of("\"\n", at_ + 1);
      bool closed = end != text_.npos && text_[end] == '"';
      at_ = closed ? static_cast<uint32_t>(end + 1) : end == text_.npos ? size : static_cast<uint32_t>(end);
      if (closed) return make(TokenKind::kString, begin, begin + 1, at_ - 1);
      complain(begin, begin + 1, "this string has no end");
      continue;
    }
    if (class_of(c) == kPunctuation) {
      bool twice = after == c && std::string_view("<>&|=").contains(c);
      bool with_equals = after == '=' && std::string_view("<>!").contains(c);
      at_ += twice || with_equals ? 2 : 1;
      Token out = make(TokenKind::kSign, begin, begin, at_);
      out.sign = c;
      return out;
    }
    while (at_ < size && class_of(text_[at_]) == kOther) ++at_;
    complain(begin, at_, printable(text_.substr(begin, at_ - begin), 20) + " can't stand in PTX");
  }
}

}  // namespace quern::ptx
