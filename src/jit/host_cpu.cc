// What this machine's processor has, as LLVM tells.
#include <llvm/ADT/StringMap.h>
#include <llvm/TargetParser/Host.h>

#include <algorithm>
#include <vector>

#include "jit/cpu_target.h"

namespace quern::jit {
namespace {

CpuTarget found() {
  CpuTarget out;
  llvm::StringMap<bool> has = llvm::sys::getHostCPUFeatures();
  out.cpu = llvm::sys::getHostCPUName().str();
  std::vector<std::string> list;
  for (const auto& [feature, present] : has) list.push_back((present ? "+" : "-") + feature.str());
  std::sort(list.begin(), list.end());  // the map's order is not the same in every run
  for (const std::string& f : list) out.features += (out.features.empty() ? "" : ",") + f;
  auto all = [&](std::initializer_list<const char*> names) {
    return std::all_of(names.begin(), names.end(), [&](const char* n) { return has.lookup(n); });
  };
  out.fma = has.lookup("fma");
  out.f16c = has.lookup("f16c");
  if (all({"avx2", "fma", "f16c", "bmi2"})) out.level = VectorLevel::kAvx2, out.vector_bytes = 32;
  if (out.level == VectorLevel::kAvx2 && all({"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"})) {
    out.level = VectorLevel::kAvx512, out.vector_bytes = 64;
    out.features += ",-prefer-256-bit";  // as in cpu_of
    out.bf16_dot = has.lookup("avx512bf16");
    out.int8_dot = has.lookup("avx512vnni");
  }
  return out;
}

}  // namespace

CpuTarget host_cpu() {
  static const CpuTarget& host = *new CpuTarget(found());  // for threads that outlive static objects
  return host;
}

}  // namespace quern::jit
