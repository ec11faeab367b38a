// Source text and places in it. A Source is immutable and shared: spans point into it, diagnostics keep it alive, so
// that a message can show its line long after the parser is gone.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace quern {

class Source : public std::enable_shared_from_this<Source> {
 public:
  // `name` is what messages show: a path as the user wrote it, or "<text>".
  static std::shared_ptr<const Source> make(std::string name, std::string text);

  const std::string& name() const { return name_; }
  std::string_view text() const { return text_; }

  struct Position {
    int64_t line;    // from 1
    int64_t column;  // from 1, in characters (UTF-8 sequences count once)
  };
  Position position(uint32_t offset) const;
  // The line (from 1) without its line break.
  std::string_view line(int64_t number) const;

 private:
  Source(std::string name, std::string text);

  std::string name_;
  std::string text_;
  std::vector<uint32_t> line_starts_;
};

using SourcePtr = std::shared_ptr<const Source>;

// Half-open byte range in a source; without a source, "nowhere" (an embedded kernel, a command line).
// A Span doesn't own its Source: whoever keeps nodes keeps the sources they came from (lang::Module does).
struct Span {
  const Source* source = nullptr;
  uint32_t begin = 0;
  uint32_t end = 0;

  // The smallest span that covers both; both must be of one source (or one of them nowhere).
  Span to(const Span& other) const;
  std::string_view text() const { return source ? source->text().substr(begin, end - begin) : std::string_view(); }
};

}  // namespace quern
