// What `run` did, as text and as JSON.
#pragma once

#include <string>
#include <vector>

#include "cli/array_summary.h"
#include "cli/bound_run.h"

namespace quern::cli {

struct RunResult {
  array::Named named;
  ArraySummary summary;
  std::optional<double> largest_bound;  // none for integers and bools
  std::string path, bound_path;         // where they were written; empty: nowhere
};

struct RunReport {
  std::string file;
  std::string kernel;
  std::string device;
  const expr::Program* program = nullptr;  // null: it didn't come to a run
  BoundRun run;
  std::vector<RunResult> results;
  std::optional<bool> cached;             // compiled code: it came from the cache
  std::optional<double> compile_seconds;  // until it could run
  std::optional<double> seconds;          // of the computation
  Diagnostics diagnostics;
};

std::string run_text(const RunReport& report);
std::string run_json(const RunReport& report);

}  // namespace quern::cli
