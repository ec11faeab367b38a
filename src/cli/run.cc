// `quern run`: computes a kernel on given arrays and random ones, with the interpreter or compiled.
#include <algorithm>
#include <cmath>
#include <iterator>

#include "cli/bound_run.h"
#include "cli/commands.h"
#include "cli/compile_options.h"
#include "cli/computed.h"
#include "cli/device.h"
#include "cli/progress.h"
#include "cli/result_files.h"
#include "cli/run_report.h"
#include "cli/settings.h"
#include "cli/target.h"
#include "expr/prove.h"

namespace quern::cli {
namespace {

array::Array bounds_array(std::vector<int64_t> shape, std::vector<double> values) {
  auto kept = std::make_shared<std::vector<double>>(std::move(values));
  auto* first = reinterpret_cast<std::byte*>(kept->data());
  return {ScalarType::f64, std::move(shape), std::shared_ptr<const std::byte>(kept, first), first};
}

double largest(const std::vector<double>& bounds) {
  double out = 0;
  for (double b : bounds) {
    if (std::isnan(b)) return b;
    out = std::max(out, b);
  }
  return out;
}

class Runner {
 public:
  Runner(const CommandLine& line, RunReport& report) : line_(line), report_(report) {}

  // Errors that stop the run; what was found in the data goes to the report.
  Result<void> run() {
    auto seed = parse_count(line_, "--seed", line_.seed, 0, UINT64_MAX);
    if (!seed) return fail(std::move(seed.error()));
    auto threads = parse_count(line_, "--threads", line_.threads, 1, 1024);
    if (!threads) return fail(std::move(threads.error()));
    auto settings = parse_settings(line_);
    if (!settings) return fail(std::move(settings.error()));
    if (line_.bounds && !line_.output) return fail(usage_error("run", "--bounds needs -o"));
    if (auto device = check_device(report_.device); !device) return device;
    if (line_.bounds && report_.device != "interpreter") {
      return fail(usage_error("run", "--bounds needs --on interpreter"));
    }
    auto compile = compile_options(line_);
    if (!compile) return fail(std::move(compile.error()));
    compile_ = *std::move(compile);
    compile_.on = report_.device;

    Target target = parse_target(line_.targets[0]);
    auto unit = load_target(target);
    if (!unit) return fail(std::move(unit.error()));
    unit_ = *std::move(unit);
    auto kernel = select_one(unit_, target);
    if (!kernel) return fail(std::move(kernel.error()));
    program_ = &*(*kernel)->program;
    report_.kernel = program_->name.str();
    if (auto room = plan_output(); !room) return room;
    if (auto bound = bind(*settings, *seed); !bound) return bound;
    if (auto done = compute(threads->value_or(0)); !done) return done;
    return write();
  }

 private:
  // What takes compiled code too long takes the interpreter longer: nobody is kept waiting unasked.
  static bool not_yet(const Diagnostics& errors) {
    return std::ranges::all_of(
        errors, [](const Diagnostic& d) { return blame(d.code) == Blame::kNotYet && d.code != Code::N903; });
  }

  bool has_bounds(const expr::Tensor& t) const { return line_.bounds && kind(t.type) == Kind::kReal; }

  Result<void> plan_output() {
    if (!line_.output) return {};
    std::vector<std::string> names, bounds;
    for (const expr::Tensor& t : program_->tensors) {
      if (t.role == expr::Role::kParameter) continue;
      names.push_back(t.name.str());
      if (has_bounds(t)) bounds.push_back(t.name.str() + ".bound");
    }
    size_t bounds_from = names.size();
    std::ranges::move(bounds, std::back_inserter(names));
    auto plan = plan_result_files(*line_.output, names, bounds_from);
    if (!plan) return fail(std::move(plan.error()));
    files_ = *std::move(plan);
    return {};
  }

  Result<void> bind(const expr::Request& settings, std::optional<uint64_t> seed) {
    Progress progress("reading arrays");
    auto arguments = read_arguments(*program_, settings, line_.arguments);
    if (!arguments) return fail(std::move(arguments.error()));
    auto bound = bind_run(*program_, settings, *std::move(arguments), seed);
    if (!bound) return fail(std::move(bound.error()));
    report_.run = *std::move(bound);
    expr::Proofs proofs = expr::prove(*program_, report_.run.binding);
    if (!proofs.errors.empty()) return fail(std::move(proofs.errors));
    if (line_.remarks) std::ranges::move(proofs.remarks, std::back_inserter(report_.diagnostics));
    return {};
  }

  Result<void> compute(uint64_t threads) {
    ComputeOptions options;
    options.threads = static_cast<int>(threads);
    options.compile = compile_;
    auto done = cli::compute(report_.device, *program_, report_.run, options);
    if (!done && !line_.device && not_yet(done.error())) {
      // Nobody asked for the compiler: what it can't do yet, the interpreter does.
      report_.diagnostics.push_back(
          diagnose(Code::R41, {}, {{"kernel", report_.kernel}, {"why", done.error().front().message}}));
      report_.device = "interpreter";
      done = cli::compute(report_.device, *program_, report_.run, options);
    }
    if (!done) return fail(std::move(done.error()));
    std::ranges::move(done->findings, std::back_inserter(report_.diagnostics));
    for (Diagnostic& r : done->remarks) {
      // That nothing can be kept concerns every run.
      if (line_.remarks || r.code == Code::R40) report_.diagnostics.push_back(std::move(r));
    }
    report_.cached = done->cached;
    report_.compile_seconds = done->compile_seconds;
    report_.seconds = done->seconds;
    for (Computed::Tensor& t : done->results) result(t);
    report_.program = program_;
    return {};
  }

  void result(Computed::Tensor& computed) {
    const expr::Tensor& t = program_->tensors[computed.tensor];
    RunResult r;
    r.named = {t.name.str(), std::move(computed.array)};
    r.summary = summarise(r.named.array);
    bool bounds = report_.device == "interpreter" && kind(t.type) == Kind::kReal;
    if (bounds) r.largest_bound = largest(computed.bound);
    if (has_bounds(t)) {
      bounds_.push_back({r.named.name + ".bound", bounds_array(r.named.array.shape, std::move(computed.bound))});
    }
    report_.results.push_back(std::move(r));
  }

  Result<void> write() {
    if (!line_.output) return {};
    Progress progress("writing results");
    std::vector<array::Named> arrays;
    for (const RunResult& r : report_.results) arrays.push_back(r.named);
    std::ranges::copy(bounds_, std::back_inserter(arrays));
    if (auto written = write_result_files(files_, arrays); !written) return written;
    size_t bound = report_.results.size();
    for (size_t i = 0; i < report_.results.size(); ++i) {
      RunResult& r = report_.results[i];
      r.path = files_.path_of[i];
      if (line_.bounds && r.largest_bound) r.bound_path = files_.path_of[bound++];
    }
    return {};
  }

  const CommandLine& line_;
  RunReport& report_;
  lang::Unit unit_;
  const expr::Program* program_ = nullptr;
  backend::Options compile_;
  ResultFiles files_;
  std::vector<array::Named> bounds_;
};

}  // namespace

void run_kernel(const CommandLine& line, Report& report) {
  RunReport found;
  found.file = parse_target(line.targets[0]).file;
  // Bounds are the interpreter's.
  found.device = line.device.value_or(line.bounds ? "interpreter" : "cpu");
  Runner runner(line, found);
  if (auto done = runner.run(); !done) {
    found.program = nullptr;
    std::ranges::move(done.error(), std::back_inserter(found.diagnostics));
  }
  report.out = line.json ? run_json(found) : run_text(found);
  report.add(std::move(found.diagnostics));
}

}  // namespace quern::cli
