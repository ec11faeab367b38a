// `quern format`: files in canonical form, in place. A file with errors is left as it is, and so is one that wouldn't
// change. What would be written is read back first: it must be the same program with every comment (else B001).
#include <filesystem>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/formatting_fault.h"
#include "cli/interrupt.h"
#include "cli/target.h"
#include "expr/print.h"
#include "lang/parse.h"

namespace quern::cli {
namespace {

Result<void> write(const std::string& file, const std::string& text) {
  // Through a symbolic link, so that the link stays one.
  std::error_code error;
  std::filesystem::path path = std::filesystem::canonical(file, error);
  Uninterrupted hold;
  return write_file(error ? file : path.string(), text);
}

void format_one(const std::string& file, bool check, Report& report) {
  auto source = read_target(file);
  if (!source) return report.add(std::move(source.error()));
  lang::Parsed parsed = lang::parse(*source);
  if (!parsed.errors.empty()) return report.add(std::move(parsed.errors));
  std::string text = expr::print(parsed.module);
  if (auto bug = formatting_fault(parsed.module, *source, text)) return report.add(*std::move(bug));
  bool same = text == (*source)->text();
  if (check) {
    if (!same) report.add(diagnose(Code::E744, {}, {{"file", file}}));
  } else if (file == "-") {
    report.out += text;
  } else if (!same) {
    if (auto written = write(file, text); !written) report.add(std::move(written.error()));
  }
}

}  // namespace

void format_files(const CommandLine& line, Report& report) {
  for (const std::string& file : line.targets) format_one(file, line.check, report);
}

}  // namespace quern::cli
