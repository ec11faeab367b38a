// Tokens of the text of tile programs. Where a line begins counts: its column says to which block a statement belongs.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/source.h"

namespace quern::tile {

enum class TokenKind : uint8_t { kEnd, kWord, kInteger, kReal, kText, kSign };

struct Token {
  TokenKind kind = TokenKind::kEnd;
  bool first_of_line = false;
  uint32_t column = 0;  // blanks before it, if first of its line
  uint32_t begin = 0, end = 0;
  std::string_view text;  // kText: without its quotes, escapes as written
};

// The last one is kEnd, which is the first of its line. E101 for a character that no token begins with.
Result<std::vector<Token>> tokenize(const Source& source);

}  // namespace quern::tile
