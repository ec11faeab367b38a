#include "cli/compile_options.h"

#include "cli/settings.h"
#include "cli/target.h"
#include "expr/prove.h"

namespace quern::cli {

Result<backend::Options> compile_options(const CommandLine& line) {
  backend::Options out;
  auto only = [&](const char* option, const std::optional<std::string>& value, const char* yes,
                  const char* no) -> Result<bool> {
    if (!value || *value == no) return false;
    if (*value == yes) return true;
    std::string what = std::string(option) + " " + *value + ": expected " + yes + " or " + no;
    return fail(usage_error(line.command, std::move(what)));
  };
  auto trust = only("--checks", line.checks, "trust", "keep");
  if (!trust) return fail(std::move(trust.error()));
  auto exact = only("--operands", line.operands, "exact", "round");
  if (!exact) return fail(std::move(exact.error()));
  if (line.vectors && *line.vectors != "sse2" && *line.vectors != "avx2" && *line.vectors != "avx512") {
    return fail(usage_error(line.command, "--vectors " + *line.vectors + ": expected sse2, avx2 or avx512"));
  }
  out.trust = *trust;
  out.exact = *exact;
  out.deterministic = line.deterministic;
  out.schedule = line.schedule.value_or("");
  out.vectors = line.vectors.value_or("");
  return out;
}

Result<CompileTarget> compile_target(const CommandLine& line) {
  auto settings = parse_settings(line);
  if (!settings) return fail(std::move(settings.error()));
  Target target = parse_target(line.targets[0]);
  CompileTarget out;
  auto unit = load_target(target);
  if (!unit) return fail(std::move(unit.error()));
  out.unit = *std::move(unit);
  auto kernel = select_one(out.unit, target);
  if (!kernel) return fail(std::move(kernel.error()));
  out.program = &*(*kernel)->program;
  if (auto wrong = unknown_settings(*settings, {out.program}, out.program->name.str()); !wrong.empty()) {
    return fail(std::move(wrong));
  }
  auto binding = expr::bind(*out.program, *settings);
  if (!binding) return fail(std::move(binding.error()));
  out.binding = *std::move(binding);
  expr::Proofs proofs = expr::prove(*out.program, out.binding);
  if (!proofs.errors.empty()) return fail(std::move(proofs.errors));
  return out;
}

}  // namespace quern::cli
