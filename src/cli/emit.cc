// `quern emit`: a kernel as it is at a level of the compiler. This version has the first, `expr`: the checked program,
// functions expanded and ranges explicit, printed as a kernel again.
#include <algorithm>
#include <string>
#include <vector>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/json_report.h"
#include "cli/target.h"
#include "expr/print.h"

namespace quern::cli {
namespace {

const std::vector<std::string>& later_levels() {
  static const std::vector<std::string> names = {"lowered", "tiled", "placed", "laid", "llvm", "ptx", "asm"};
  return names;
}

Result<void> known_level(const std::optional<std::string>& level) {
  if (!level) return fail(usage_error("emit", "--at LEVEL is missing"));
  if (*level == "expr") return {};
  if (std::ranges::find(later_levels(), *level) != later_levels().end())
    return fail(diagnose(Code::N906, {}, {{"n", *level}}));
  Diagnostic d = usage_error("emit", "there is no level '" + *level + "'");
  std::vector<std::string> all = later_levels();
  all.insert(all.begin(), "expr");
  auto near = nearest(*level, all);
  d.remedy = near ? "did you mean `" + *near + "`?" : "levels are " + join(all, ", ");
  return fail(std::move(d));
}

Result<std::string> emitted(const CommandLine& line, std::string& name) {
  if (auto known = known_level(line.level); !known) return fail(std::move(known.error()));
  Target target = parse_target(line.targets[0]);
  auto unit = load_target(target);
  if (!unit) return fail(std::move(unit.error()));
  auto kernel = select_one(*unit, target);
  if (!kernel) return fail(std::move(kernel.error()));
  name = (*kernel)->kernel->name.str();
  return expr::print(expr::to_kernel(*(*kernel)->program));
}

}  // namespace

void emit_kernel(const CommandLine& line, Report& report) {
  std::string name;
  auto text = emitted(line, name);
  if (line.json) {
    report.out = emit_json(parse_target(line.targets[0]).file, name, line.level.value_or(""), text);
  } else if (text) {
    report.out = *text;
  }
  if (!text) report.add(std::move(text.error()));
}

}  // namespace quern::cli
