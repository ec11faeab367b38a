// Tokens of PTX, made one by one as the parser asks. Comments and blanks only separate. A word is what follows a dot,
// digits and `::` included: `.s32`, `.2d`, `.shared::cta`; a name may start with `%` or `$`.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace quern::ptx {

enum class TokenKind : uint8_t { kEnd, kName, kWord, kNumber, kString, kSign };

struct Token {
  TokenKind kind = TokenKind::kEnd;
  char sign = 0;  // kSign: its first character; `<<`, `&&` and their kin have `text` as well
  uint32_t begin = 0;
  uint32_t end = 0;
  std::string_view text;  // without the dot of a word and the quotes of a string

  bool is(char c) const { return kind == TokenKind::kSign && sign == c && text.size() == 1; }
  bool sign_is(std::string_view t) const { return kind == TokenKind::kSign && text == t; }
  bool word(std::string_view t) const { return kind == TokenKind::kWord && text == t; }
};

class Lexer {
 public:
  // `errors` takes what can't be a token (E902); such characters are skipped.
  Lexer(const Source& source, Diagnostics& errors);
  Token next();
  // Goes on behind the next `}` after `from`, whatever is between, comments apart: DWARF is most of a debug build.
  void skip_to_brace(uint32_t from);

 private:
  void skip_blanks();
  Token make(TokenKind kind, uint32_t begin, uint32_t text_begin, uint32_t text_end);
  void complain(uint32_t begin, uint32_t end, std::string what);

  const Source& source_;
  std::string_view text_;
  uint32_t at_ = 0;
  Diagnostics& errors_;
};

}  // namespace quern::ptx
