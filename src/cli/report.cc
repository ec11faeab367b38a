#include "cli/report.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>

namespace quern::cli {
namespace {

bool is_remark(const Diagnostic& d) { return blame(d.code) == Blame::kRemark; }

}  // namespace

void Report::add(Diagnostics more) { std::ranges::move(more, std::back_inserter(diagnostics)); }

std::string diagnostics_text(const Diagnostics& diagnostics, bool color) {
  std::string text;
  size_t shown = 0, errors = 0;
  for (bool remarks : {false, true}) {
    for (const Diagnostic& d : diagnostics) {
      if (is_remark(d) != remarks) continue;
      if (!remarks) ++errors;
      if (shown == kShownDiagnostics) continue;
      text += render(d, color);
      ++shown;
    }
  }
  if (shown < diagnostics.size()) text += fmt::format("… and {} more\n", diagnostics.size() - shown);
  if (errors > 1) text += fmt::format("{} errors\n", errors);
  return text;
}

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    ssize_t n = ::write(file, text.data(), text.size());
    if (n < 0 && errno != EINTR) return false;
    if (n > 0) text.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

int show(const Report& report, bool color) {
  int code = exit_code(report.diagnostics);
  if (!write_all(STDOUT_FILENO, report.out)) {
    auto d = diagnose(Code::E730, {}, {{"path", "standard output"}, {"why", std::strerror(errno)}});
    write_all(STDERR_FILENO, render(d, color));
    return exit_code({d});
  }
  if (!report.json) write_all(STDERR_FILENO, diagnostics_text(report.diagnostics, color));
  if (!report.found.empty()) {
    write_all(STDERR_FILENO, report.found);
    if (code == 0) code = 1;
  }
  return code;
}

}  // namespace quern::cli
