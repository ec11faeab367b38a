// Kernels: printing and checking what was recorded. A recorded kernel has no text, so its errors would have no place;
// it gets one by printing: the printed text, parsed, is the same tree with places, and that tree is checked. So
// messages for embedded kernels have a line and a caret, those of a run as well.
#include "quern/kernel.h"

#include <algorithm>

#include "api/errors.h"
#include "api/kernel_state.h"
#include "api/notation/build.h"
#include "api/program_state.h"
#include "backend/open.h"
#include "expr/check.h"
#include "expr/print.h"
#include "lang/parse.h"

namespace quern {
namespace internal {
namespace {

// Files see the prelude without asking, and so does an embedded kernel.
const lang::Unit& prelude() {
  static const lang::Unit unit = lang::load(Source::make("<prelude>", ""));
  return unit;
}

// The kernel with places in its own canonical text; `source` is that text, null if it has none.
expr::Kernel located(const expr::Kernel& built, SourcePtr& source) {
  SourcePtr text = Source::make("<kernel " + built.name.str() + ">", expr::print(built));
  lang::Parsed parsed = lang::parse(text);
  if (!parsed.errors.empty() || parsed.module.items.size() != 1) return built;
  auto* kernel = std::get_if<expr::Kernel>(&parsed.module.items.front());
  if (!kernel || !expr::equal(*kernel, built)) return built;
  source = std::move(text);
  return std::move(*kernel);
}

// A name that is not bound, because its tensor was read without being a parameter or having a definition.
void advise(Diagnostics& errors, const std::vector<Symbol>& reads) {
  for (Diagnostic& d : errors) {
    if (d.code != Code::E201) continue;
    for (Symbol name : reads) {
      if (d.message.starts_with(name.str() + " is not bound")) {
        d.remedy = "list " + name.str() + " among the kernel's parameters, or define it before it is read";
      }
    }
  }
}

}  // namespace

expr::Kernel written(const KernelState& kernel) {
  return kernel.embedded ? build(*kernel.embedded).kernel : *kernel.text->kernel;
}

Result<std::shared_ptr<const expr::Program>> checked(const KernelState& kernel) {
  if (kernel.text) {
    return std::shared_ptr<const expr::Program>(kernel.unit, &*kernel.text->program);
  }
  Built built = build(*kernel.embedded);
  if (!built.faults.empty()) return fail(std::move(built.faults));
  SourcePtr source;
  expr::Kernel tree = located(built.kernel, source);
  expr::Checked out = expr::check(tree, prelude().declarations);
  if (!out.program) {
    advise(out.errors, built.reads);
    return fail(std::move(out.errors));
  }
  auto program = std::make_shared<expr::Program>(std::move(*out.program));
  if (source) program->sources.push_back(source);
  program->sources.push_back(lang::prelude());
  return program;
}

}  // namespace internal

using internal::Access;

namespace {

std::vector<TensorInfo> infos(const std::vector<expr::Parameter>& list) {
  std::vector<TensorInfo> out;
  for (const expr::Parameter& p : list) {
    TensorInfo info;
    info.name = p.name.str();
    info.type = name(p.shaped.type);
    for (const expr::NodePtr& size : p.shaped.shape) info.shape.push_back(expr::print(size));
    info.inout = p.inout;
    if (p.value) info.value = expr::print(p.value);
    out.push_back(std::move(info));
  }
  return out;
}

}  // namespace

Kernel::Kernel(std::string_view name, const Parameters& parameters, const Results& results)
    : state_(std::make_shared<internal::KernelState>()) {
  state_->embedded = internal::EmbeddedKernel{Symbol(name), {}, parameters, results};
}

Kernel& Kernel::document(std::string_view text) {
  if (!state_->embedded) return *this;
  std::vector<std::string>& lines = state_->embedded->documentation;
  lines.clear();
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return *this;
}

const std::string& Kernel::name() const {
  return state_->embedded ? state_->embedded->name.str() : state_->text->kernel->name.str();
}

std::string Kernel::documentation() const { return written(*state_).comments.documentation(); }
std::string Kernel::signature() const { return expr::signature(written(*state_)); }
std::vector<TensorInfo> Kernel::parameters() const { return infos(written(*state_).parameters); }
std::vector<TensorInfo> Kernel::results() const { return infos(written(*state_).results); }

std::expected<void, Errors> Kernel::check() const {
  auto program = checked(*state_);
  if (!program) return internal::refuse(program.error());
  return {};
}

std::expected<Program, Errors> Kernel::compile(const Device& device, const Options& options) const {
  auto program = checked(*state_);
  if (!program) return internal::refuse(program.error());
  auto state = std::make_shared<internal::ProgramState>(*program, options);
  if (device.name() == "cpu") {
    // The compiler is opened now, so that a run can't fail for want of it.
    if (auto backend = backend::open(); !backend) return internal::refuse(backend.error());
    backend::Options how;
    how.trust = options.trust_checks;
    how.exact = options.exact_operands;
    how.deterministic = options.deterministic;
    how.schedule = options.schedule;
    how.vectors = options.vectors;
    how.cache = options.cache;
    state->compiled = std::make_unique<internal::CompiledForms>(std::move(how));
  } else if (device.name() != Device::interpreter().name()) {
    return internal::refuse({diagnose(Code::N905, {}, {{"n", device.name()}})
                                 .with_remedy("Device::named(\"cpu\"), Device::interpreter()")});
  }
  return Access::program(std::move(state));
}

std::string print(const Kernel& kernel) { return expr::print(written(*Access::of(kernel))); }

}  // namespace quern
