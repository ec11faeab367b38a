// Tokens of the notation, and the lexer that makes them. Blanks and line breaks only separate; that a token is the
// first of its line is kept, because a definition starts on a new line. Comments are kept beside the tokens.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "expr/node.h"

namespace quern::lang {

enum class TokenKind : uint8_t { kEnd, kLower, kUpper, kKeyword, kReduction, kType, kInteger, kReal, kSign };

struct Token {
  TokenKind kind = TokenKind::kEnd;
  bool first_of_line = false;
  uint32_t begin = 0;
  uint32_t end = 0;
  uint32_t line = 1;
  const expr::OpRow* op = nullptr;  // kSign: the binary operator or comparison it is, if any
  std::string_view text;  // into the source; a comparison with it decides keywords and signs

  bool is(std::string_view t) const { return text == t && kind != TokenKind::kEnd; }
  bool sign(std::string_view t) const { return kind == TokenKind::kSign && text == t; }
  bool keyword(std::string_view t) const { return kind == TokenKind::kKeyword && text == t; }
  bool name() const { return kind == TokenKind::kLower || kind == TokenKind::kUpper; }
};

struct Comment {
  uint32_t line;
  bool alone;         // no token before it on its line
  size_t next_token;  // index of the first token after it
  std::string text;
};

struct Tokens {
  std::vector<Token> tokens;  // the last is kEnd
  std::vector<Comment> comments;
  std::vector<uint32_t> damaged;  // where the lexer found an error, reported or not, ascending
};

// Words of the grammar that can't be names, apart from reductions and types.
const std::vector<std::string_view>& keywords();

// Errors (E101, E103, E116) are appended; the offending characters are skipped, so that parsing can go on.
Tokens tokenize(const Source& source, Diagnostics& errors);

}  // namespace quern::lang
