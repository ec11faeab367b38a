#include "vgpu/program.h"

#include <cstring>

#include "vgpu/compile.h"

namespace quern::vgpu {

using ptx::Linkage;
using ptx::Space;

Result<std::shared_ptr<Program>> Program::load(std::shared_ptr<Memory> memory, ptx::Module module, int device) {
  std::shared_ptr<Program> out(new Program);
  out->memory_ = std::move(memory);
  out->module_ = std::move(module);
  const ptx::Module& m = out->module_;
  out->addresses_.assign(m.variables.size(), 0);
  for (size_t i = 0; i < m.variables.size(); ++i) {
    const ptx::Variable& v = m.variables[i];
    if (v.space != Space::kGlobal && v.space != Space::kConst && v.space != Space::kTex) continue;
    if (v.linkage == Linkage::kExtern) continue;
    Holds holds = v.space == Space::kConst ? Holds::kConstant : v.managed ? Holds::kHost : Holds::kVariable;
    auto at = out->memory_->allocate(std::max<int64_t>(v.bytes(), 1), v.align, holds, v.name, device);
    if (!at) return fail(at.error());
    out->addresses_[i] = *at;
    out->variables_[v.name] = static_cast<int32_t>(i);
  }
  for (size_t i = 0; i < m.variables.size(); ++i) {
    const ptx::Variable& v = m.variables[i];
    if (!out->addresses_[i]) continue;
    auto* to = reinterpret_cast<uint8_t*>(out->addresses_[i]);
    if (!v.initial.empty()) std::memcpy(to, v.initial.data(), v.initial.size());
    for (const ptx::Relocation& r : v.relocations) {
      bool variable = r.symbol.kind == ptx::SymbolKind::kVariable;
      uint64_t value =
          variable ? out->addresses_[static_cast<size_t>(r.symbol.index)] : static_cast<uint64_t>(r.symbol.index) + 1;
      value = (value + static_cast<uint64_t>(r.addend)) >> r.shift;
      std::memcpy(to + r.offset, &value, static_cast<size_t>(r.bytes));
    }
  }
  for (size_t i = 0; i < m.functions.size(); ++i) {
    if (m.functions[i].entry && m.functions[i].defined) out->kernels_[m.functions[i].name] = static_cast<int32_t>(i);
  }
  return out;
}

Program::~Program() {
  compiled_.clear();
  for (uint64_t a : addresses_) {
    if (a) memory_->release(a);
  }
}

const ptx::Function* Program::kernel(std::string_view name) const {
  auto found = kernels_.find(std::string(name));
  return found == kernels_.end() ? nullptr : &module_.functions[static_cast<size_t>(found->second)];
}

std::optional<Program::Placed> Program::variable(std::string_view name) const {
  auto found = variables_.find(std::string(name));
  if (found == variables_.end()) return std::nullopt;
  auto i = static_cast<size_t>(found->second);
  return Placed{addresses_[i], module_.variables[i].bytes()};
}

uint64_t Program::address(int32_t variable) const { return addresses_[static_cast<size_t>(variable)]; }

std::shared_ptr<const Compiled> Program::find(const std::string& key) const {
  std::lock_guard lock(mutex_);
  auto found = compiled_.find(key);
  return found == compiled_.end() ? nullptr : found->second;
}

void Program::keep(const std::string& key, std::shared_ptr<const Compiled> compiled) {
  std::lock_guard lock(mutex_);
  compiled_[key] = std::move(compiled);
}

}  // namespace quern::vgpu
