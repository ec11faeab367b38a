// `quern derive`: how chains of reductions over one index became one pass, step by step.
#include "cli/commands.h"
#include "cli/compile_options.h"
#include "cli/json_report.h"
#include "cli/target.h"

namespace quern::cli {
namespace {

Result<std::string> derived(const CommandLine& line, std::string& name) {
  auto options = compile_options(line);
  if (!options) return fail(std::move(options.error()));
  auto target = compile_target(line);
  if (!target) return fail(std::move(target.error()));
  name = target->program->name.str();
  auto backend = backend::open();
  if (!backend) return fail(std::move(backend.error()));
  return (*backend)->derive({*target->program, target->binding, *options});
}

}  // namespace

void derive_kernel(const CommandLine& line, Report& report) {
  std::string name;
  auto text = derived(line, name);
  if (line.json) {
    report.out = derive_json(parse_target(line.targets[0]).file, name, text);
  } else if (text) {
    report.out = *text;
  }
  if (!text) report.add(std::move(text.error()));
}

}  // namespace quern::cli
