// For the tests of target/: functions and kernels, compiled and ready to be called.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "jit/jit.h"
#include "jit/kernel_abi.h"
#include "target/ir_text.h"
#include "target/x86/emit.h"

namespace quern::target {

// The processors that this machine can play: sse2, avx2, avx2 with vectors of 64 bytes (which LLVM splits), avx512.
inline std::vector<jit::CpuTarget> targets() {
  using jit::VectorLevel;
  std::vector<jit::CpuTarget> out = {jit::cpu_of(VectorLevel::kSse2)};
  if (jit::runs_here(jit::cpu_of(VectorLevel::kAvx2))) {
    out.push_back(jit::cpu_of(VectorLevel::kAvx2));
    out.push_back(jit::cpu_of(VectorLevel::kAvx2));
    out.back().vector_bytes = 64;
  }
  if (jit::runs_here(jit::cpu_of(VectorLevel::kAvx512))) out.push_back(jit::cpu_of(VectorLevel::kAvx512));
  return out;
}

inline std::string said(const Diagnostics& all) { return all.empty() ? "" : all[0].message; }

inline std::shared_ptr<const jit::MachineCode> machine_code(const std::string& ir, const jit::CpuTarget& cpu) {
  auto object = jit::compile(ir, cpu);
  if (!object) {
    ADD_FAILURE() << said(object.error()) << "\n" << ir;
    return nullptr;
  }
  auto code = jit::load(*object);
  if (!code) {
    ADD_FAILURE() << said(code.error()) << "\n" << ir;
    return nullptr;
  }
  return *code;
}

// to[i] = f(from[i]), `lanes` at a time (0: a scalar), lengths a multiple of the lanes.
class Mapped {
 public:
  Mapped(const jit::CpuTarget& cpu, int lanes, std::vector<Base> from, Base to,
         const std::function<Value(Writer&, const std::vector<Value>&)>& f) {
    Module module;
    std::string header = "define void @f(ptr %to, i64 %n";
    for (size_t i = 0; i < from.size(); ++i) header += ", ptr %from" + std::to_string(i);
    Writer w(module, header + ")");
    Value step = i64(lanes == 0 ? 1 : lanes);
    Writer::Loop loop = w.open_loop(i64(0), {"%n", {Base::i64}}, step, false);
    auto at = [&](const std::string& pointer, Base base) {
      return w.offset({pointer, {Base::ptr}}, w.mul(loop.index, i64(bits(base) / 8)));
    };
    std::vector<Value> arguments;
    for (size_t i = 0; i < from.size(); ++i) {
      arguments.push_back(w.load({from[i], lanes}, at("%from" + std::to_string(i), from[i]), 1, false));
    }
    w.store(f(w, arguments), at("%to", to), 1);
    w.close_loop(loop);
    w.finish();
    code_ = machine_code(module.print(), cpu);
  }
  explicit operator bool() const { return code_ != nullptr; }
  void operator()(void* to, int64_t n, const void* a) const {
    reinterpret_cast<void (*)(void*, int64_t, const void*)>(code_->entry("f"))(to, n, a);
  }
  void operator()(void* to, int64_t n, const void* a, const void* b) const {
    reinterpret_cast<void (*)(void*, int64_t, const void*, const void*)>(code_->entry("f"))(to, n, a, b);
  }

 private:
  std::shared_ptr<const jit::MachineCode> code_;
};

}  // namespace quern::target
