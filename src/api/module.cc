#include "quern/module.h"

#include <algorithm>

#include "api/errors.h"
#include "api/kernel_state.h"
#include "base/text.h"
#include "expr/print.h"

namespace quern {

using internal::Access;

namespace {

std::shared_ptr<const internal::ModuleState> module_of(lang::Unit unit) {
  auto state = std::make_shared<internal::ModuleState>();
  state->unit = std::make_shared<const lang::Unit>(std::move(unit));
  for (const lang::CheckedKernel& k : state->unit->kernels) {
    auto kernel = std::make_shared<internal::KernelState>();
    kernel->unit = state->unit;
    kernel->text = &k;
    state->kernels.push_back(Access::wrap(std::move(kernel)));
  }
  return state;
}

}  // namespace

const std::vector<Kernel>& Module::kernels() const { return state_->kernels; }

const Kernel* Module::find(std::string_view name) const {
  auto it = std::ranges::find_if(state_->kernels, [&](const Kernel& k) { return k.name() == name; });
  return it == state_->kernels.end() ? nullptr : &*it;
}

std::expected<Module, Errors> parse(std::string_view text, const ParseOptions& options) {
  if (auto bad = invalid_utf8(text)) {
    std::string byte = std::to_string(static_cast<unsigned char>(text[*bad]));
    return internal::refuse({diagnose(Code::E114, {}, {{"byte", byte}, {"offset", std::to_string(*bad)}})});
  }
  lang::Unit unit = lang::load(Source::make(options.name, std::string(text)), {options.library});
  if (!unit.errors.empty()) return internal::refuse(unit.errors);
  return Access::module(module_of(std::move(unit)));
}

std::expected<Module, Errors> parse_file(const std::string& path, const ParseOptions& options) {
  auto source = read_source(path);
  if (!source) return internal::refuse(source.error());
  lang::Unit unit = lang::load(*source, {options.library});
  if (!unit.errors.empty()) return internal::refuse(unit.errors);
  return Access::module(module_of(std::move(unit)));
}

std::string print(const Module& module) { return expr::print(*Access::of(module)->unit->module); }

}  // namespace quern
