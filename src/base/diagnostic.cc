#include "base/diagnostic.h"

#include <algorithm>

#include "base/text.h"

namespace quern {
namespace {

std::string fill(std::string_view pattern, std::initializer_list<Argument> arguments) {
  std::string out;
  size_t i = 0;
  while (i < pattern.size()) {
    size_t close = pattern[i] == '{' ? pattern.find('}', i) : std::string_view::npos;
    if (close == std::string_view::npos) {
      out += pattern[i++];
      continue;
    }
    std::string_view name = pattern.substr(i + 1, close - i - 1);
    auto found = std::find_if(arguments.begin(), arguments.end(), [&](const Argument& a) { return a.first == name; });
    if (found != arguments.end()) {
      out += found->second;
    } else {
      out += pattern.substr(i, close + 1 - i);
    }
    i = close + 1;
  }
  return out;
}

SourcePtr keep(const Span& span) { return span.source ? span.source->shared_from_this() : nullptr; }

// The source line of `span` with carets below; long lines are cut to a window around the place.
std::string excerpt(const Span& span, std::string_view caret_color, std::string_view reset) {
  constexpr int64_t kWindow = 160;
  if (!span.source) return {};
  auto [line, column] = span.source->position(span.begin);
  auto last = span.source->position(span.end);
  // A character is a byte that begins one and the continuation bytes after it, as position() counts; a line may have
  // 256 MiB, so only the window is taken apart.
  auto begins = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; };
  std::string_view text = span.source->line(line);
  int64_t width = std::count_if(text.begin(), text.end(), begins);
  int64_t end = last.line == line ? last.column : width + 1;
  int64_t first = std::max<int64_t>(0, std::min(column - 1 - kWindow / 4, width - kWindow));
  std::string shown;
  size_t at = 0;
  for (int64_t i = -1; at < text.size() && i < first + kWindow;) {
    size_t next = at + 1;
    while (next < text.size() && !begins(text[next])) ++next;
    std::string_view character = text.substr(at, next - at);
    if (begins(text[at])) ++i;
    at = next;
    if (i < first || i >= first + kWindow) continue;
    // Tabs and control characters would shift the caret or the terminal: they show as one blank.
    bool control = static_cast<unsigned char>(character[0]) < 32 || character[0] == 127;
    shown += invalid_utf8(character) ? "?" : control ? " " : character;
  }
  int64_t carets = std::clamp<int64_t>(end - column, 1, std::max<int64_t>(1, first + kWindow - column + 1));
  std::string number = std::to_string(line);
  std::string margin(number.size(), ' ');
  std::string out = " " + margin + " --> " + span.source->name() + ":" + number + ":" + std::to_string(column) + "\n";
  out += " " + margin + " |\n";
  out += " " + number + " | " + shown + "\n";
  out += " " + margin + " | " + std::string(column - 1 - first, ' ');
  out += std::string(caret_color) + std::string(carets, '^') + std::string(reset) + "\n";
  return out;
}

}  // namespace

const std::vector<CodeRow>& code_rows() {
  static const std::vector<CodeRow> rows = {
#define QUERN_DIAGNOSTIC(code, message, remedy, explanation) {Code::code, #code, message, remedy, explanation},
#include "base/diagnostics.def"
#undef QUERN_DIAGNOSTIC
  };
  return rows;
}

const CodeRow& row(Code code) { return code_rows()[static_cast<size_t>(code)]; }

Blame blame(Code code) { return static_cast<Blame>(row(code).name[0]); }

bool is_data_check(Code code) { return row(code).name.substr(0, 3) == "E80"; }

Diagnostic&& Diagnostic::note(Span at, std::string text) && {
  notes.push_back({at, keep(at), std::move(text)});
  return std::move(*this);
}

Diagnostic&& Diagnostic::with_remedy(std::string text) && {
  remedy = std::move(text);
  return std::move(*this);
}

Diagnostic diagnose(Code code, Span span, std::initializer_list<Argument> arguments) {
  const CodeRow& r = row(code);
  return {code, span, keep(span), fill(r.message, arguments), fill(r.remedy, arguments), {}};
}

std::string render(const Diagnostic& diagnostic, bool color) {
  std::string_view name = row(diagnostic.code).name;
  bool remark = blame(diagnostic.code) == Blame::kRemark;
  std::string_view red = color ? (remark ? "\033[36m" : "\033[31m") : "";
  std::string_view bold = color ? "\033[1m" : "";
  std::string_view reset = color ? "\033[0m" : "";
  std::string out;
  out +=
      std::string(bold) + std::string(red) + (remark ? "remark " : "error ") + std::string(name) + std::string(reset);
  out += std::string(bold) + ": " + diagnostic.message + std::string(reset) + "\n";
  out += excerpt(diagnostic.span, red, reset);
  if (!diagnostic.remedy.empty()) out += "   = help: " + diagnostic.remedy + "\n";
  for (const Note& note : diagnostic.notes) {
    out += "   = note: " + note.text + "\n";
    out += excerpt(note.span, red, reset);
  }
  return out;
}

std::string render(const Diagnostics& diagnostics, bool color) {
  std::string out;
  for (const Diagnostic& d : diagnostics) out += render(d, color);
  return out;
}

int exit_code(const Diagnostics& diagnostics) {
  int code = 0;
  for (const Diagnostic& d : diagnostics) {
    int own = 0;
    switch (blame(d.code)) {
      case Blame::kOurs: return 70;
      case Blame::kYours: own = is_data_check(d.code) ? 1 : 2; break;
      case Blame::kNotYet: own = 3; break;
      case Blame::kRemark: own = 0; break;
    }
    // Wrong input (2) before unsupported (3) before a finding (1): the first is what the user must mend first.
    auto rank = [](int c) { return c == 2 ? 3 : c == 3 ? 2 : c; };
    if (rank(own) > rank(code)) code = own;
  }
  return code;
}

bool has_error(const Diagnostics& diagnostics) {
  return std::any_of(diagnostics.begin(), diagnostics.end(),
                     [](const Diagnostic& d) { return blame(d.code) != Blame::kRemark; });
}

}  // namespace quern
