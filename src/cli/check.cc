// `quern check`: everything the language refuses, and for each kernel whether its subscripts stay in range.
#include <algorithm>
#include <iterator>
#include <set>

#include "base/text.h"
#include "cli/check_report.h"
#include "cli/commands.h"
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
  auto settings = parse_settings(line);
  if (!settings) {
    if (line.json) report.out += check_json({parse_target(line.targets[0]).file, {}, settings.error()});
    return report.add(std::move(settings.error()));
  }
  std::vector<Loaded> all;
  for (const std::string& target : line.targets) all.push_back(load(target));
  if (Diagnostics wrong = unknown(*settings, all); !wrong.empty()) append(all.front().found.errors, std::move(wrong));
  for (Loaded& l : all) {
    prove(l, *settings);
    report.out += line.json ? check_json(l.found) : check_text(l.found, line.verbose);
    report.add(std::move(l.found.errors));
    if (!line.remarks) continue;
    for (CheckedUnit::Entry& e : l.found.kernels) report.add(std::move(e.proofs.remarks));
  }
}

}  // namespace quern::cli
