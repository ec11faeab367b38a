// `quern list`: the kernels of files, or of the library, with their signatures and documentation.
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/json_report.h"
#include "cli/library_path.h"
#include "cli/target.h"
#include "expr/print.h"

namespace quern::cli {
namespace {

std::string text(const std::string& file, const std::vector<const lang::CheckedKernel*>& kernels) {
  std::string out = file + "\n";
  for (const lang::CheckedKernel* k : kernels) {
    out += fmt::format("  {}\n", expr::signature(*k->kernel));
    std::string documentation = k->kernel->comments.documentation();
    if (!documentation.empty()) out += fmt::format("      {}\n", documentation);
  }
  return out;
}

void list_one(const std::string& name, bool json, Report& report) {
  Target target = parse_target(name);
  Diagnostics problems;
  std::vector<const lang::CheckedKernel*> kernels;
  auto unit = load_target(target);
  if (!unit) {
    problems = std::move(unit.error());
  } else {
    problems = errors_of(*unit, target);
    auto found = select(*unit, target);
    if (found) {
      kernels = *std::move(found);
    } else {
      problems.insert(problems.end(), found.error().begin(), found.error().end());
    }
  }
  if (json) {
    report.out += list_json(target.file, kernels, problems);
  } else if (unit) {
    report.out += text(target.file, kernels);
  }
  report.add(std::move(problems));
}

}  // namespace

void list_kernels(const CommandLine& line, Report& report) {
  std::vector<std::string> files = line.targets;
  if (files.empty()) {
    auto library = library_files();
    if (!library) {
      if (report.json) report.out += list_json("", {}, library.error());
      return report.add(std::move(library.error()));
    }
    files = *std::move(library);
  }
  for (const std::string& file : files) list_one(file, line.json, report);
}

}  // namespace quern::cli
