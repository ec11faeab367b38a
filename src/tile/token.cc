// One walk over the text; what no token begins with ends it.
#include "tile/token.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace quern::tile {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

constexpr std::array<std::string_view, 9> kTwoCharacters = {"//", "<<", ">>", "<=", ">=", "==", "!=", "+=", ".."};
constexpr std::string_view kOneCharacter = "()[],:=+-*/%&|^<>@.";

class Lexer {
 public:
  explicit Lexer(const Source& source) : source_(source), text_(source.text()) {}

  Result<std::vector<Token>> run() {
    while (at_ < text_.size()) {
      char c = text_[at_];
      if (c == '\n') {
        fresh_ = true;
        line_ = ++at_;
      } else if (c == ' ' || c == '\r') {
        ++at_;
      } else if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (is_letter(c)) {
        size_t end = at_;
        while (end < text_.size() && (is_letter(text_[end]) || is_digit(text_[end]) || text_[end] == '\'')) ++end;
        add(TokenKind::kWord, end);
      } else if (is_digit(c)) {
        number();
      } else if (c == '"') {
        size_t end = at_ + 1;
        while (end < text_.size() && text_[end] != '"' && text_[end] != '\n') ++end;
        if (end == text_.size() || text_[end] != '"') return unexpected();
        add(TokenKind::kText, end + 1);
        tokens_.back().text = text_.substr(tokens_.back().begin + 1, end - tokens_.back().begin - 1);
      } else {
        std::string_view two = text_.substr(at_, 2);
        if (std::ranges::find(kTwoCharacters, two) != kTwoCharacters.end()) {
          add(TokenKind::kSign, at_ + 2);
        } else if (kOneCharacter.find(c) != std::string_view::npos) {
          add(TokenKind::kSign, at_ + 1);
        } else {
          return unexpected();
        }
      }
    }
    fresh_ = true;
    line_ = at_;
    add(TokenKind::kEnd, at_);
    return std::move(tokens_);
  }

 private:
  void add(TokenKind kind, size_t end) {
    tokens_.push_back({kind, fresh_, static_cast<uint32_t>(at_ - line_), static_cast<uint32_t>(at_),
                       static_cast<uint32_t>(end), text_.substr(at_, end - at_)});
    fresh_ = false;
    at_ = end;
  }

  // 12, 1.5, 1e-07, 1.5e+20; `0 .. 3` and `0..3` are ranges.
  void number() {
    size_t end = at_;
    bool real = false;
    auto digits = [&] {
      while (end < text_.size() && is_digit(text_[end])) ++end;
    };
    auto digit_at = [&](size_t i) { return i < text_.size() && is_digit(text_[i]); };
    digits();
    if (end < text_.size() && text_[end] == '.' && digit_at(end + 1)) {
      real = true;
      ++end;
      digits();
    }
    if (end < text_.size() && text_[end] == 'e') {
      bool sign = end + 1 < text_.size() && (text_[end + 1] == '-' || text_[end + 1] == '+');
      if (digit_at(end + (sign ? 2 : 1))) {
        real = true;
        end += sign ? 2 : 1;
        digits();
      }
    }
    add(real ? TokenKind::kReal : TokenKind::kInteger, end);
  }

  std::unexpected<Diagnostics> unexpected() const {
    size_t end = at_ + 1;
    while (end < text_.size() && (static_cast<unsigned char>(text_[end]) & 0xC0) == 0x80) ++end;
    auto code = static_cast<unsigned char>(text_[at_]);
    bool shown_as_it_is = code >= 32 && code < 127;
    std::string shown = shown_as_it_is ? std::string(1, text_[at_]) : fmt::format("\\x{:02x}", code);
    return fail(
        diagnose(Code::E101, {&source_, static_cast<uint32_t>(at_), static_cast<uint32_t>(end)}, {{"c", shown}}));
  }

  const Source& source_;
  std::string_view text_;
  std::vector<Token> tokens_;
  size_t at_ = 0, line_ = 0;
  bool fresh_ = true;
};

}  // namespace

Result<std::vector<Token>> tokenize(const Source& source) { return Lexer(source).run(); }

}  // namespace quern::tile
