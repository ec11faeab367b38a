// `quern bench`: what a kernel reaches on this machine, in ratios that mean something. Three forms of it run in turns:
// as the compiler makes it; unfused, every local stored by a kernel of its own, with the same schedules; and scalar
// loops, one element at a time without vectors: the simplest code that is right. Rates are held against what this
// machine does in the same minute, not against a data sheet.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>

#include "backend/run.h"
#include "base/text.h"
#include "cli/bound_run.h"
#include "cli/commands.h"
#include "cli/compile_options.h"
#include "cli/json_value.h"
#include "cli/progress.h"
#include "cli/settings.h"
#include "cli/target.h"
#include "expr/materialise.h"
#include "expr/prove.h"

namespace quern::cli {
namespace {

constexpr double kSecondsOfAForm = 1;  // measured for about so long
constexpr int kLeastRuns = 3;          // but at least so often: the first run finds its memory untouched,
constexpr double kMostSeconds = 8;     // unless that takes longer than this
constexpr int kPeakRounds = 3;         // in so many turns the machine itself is measured

struct Form {
  const char* name;
  backend::Compiled code;
  backend::Work work;
  const expr::Program* program = nullptr;
  const expr::Binding* binding = nullptr;
  std::vector<backend::Tensor> tensors;
  std::vector<array::Array> results;
  double best = std::numeric_limits<double>::infinity();
  double total = 0;
  int runs = 0;

  bool enough() const { return total >= kSecondsOfAForm && (runs >= kLeastRuns || total > kMostSeconds); }
};

struct BenchReport {
  std::string kernel;
  int threads = 0;
  backend::Peak peak;
  std::vector<Form> forms;
  struct Missing {  // a form that can't be compiled for these sizes
    const char* name;
    std::string why;
  };
  std::vector<Missing> missing;
};

class Bench {
 public:
  Bench(const CommandLine& line, BenchReport& report) : line_(line), report_(report) {}

  Result<void> run() {
    auto options = compile_options(line_);
    if (!options) return fail(std::move(options.error()));
    auto threads = parse_count(line_, "--threads", line_.threads, 1, 1024);
    if (!threads) return fail(std::move(threads.error()));
    report_.threads = static_cast<int>(threads->value_or(0));
    if (auto ready = bind(); !ready) return ready;
    auto backend = backend::open();
    if (!backend) return fail(std::move(backend.error()));
    materialised_ = expr::materialise(*program_, run_.binding);
    backend::Options plain = *options;
    plain.schedule = "plain";
    struct Row {
      const char* name;
      const expr::Program* program;
      const expr::Binding* binding;
      const backend::Options* options;
    };
    for (const Row& r : {Row{"fused", program_, &run_.binding, &*options},
                         Row{"unfused", &materialised_.program, &materialised_.binding, &*options},
                         Row{"scalar loops", program_, &run_.binding, &plain}}) {
      auto added = add(**backend, r.name, *r.program, *r.binding, *r.options);
      // The fused one is what is asked for; the others are to compare with.
      if (!added && report_.forms.empty()) return added;
      if (!added) report_.missing.push_back({r.name, added.error().front().message});
    }
    return measure(**backend);
  }

 private:
  Result<void> bind() {
    auto seed = parse_count(line_, "--seed", line_.seed, 0, UINT64_MAX);
    if (!seed) return fail(std::move(seed.error()));
    auto settings = parse_settings(line_);
    if (!settings) return fail(std::move(settings.error()));
    Target target = parse_target(line_.targets[0]);
    auto unit = load_target(target);
    if (!unit) return fail(std::move(unit.error()));
    unit_ = *std::move(unit);
    auto kernel = select_one(unit_, target);
    if (!kernel) return fail(std::move(kernel.error()));
    program_ = &*(*kernel)->program;
    report_.kernel = program_->name.str();
    auto arguments = read_arguments(*program_, *settings, line_.arguments);
    if (!arguments) return fail(std::move(arguments.error()));
    auto bound = bind_run(*program_, *settings, *std::move(arguments), *seed);
    if (!bound) return fail(std::move(bound.error()));
    run_ = *std::move(bound);
    expr::Proofs proofs = expr::prove(*program_, run_.binding);
    if (!proofs.errors.empty()) return fail(std::move(proofs.errors));
    return {};
  }

  Result<void> add(const backend::Backend& backend, const char* name, const expr::Program& program,
                   const expr::Binding& binding, const backend::Options& options) {
    Form form{.name = name, .program = &program, .binding = &binding};
    auto code = backend.compile({program, binding, options});
    if (!code) return fail(std::move(code.error()));
    form.code = *std::move(code);
    auto work = backend.count({program, binding, options});
    if (!work) return fail(std::move(work.error()));
    form.work = *work;
    // The tensors between the steps are of no other form's making: the least is that of the kernel as it is called.
    if (!report_.forms.empty()) form.work.least_bytes = report_.forms.front().work.least_bytes;
    for (size_t t = 0; t < program.tensors.size(); ++t) {
      bool given = t < run_.arguments.size() && run_.arguments[t];
      backend::Tensor memory{given ? run_.arguments[t]->array.data() : nullptr, nullptr};
      if (program.tensors[t].role != expr::Role::kParameter) {
        auto array = array::make(binding.type(program.tensors[t].type), binding.shapes[t]);
        if (!array) return fail(std::move(array.error()));
        memory.output = array->mutable_data();
        form.results.push_back(*std::move(array));
      }
      form.tensors.push_back(memory);
    }
    report_.forms.push_back(std::move(form));
    return {};
  }

  // In turns, so that a busy minute of the machine meets all of them.
  Result<void> measure(const backend::Backend& backend) {
    Progress progress("measuring");
    bool more = true;
    for (int round = 0; more; ++round) {
      more = false;
      if (round < kPeakRounds) {
        backend::Peak now = backend.measure_peak(report_.threads);
        report_.peak.flops = std::max(report_.peak.flops, now.flops);
        report_.peak.bandwidth = std::max(report_.peak.bandwidth, now.bandwidth);
      }
      for (Form& f : report_.forms) {
        if (f.enough()) continue;
        more = true;
        auto begin = std::chrono::steady_clock::now();
        auto done = backend::run(f.code, *f.program, *f.binding, f.tensors, {.threads = report_.threads});
        if (!done) return fail(std::move(done.error()));
        double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        f.best = std::min(f.best, took);
        f.total += took;
        ++f.runs;
      }
    }
    return {};
  }

  const CommandLine& line_;
  BenchReport& report_;
  lang::Unit unit_;
  const expr::Program* program_ = nullptr;
  BoundRun run_;
  expr::Materialised materialised_;
};

std::string time_text(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.1f} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.2f} ms", seconds * 1e3);
  return fmt::format("{:.2f} s", seconds);
}

std::string bench_text(const BenchReport& r) {
  std::string out = fmt::format("{}: measured here {:.1f} GFLOP/s of f32 and {:.1f} GB/s of memory\n", r.kernel,
                                r.peak.flops / 1e9, r.peak.bandwidth / 1e9);
  out += fmt::format("{:<12} {:>10} {:>10} {:>8} {:>12} {:>9} {:>10} {:>8}\n", "", "time", "GFLOP/s", "of peak",
                     "moved", "of least", "of memory", "kernels");
  for (const Form& f : r.forms) {
    out += fmt::format("{:<12} {:>10} {:>10.1f} {:>6.1f} % {:>12} {:>8.2f}x {:>8.1f} % {:>8}\n", f.name,
                       time_text(f.best), f.work.flops / f.best / 1e9, 100 * f.work.flops / f.best / r.peak.flops,
                       human_bytes(static_cast<uint64_t>(f.work.moved_bytes)),
                       f.work.moved_bytes / std::max(f.work.least_bytes, 1.0),
                       100 * f.work.moved_bytes / f.best / r.peak.bandwidth, f.work.kernels);
  }
  for (const BenchReport::Missing& m : r.missing) out += fmt::format("{:<12} not measured: {}\n", m.name, m.why);
  out += "operations are counted as they are written: what a mask leaves out counts too\n";
  for (size_t i = 1; i < r.forms.size(); ++i) {
    out += fmt::format("fused is {:.2f} times as fast as {}\n", r.forms[i].best / r.forms[0].best, r.forms[i].name);
  }
  return out;
}

std::string bench_json(const std::string& file, const BenchReport& r, const Diagnostics& diagnostics) {
  Json out = begin_json("bench", file);
  out["kernel"] = r.kernel;
  out["peak_flops"] = r.peak.flops;
  out["peak_bandwidth"] = r.peak.bandwidth;
  out["forms"] = Json::array();
  for (const Form& f : r.forms) {
    if (diagnostics.empty()) {
      Json one;
      one["name"] = f.name;
      one["seconds"] = f.best;
      one["runs"] = f.runs;
      one["flops"] = f.work.flops;
      one["moved_bytes"] = f.work.moved_bytes;
      one["least_bytes"] = f.work.least_bytes;
      one["kernels"] = f.work.kernels;
      out["forms"].push_back(std::move(one));
    }
  }
  out["missing"] = Json::array();
  for (const BenchReport::Missing& m : r.missing) out["missing"].push_back({{"name", m.name}, {"message", m.why}});
  out["diagnostics"] = diagnostics_value(diagnostics);
  return line_of(out);
}

}  // namespace

void bench_kernel(const CommandLine& line, Report& report) {
  BenchReport found;
  Diagnostics problems;
  if (auto done = Bench(line, found).run(); !done) problems = std::move(done.error());
  if (line.json) {
    report.out = bench_json(parse_target(line.targets[0]).file, found, problems);
  } else if (problems.empty()) {
    report.out = bench_text(found);
  }
  report.add(std::move(problems));
}

}  // namespace quern::cli
