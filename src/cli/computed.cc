#include "cli/computed.h"

#include <chrono>
#include <cstring>
#include <iterator>

#include "backend/run.h"
#include "cli/progress.h"
#include "expr/interpret.h"

namespace quern::cli {
namespace {

class Stopwatch {
 public:
  double lap() {
    auto now = std::chrono::steady_clock::now();
    return std::chrono::duration<double>(now - std::exchange(last_, now)).count();
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

// Takes over the memory of `values`.
array::Array array_of(ScalarType type, std::vector<int64_t> shape, std::vector<std::byte> values) {
  auto kept = std::make_shared<std::vector<std::byte>>(std::move(values));
  std::byte* first = kept->data();
  return {type, std::move(shape), std::shared_ptr<const std::byte>(kept, first), first};
}

Result<Computed> interpreted(const expr::Program& program, const BoundRun& run, const ComputeOptions& how) {
  std::vector<expr::View> views;
  for (const auto& a : run.arguments) views.push_back({a ? a->array.data() : nullptr});
  expr::InterpretOptions options;
  options.threads = how.threads;
  options.bounds = how.bounds;
  Progress progress("computing");
  options.progress = [&](int64_t done, int64_t total) {
    progress.update(done, total);
    return true;
  };
  Stopwatch watch;
  auto done = expr::interpret(program, run.binding, views, options);
  if (!done) return fail(std::move(done.error()));
  Computed out;
  out.seconds = watch.lap();
  out.findings = std::move(done->findings);
  for (expr::Output& o : done->outputs) {
    auto t = static_cast<size_t>(o.tensor);
    out.results.push_back(
        {t, array_of(run.binding.type(program.tensors[t].type), run.binding.shapes[t], std::move(o.data)),
         std::move(o.bound)});
  }
  return out;
}

Result<Computed> compiled(const expr::Program& program, const BoundRun& run, const ComputeOptions& how) {
  Stopwatch watch;
  auto backend = backend::open();
  if (!backend) return fail(std::move(backend.error()));
  Computed out;
  backend::Compiled code;
  {
    Progress progress("compiling");
    auto made = (*backend)->compile({program, run.binding, how.compile});
    if (!made) return fail(std::move(made.error()));
    code = *std::move(made);
  }
  out.compile_seconds = watch.lap();
  out.cached = code.cached;
  out.remarks = code.remarks;

  std::vector<backend::Tensor> tensors;
  for (size_t t = 0; t < program.tensors.size(); ++t) {
    const expr::Tensor& tensor = program.tensors[t];
    backend::Tensor memory{run.arguments[t] ? run.arguments[t]->array.data() : nullptr, nullptr};
    if (tensor.role != expr::Role::kParameter) {
      auto array = array::make(run.binding.type(tensor.type), run.binding.shapes[t], tensor.name.str());
      if (!array) return fail(std::move(array.error()));
      memory.output = array->mutable_data();
      out.results.push_back({t, *std::move(array), {}});
    }
    tensors.push_back(memory);
  }
  backend::RunOptions options;
  options.threads = how.threads;
  options.deterministic = how.compile.deterministic;
  Progress progress("computing");
  options.progress = [&](int64_t done, int64_t total) {
    progress.update(done, total);
    return true;
  };
  watch.lap();
  auto done = backend::run(code, program, run.binding, tensors, options);
  if (!done) return fail(std::move(done.error()));
  out.seconds = watch.lap();
  out.findings = std::move(done->findings);
  return out;
}

}  // namespace

Result<Computed> compute(const std::string& device, const expr::Program& program, const BoundRun& run,
                         const ComputeOptions& options) {
  return device == "interpreter" ? interpreted(program, run, options) : compiled(program, run, options);
}

}  // namespace quern::cli
