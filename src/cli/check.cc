// `quern check`: everything the language refuses, for each kernel whether its subscripts stay in range, and whether
// compiled code does what the interpreter says.
#include <algorithm>
#include <iterator>
#include <set>

#include "base/text.h"
#include "cli/check_report.h"
#include "cli/commands.h"
#include "cli/compile_options.h"
#include "cli/settings.h"
#include "cli/target.h"

namespace quern::cli {
namespace {

// A target with what it was read into; `unit` is where its kernels live.
struct Loaded {
  Target target;
  lang::Unit unit;
  std::vector<const lang::CheckedKernel*> kernels;
  CheckedUnit found;
};

void append(Diagnostics& to, Diagnostics from) { std::ranges::move(from, std::back_inserter(to)); }

Loaded load(const std::string& name) {
  Loaded out;
  out.target = parse_target(name);
  out.found.file = out.target.file;
  auto unit = load_target(out.target);
  if (!unit) {
    out.found.errors = std::move(unit.error());
    return out;
  }
  out.unit = *std::move(unit);
  auto kernels = select(out.unit, out.target);
  if (kernels) {
    out.kernels = *std::move(kernels);
    out.found.errors = errors_of(out.unit, out.target);
  } else {
    out.found.errors = std::move(kernels.error());
  }
  return out;
}

void prove(Loaded& loaded, const expr::Request& settings) {
  for (const lang::CheckedKernel* k : loaded.kernels) {
    CheckedUnit::Entry entry{k->kernel, !k->program, {}};
    if (k->program) entry.proofs = kernel_proofs(*k->program, settings_for(settings, *k->program));
    append(loaded.found.errors, entry.proofs.errors);
    loaded.found.kernels.push_back(std::move(entry));
  }
}

// Compiled code of all kernels that have no errors, beside the interpreter.
void compare(std::vector<Loaded>& all, const expr::Request& settings, const CompiledCheckOptions& options) {
  std::vector<CheckedCompiled> kernels;
  std::vector<std::pair<Loaded*, CheckedUnit::Entry*>> entries;
  for (Loaded& l : all) {
    for (size_t i = 0; i < l.kernels.size(); ++i) {
      CheckedUnit::Entry& entry = l.found.kernels[i];
      if (entry.refused || !entry.proofs.errors.empty()) continue;
      const expr::Program& program = *l.kernels[i]->program;
      kernels.push_back({l.target.file, &program, settings_for(settings, program)});
      entries.emplace_back(&l, &entry);
    }
  }
  std::vector<CompiledCheck> found = check_compiled(kernels, options);
  for (size_t i = 0; i < found.size(); ++i) {
    append(entries[i].first->found.errors, found[i].errors);
    entries[i].second->compiled = std::move(found[i]);
  }
}

Result<CompiledCheckOptions> compare_options(const CommandLine& line) {
  CompiledCheckOptions out;
  auto cases = parse_count(line, "--cases", line.cases, 1, 10'000);
  if (!cases) return fail(std::move(cases.error()));
  auto seed = parse_count(line, "--seed", line.seed, 0, UINT64_MAX);
  if (!seed) return fail(std::move(seed.error()));
  auto compiler = compile_options(line);
  if (!compiler) return fail(std::move(compiler.error()));
  out.cases = static_cast<int64_t>(cases->value_or(static_cast<uint64_t>(out.cases)));
  out.seed = seed->value_or(out.seed);
  if (line.vectors) out.vectors = {*line.vectors};
  return out;
}

// A setting that no kernel of all targets has is a mistake; that one of them lacks it is not. Kernels that have errors
// may be the ones it is for.
Diagnostics unknown(const expr::Request& settings, const std::vector<Loaded>& all) {
  std::vector<const expr::Program*> programs;
  std::set<std::string> files;
  std::string kernel;
  for (const Loaded& l : all) {
    files.insert(l.target.file);
    if (!l.found.errors.empty()) return {};
    for (const lang::CheckedKernel* k : l.kernels) {
      programs.push_back(&*k->program);
      kernel = k->kernel->name.str();
    }
  }
  std::vector<std::string> names(files.begin(), files.end());
  return unknown_settings(settings, programs, programs.size() == 1 ? kernel : join(names, ", "));
}

}  // namespace

void check_files(const CommandLine& line, Report& report) {
  auto refuse = [&](Diagnostics errors) {
    if (line.json) report.out += check_json({parse_target(line.targets[0]).file, {}, errors});
    report.add(std::move(errors));
  };
  auto settings = parse_settings(line);
  if (!settings) return refuse(std::move(settings.error()));
  auto options = compare_options(line);
  if (!options) return refuse(std::move(options.error()));
  std::vector<Loaded> all;
  for (const std::string& target : line.targets) all.push_back(load(target));
  Diagnostics wrong = unknown(*settings, all);
  append(all.front().found.errors, wrong);
  for (Loaded& l : all) prove(l, *settings);
  // A name that is wrong is mended first: nobody waits for it.
  if (!line.language_only && wrong.empty()) compare(all, *settings, *options);
  for (Loaded& l : all) {
    report.out += line.json ? check_json(l.found) : check_text(l.found, line.verbose);
    report.add(std::move(l.found.errors));
    if (!line.remarks) continue;
    for (CheckedUnit::Entry& e : l.found.kernels) report.add(std::move(e.proofs.remarks));
  }
}

}  // namespace quern::cli
