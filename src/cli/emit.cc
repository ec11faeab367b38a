// `quern emit`: a kernel as it is at a level of the compiler. The first, `expr`, is the checked program, functions
// expanded and ranges explicit, printed as a kernel again, and needs no sizes; those below are the compiler's.
#include <algorithm>
#include <string>
#include <vector>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/compile_options.h"
#include "cli/device.h"
#include "cli/json_report.h"
#include "cli/target.h"
#include "expr/print.h"

namespace quern::cli {
namespace {

struct LevelRow {
  const char* name;
  backend::Level level;
};
constexpr LevelRow kLevels[] = {{"lowered", backend::Level::kLowered}, {"tiled", backend::Level::kTiled},
                                {"placed", backend::Level::kPlaced},   {"laid", backend::Level::kLaid},
                                {"llvm", backend::Level::kLlvm},       {"asm", backend::Level::kAsm},
                                {"ptx", backend::Level::kAsm}};

// Nothing for `expr`.
Result<std::optional<backend::Level>> level_of(const std::optional<std::string>& level) {
  if (!level) return fail(usage_error("emit", "--at LEVEL is missing"));
  if (*level == "expr") return std::nullopt;
  std::vector<std::string> all = {"expr"};
  for (const LevelRow& r : kLevels) {
    if (*level == r.name) return r.level;
    all.emplace_back(r.name);
  }
  if (*level == "sass") return fail(diagnose(Code::N906, {}, {{"n", *level}}));
  Diagnostic d = usage_error("emit", "there is no level '" + *level + "'");
  auto near = nearest(*level, all);
  d.remedy = near ? "did you mean `" + *near + "`?" : "levels are " + join(all, ", ");
  return fail(std::move(d));
}

Result<std::string> compiled(const CommandLine& line, backend::Level level, std::string& name) {
  auto options = compile_options(line);
  if (!options) return fail(std::move(options.error()));
  options->on = line.device.value_or("cpu");
  if (auto device = check_device(options->on); !device) return fail(std::move(device.error()));
  if (options->on == "interpreter") return fail(usage_error("emit", "--on interpreter: nothing is compiled for it"));
  if (*line.level == "ptx" && options->on == "cpu") {
    return fail(usage_error("emit", "--at ptx needs a GPU, as in --on virtual:h100"));
  }
  auto target = compile_target(line);
  if (!target) return fail(std::move(target.error()));
  name = target->program->name.str();
  auto backend = backend::open();
  if (!backend) return fail(std::move(backend.error()));
  return (*backend)->emit({*target->program, target->binding, *options}, level);
}

Result<std::string> emitted(const CommandLine& line, std::string& name) {
  auto level = level_of(line.level);
  if (!level) return fail(std::move(level.error()));
  if (*level) return compiled(line, **level, name);
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
