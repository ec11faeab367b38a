// One look for everything Quern has to say against a program, an argument or itself: a code of the catalogue
// (base/diagnostics.def), a place with a caret, what was found, what to do. Texts are lower case without a full stop;
// `{name}` in the catalogue is filled in here. docs/errors.md is generated from the same rows.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/source.h"

namespace quern {

enum class Code : uint16_t {
#define QUERN_DIAGNOSTIC(code, message, remedy, explanation) code,
#include "base/diagnostics.def"
#undef QUERN_DIAGNOSTIC
};

// The first letter of a code: E yours, N not yet, R remark, B ours (a bug).
enum class Blame : char { kYours = 'E', kNotYet = 'N', kRemark = 'R', kOurs = 'B' };

struct CodeRow {
  Code code;
  std::string_view name;         // "E302"
  std::string_view message;      // with {placeholders}
  std::string_view remedy;       // may be empty
  std::string_view explanation;  // for docs/errors.md
};

const std::vector<CodeRow>& code_rows();
const CodeRow& row(Code code);
Blame blame(Code code);
// Data checks (E801 to E806): found while running, so exit code 1 and not 2.
bool is_data_check(Code code);

using Argument = std::pair<std::string_view, std::string>;

struct Note {
  Span span;
  SourcePtr source;
  std::string text;
};

struct Diagnostic {
  Code code;
  Span span;
  SourcePtr source;  // keeps `span` alive; null when the span is nowhere
  std::string message;
  std::string remedy;
  std::vector<Note> notes;  // other places: "first defined here", "in this call of softmax"

  Diagnostic&& note(Span at, std::string text) &&;
  Diagnostic&& with_remedy(std::string text) &&;
};

using Diagnostics = std::vector<Diagnostic>;

// Fills the catalogue's message and remedy of `code`. Every placeholder must be given: a missing one stays visible
// as `{name}`, which the tests look for.
Diagnostic diagnose(Code code, Span span, std::initializer_list<Argument> arguments = {});

// Several lines: "error E302: …", the place, the source line with carets, "help: …". `color` adds ANSI escapes.
std::string render(const Diagnostic& diagnostic, bool color = false);
std::string render(const Diagnostics& diagnostics, bool color = false);

// The exit code of the command line that a list of diagnostics asks for: 70 if a bug is among them, else 2, 3 or 1;
// 0 for remarks only.
int exit_code(const Diagnostics& diagnostics);
bool has_error(const Diagnostics& diagnostics);

}  // namespace quern
