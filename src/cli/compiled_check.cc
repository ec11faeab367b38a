#include "cli/compiled_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <optional>
#include <thread>

#include "array/random.h"
#include "backend/agreement.h"
#include "backend/open.h"
#include "cli/bound_run.h"
#include "cli/progress.h"
#include "cli/samples.h"
#include "cli/scalar_argument.h"

namespace quern::cli {
namespace {

using array::Fill;

// How reals are drawn.
constexpr Fill kStyles[] = {
    {.pattern = Fill::kNormal},
    {.pattern = Fill::kSpecial},
    {.pattern = Fill::kMasked},
    {.pattern = Fill::kUniformInt, .lo = -3, .hi = 4},
    {.pattern = Fill::kNormal, .mean = 1e4},
    {.pattern = Fill::kNormal, .scale = 1e30},
    {.pattern = Fill::kNormal, .scale = 1e-33},
};
constexpr ScalarType kTypes[] = {ScalarType::f32, ScalarType::f32, ScalarType::bf16, ScalarType::f16, ScalarType::f64};
constexpr int64_t kSmallest = 5, kMost = 40;  // sizes of every other case are ragged and tiny
// Operations of one case that the interpreter is given, some ten seconds.
constexpr double kWork = 3e8;

// One case of one kernel, which one thread does from beginning to end.
class CaseRun {
 public:
  CaseRun(const CheckedCompiled& kernel, const CompiledCheckOptions& options, const backend::Backend& backend,
          const std::vector<std::string>& vectors, int64_t number)
      : kernel_(kernel),
        program_(*kernel.program),
        options_(options),
        backend_(backend),
        vectors_(vectors),
        number_(number) {}

  void run(int threads) {
    threads_ = threads;
    case_.seed = options_.seed + static_cast<uint64_t>(number_);
    if (!choose() || !compile()) return;
    for (const Fill& style : kStyles) {
      if (!another() || !compare(style)) return;
    }
  }

  CompiledCheck::Case case_;
  std::string not_compared;
  std::vector<backend::Closest> closest;
  std::vector<std::string> wrong;  // by level; empty: nothing

  // E807, if something is wrong.
  std::optional<Diagnostic> differs() const {
    std::vector<std::string> levels;
    size_t first = 0;
    for (size_t v = wrong.size(); v-- > 0;) {
      if (wrong[v].empty()) continue;
      levels.insert(levels.begin(), vectors_[v]);
      first = v;
    }
    if (levels.empty()) return std::nullopt;
    return diagnose(Code::E807, program_.span,
                    {{"kernel", program_.name.str()},
                     {"vectors", fmt::format("{}", fmt::join(levels, ", "))},
                     {"what", wrong[first]},
                     {"command", command(vectors_[first])}});
  }

 private:
  bool give_up(std::string why) {
    not_compared = std::move(why);
    return false;
  }
  bool give_up(const Diagnostics& errors) { return give_up(errors.front().message); }

  bool choose() {
    expr::Request request = kernel_.request;
    for (const expr::TypeVariable& t : program_.types) {
      if (!request.types.contains(t.name) && !t.value) {
        request.types[t.name] = kTypes[static_cast<size_t>(number_) % std::size(kTypes)];
      }
    }
    // Sizes without faults in the data if there are some: else nothing but the faults is compared.
    constexpr uint64_t kTries = 16;
    for (uint64_t i = 0; i < kTries; ++i) {
      auto sample = small_sample(program_, request, number_ % 2 ? kMost : kSmallest, case_.seed * kTries + i);
      if (!sample) return give_up("no small sizes that fit it were found; --dim gives some");
      binding_ = std::move(sample->binding);
      if (!affordable()) return false;
      auto drawn = draw(kStyles[0]);
      if (!drawn) return give_up(drawn.error());
      if (drawn->truth.findings.empty() || sample->chosen.empty()) break;
    }
    for (const expr::Dimension& d : program_.dimensions) case_.sizes.emplace_back(d.name, binding_.sizes.at(d.name));
    for (const expr::TypeVariable& t : program_.types) case_.types.emplace_back(t.name, binding_.types.at(t.name));
    return true;
  }

  bool affordable() {
    auto work = backend_.count({program_, binding_});
    if (!work) return give_up(work.error());
    flops_ = work->flops;
    if (flops_ <= kWork) return true;
    return give_up(
        fmt::format("{:.2g} operations are too many for the interpreter; --dim gives smaller sizes", flops_));
  }

  bool compile() {
    wrong.resize(vectors_.size());
    for (size_t v = 0; v < vectors_.size(); ++v) {
      codes_.emplace_back();
      auto code = backend_.compile({program_, binding_, {.vectors = vectors_[v], .cache = false, .verify = true}});
      if (code) {
        codes_.back() = *std::move(code);
      } else if (blame(code.error().front().code) == Blame::kOurs) {
        wrong[v] = "it can't be compiled: " + code.error().front().message;
      } else {
        return give_up(code.error());
      }
    }
    return true;
  }

  // The first kind of numbers always; more of them where they cost little.
  bool another() const { return case_.draws == 0 || flops_ * static_cast<double>(case_.draws + 1) <= kWork; }

  // A set of arguments, and what the interpreter makes of it.
  struct Drawn {
    std::vector<array::Array> arrays;
    std::vector<expr::View> views;  // by tensor
    expr::Interpreted truth;
  };
  Result<Drawn> draw(const Fill& style) const {
    Drawn out;
    std::vector<expr::Draw> draws = expr::draws(program_, binding_);
    for (size_t t = 0; t < program_.tensors.size(); ++t) {
      const expr::Tensor& tensor = program_.tensors[t];
      if (tensor.role == expr::Role::kResult) {
        out.views.push_back({});
        continue;
      }
      ScalarType type = binding_.type(tensor.type);
      Fill fill = draws[t].pattern == expr::Draw::Pattern::kReal ? style : fill_of(draws[t]);
      auto array = tensor.scalar() && tensor.value
                       ? scalar_from_default(tensor, type)
                       : array::random_array(type, binding_.shapes[t], case_.seed, tensor.name.str(), fill);
      if (!array) return fail(std::move(array.error()));
      out.arrays.push_back(*std::move(array));
      out.views.push_back({out.arrays.back().data()});
    }
    auto truth = expr::interpret(program_, binding_, out.views, {.threads = threads_});
    if (!truth) return fail(std::move(truth.error()));
    out.truth = *std::move(truth);
    return out;
  }

  bool compare(const Fill& style) {
    auto drawn = draw(style);
    if (!drawn) return give_up(drawn.error());
    const expr::Interpreted& truth = drawn->truth;
    ++case_.draws;
    case_.faulty += !truth.findings.empty();
    closest.resize(truth.outputs.size());
    for (size_t v = 0; v < codes_.size(); ++v) {
      if (!codes_[v]) continue;
      backend::Agreement found = backend::agree(*codes_[v], program_, binding_, drawn->views, truth);
      for (size_t i = 0; i < found.closest.size(); ++i) {
        backend::Closest& worst = closest[i];
        worst.tensor = found.closest[i].tensor;
        if (found.closest[i].share() > worst.share()) worst = found.closest[i];
      }
      if (wrong[v].empty()) wrong[v] = found.wrong;
    }
    return true;
  }

  std::string command(const std::string& vectors) const {
    std::string out = fmt::format("quern check {}:{}", kernel_.file, program_.name.str());
    for (const auto& [name, size] : case_.sizes) out += fmt::format(" --dim {}={}", name.str(), size);
    for (const auto& [name, type] : case_.types) out += fmt::format(" --type {}={}", name.str(), quern::name(type));
    return out + fmt::format(" --seed {} --cases 1 --vectors {}", case_.seed, vectors);
  }

  const CheckedCompiled& kernel_;
  const expr::Program& program_;
  const CompiledCheckOptions& options_;
  const backend::Backend& backend_;
  const std::vector<std::string>& vectors_;
  int64_t number_;
  int threads_ = 1;
  expr::Binding binding_;
  std::vector<std::optional<backend::Compiled>> codes_;  // by level
  double flops_ = 0;
};

void add(CompiledCheck& to, const expr::Program& program, CaseRun& run) {
  if (!run.not_compared.empty()) {
    if (to.cases.empty()) to.not_compared = std::move(run.not_compared);
    return;
  }
  if (auto d = run.differs(); d && to.errors.empty()) to.errors.push_back(*std::move(d));
  to.not_compared.clear();
  to.cases.push_back(std::move(run.case_));
  for (const backend::Closest& c : run.closest) {
    Symbol name = program.tensors[static_cast<size_t>(c.tensor)].name;
    auto at = std::ranges::find(to.results, name, &CompiledCheck::Result::name);
    if (at == to.results.end()) at = to.results.insert(at, {name});
    if (c.bound <= 0 || (!at->exact && c.error * at->bound <= at->error * c.bound)) continue;
    *at = {name, false, c.error, c.bound};
  }
}

// The levels that are wanted, or all that this processor has; `why` none can be run.
std::vector<std::string> levels_here(const backend::Backend& backend, const std::vector<std::string>& wanted,
                                     std::string& why) {
  std::vector<std::string> here;
  for (const backend::DeviceRow& d : backend.devices()) {
    if (d.name == "cpu") here = d.vectors;
  }
  for (const std::string& w : wanted) {
    if (std::ranges::find(here, w) == here.end()) why = "this processor has no " + w;
  }
  return wanted.empty() ? here : wanted;
}

}  // namespace

std::vector<CompiledCheck> check_compiled(const std::vector<CheckedCompiled>& kernels,
                                          const CompiledCheckOptions& options) {
  std::vector<CompiledCheck> out(kernels.size());
  if (kernels.empty()) return out;
  std::string why;
  std::vector<std::string> vectors = options.vectors;
  auto backend = backend::open();
  if (backend) {
    vectors = levels_here(**backend, vectors, why);
  } else {
    why = backend.error().front().message;
  }
  for (CompiledCheck& c : out) {
    c.vectors = vectors;
    c.not_compared = why;
  }
  if (!why.empty()) return out;

  std::vector<CaseRun> runs;
  runs.reserve(kernels.size() * static_cast<size_t>(options.cases));
  for (const CheckedCompiled& k : kernels) {
    for (int64_t i = 0; i < options.cases; ++i) runs.emplace_back(k, options, **backend, vectors, i);
  }
  Progress progress("comparing compiled code");
  std::atomic<size_t> next = 0, done = 0;
  size_t count = std::min<size_t>(runs.size(), std::max(1u, std::thread::hardware_concurrency()));
  int threads = runs.size() == 1 ? 0 : 1;  // the only one has all cores for itself
  auto work = [&] {
    for (size_t i = next++; i < runs.size(); i = next++) {
      runs[i].run(threads);
      progress.update(static_cast<int64_t>(++done), static_cast<int64_t>(runs.size()));
    }
  };
  {
    std::vector<std::jthread> pool;
    for (size_t t = 1; t < count; ++t) pool.emplace_back(work);
    work();
  }
  auto cases = static_cast<size_t>(options.cases);
  for (size_t k = 0; k < kernels.size(); ++k) {
    for (size_t i = 0; i < cases; ++i) add(out[k], *kernels[k].program, runs[k * cases + i]);
  }
  return out;
}

}  // namespace quern::cli
