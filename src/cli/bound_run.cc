#include "cli/bound_run.h"

#include <chrono>
#include <iterator>

#include "base/text.h"
#include "cli/scalar_argument.h"

namespace quern::cli {
namespace {

// Nine digits: enough to differ, few enough to type.
uint64_t clock_seed() {
  auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(now).count()) % 1'000'000'000;
}

// All arrays that are to be drawn together; each alone is tested where it is made.
Result<void> check_memory(const expr::Program& program, const BoundRun& run) {
  uint64_t total = 0;
  for (size_t t = 0; t < program.tensors.size(); ++t) {
    if (run.arguments[t] || program.tensors[t].role == expr::Role::kResult) continue;
    auto bytes = array::checked_byte_size(run.binding.type(program.tensors[t].type), run.binding.shapes[t]);
    total += static_cast<uint64_t>(bytes.value_or(INT64_MAX));
    if (total > static_cast<uint64_t>(array::memory_limit())) {
      return fail(diagnose(Code::E716, {},
                           {{"what", "the arguments"},
                            {"v", human_bytes(total)},
                            {"limit", human_bytes(static_cast<uint64_t>(array::memory_limit()))}}));
    }
  }
  return {};
}

}  // namespace

array::Fill fill_of(const expr::Draw& draw) {
  using Pattern = expr::Draw::Pattern;
  array::Fill fill;
  fill.lo = draw.lo;
  fill.hi = draw.hi;
  switch (draw.pattern) {
    case Pattern::kReal: fill.pattern = array::Fill::kNormal; break;
    case Pattern::kInteger: fill.pattern = array::Fill::kUniformInt; break;
    case Pattern::kDistinct: fill.pattern = array::Fill::kDistinct; break;
    case Pattern::kBool: fill.pattern = array::Fill::kBool; break;
    // These two include their upper end.
    case Pattern::kLength:
      fill.pattern = array::Fill::kLengths;
      fill.hi = draw.hi - 1;
      break;
    case Pattern::kSortedStarts:
      fill.pattern = array::Fill::kSortedStarts;
      fill.hi = draw.hi - 1;
      break;
  }
  return fill;
}

Result<BoundRun> bind_run(const expr::Program& program, expr::Request request, Arguments arguments,
                          std::optional<uint64_t> seed) {
  BoundRun run;
  Diagnostics errors;
  auto fault = [&](Diagnostics more) { std::ranges::move(more, std::back_inserter(errors)); };
  for (const auto& [name, argument] : arguments) {
    if (argument.origin == Argument::kFile) request.arguments[name] = {argument.array.type, argument.array.shape};
  }
  auto bound = expr::bind(program, request);
  if (bound) {
    run.binding = *std::move(bound);
  } else {
    fault(std::move(bound.error()));
  }
  for (const expr::Tensor& t : program.tensors) {
    auto given = arguments.find(t.name);
    run.arguments.emplace_back();
    if (given != arguments.end()) {
      run.arguments.back() = std::move(given->second);
    } else if (t.scalar() && !t.value) {
      errors.push_back(diagnose(Code::E703, t.span, {{"x", t.name.str()}}));
      errors.back().remedy = t.name.str() + (kind(t.type) == Kind::kReal  ? "=0.5"
                                             : kind(t.type) == Kind::kInt ? "=1"
                                                                          : "=true");
    }
  }
  if (!errors.empty()) return fail(std::move(errors));
  if (auto room = check_memory(program, run); !room) return fail(std::move(room.error()));

  run.seed = seed.value_or(clock_seed());
  std::vector<expr::Draw> draws = expr::draws(program, run.binding);
  for (size_t i = 0; i < program.tensors.size(); ++i) {
    const expr::Tensor& t = program.tensors[i];
    if (run.arguments[i] || t.role == expr::Role::kResult) continue;
    ScalarType type = run.binding.type(t.type);
    auto array = t.scalar()
                     ? scalar_from_default(t, type)
                     : array::random_array(type, run.binding.shapes[i], run.seed, t.name.str(), fill_of(draws[i]));
    if (!array) {
      fault(std::move(array.error()));
      continue;
    }
    run.random |= !t.scalar();
    run.arguments[i] = Argument{*std::move(array), t.scalar() ? Argument::kDefault : Argument::kRandom, {}};
  }
  if (!errors.empty()) return fail(std::move(errors));
  return run;
}

}  // namespace quern::cli
