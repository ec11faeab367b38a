#include "vgpu/compile.h"

#include <chrono>

#include "artifact/cache.h"
#include "base/text.h"
#include "jit/cpu_target.h"
#include "vgpu/inline.h"

namespace quern::vgpu {
namespace {

// SROA makes registers of slots; the rest is what pays for its time (recipes: measured against default<O2>, which is
// slower to compile and makes slower code of large blocks).
constexpr const char* kPasses = "function(sroa,early-cse,simplifycfg,instcombine<no-verify-fixpoint>,early-cse,adce)";
// Where masks are lanes of 32 bits, instcombine would make vectors of i1 of them again.
constexpr const char* kWidePasses = "function(sroa,early-cse,simplifycfg,instsimplify,early-cse,adce)";

Target target_of(const AddressSpace& space, const BlockClass& block, const Settings& settings) {
  Machine machine = settings.machine.value_or(this_machine());
  Target out;
  out.space = space;
  out.checks = settings.checks;
  out.block = block;
  out.avx512 = machine.cpu.level == jit::VectorLevel::kAvx512;
  out.lane_masks = machine.lane_masks;
  out.f16c = machine.cpu.f16c;
  out.count = settings.count;
  return out;
}

// A frame holds more than the chip's would: registers that a call needs again are eight bytes and more each.
int64_t stack_of(const Settings& settings) { return std::max<int64_t>(settings.limits.stack_bytes, 256) * 16; }

}  // namespace

Machine this_machine() {
  jit::CpuTarget cpu = jit::host_cpu();
  return {cpu, cpu.level != jit::VectorLevel::kAvx512};
}

Result<std::string> llvm_text(const ptx::Module& module, const ptx::Function& kernel, const AddressSpace& space,
                              const BlockClass& block, const Settings& settings) {
  Target target = target_of(space, block, settings);
  auto body = inlined(module, kernel, stack_of(settings));
  if (!body) return fail(body.error());
  Emit emit(module, *body, target);
  bool loop = !Emit::waits(*body) && !emit.frame().local_bytes && !emit.frame().shared_bytes;
  return emit.text(loop);
}

Result<std::shared_ptr<const Compiled>> compiled(Program& program, const ptx::Function& kernel, const BlockClass& block,
                                                 const Settings& settings, double* seconds) {
  Machine machine = settings.machine.value_or(this_machine());
  std::string key = fmt::format("{} {} {} {} {} {} {} {} {} {}", jit::key(machine.cpu), machine.lane_masks, kernel.name,
                                static_cast<int>(block.kind), block.narrow, block.full, settings.checks.memory,
                                settings.checks.init, settings.count, settings.limits.stack_bytes);
  if (auto found = program.find(key)) return found;
  auto start = std::chrono::steady_clock::now();
  Target target = target_of(program.memory().space(), block, settings);
  auto out = std::make_shared<Compiled>();
  auto body = inlined(program.module(), kernel, stack_of(settings));
  if (!body) return fail(body.error());
  out->body = std::move(*body);
  out->function = &out->body;
  Emit emit(program.module(), out->body, target);
  out->shared_bytes = emit.frame().shared_bytes;
  out->local_bytes = emit.frame().local_bytes;
  out->waits = Emit::waits(out->body);
  out->multipliers = multipliers(machine.cpu.level);
  for (const Block& b : emit.flow().blocks) out->block_instructions.push_back(b.end - b.begin);
  bool loop = !out->waits && !out->local_bytes && !out->shared_bytes;
  auto text = emit.text(loop);
  if (!text) return fail(text.error());
  out->checks = emit.records();
  // The text is the key: it holds the addresses of the range, the checks and the class.
  const char* passes = target.lane_masks ? kWidePasses : kPasses;
  artifact::Cache cache(settings.cache_folder);
  std::string disk_key = fmt::format("vgpu\n{}\n{}\n{}\n{}", jit::llvm_version(), jit::key(machine.cpu), passes, *text);
  std::string object;
  if (auto kept = cache.find(disk_key)) object = std::move(*kept);
  if (object.empty()) {
    auto made = jit::compile(*text, machine.cpu, {.passes = passes, .quick = true});
    if (!made) return fail(made.error());
    object = std::move(*made);
    cache.keep(disk_key, object);
  }
  auto code = jit::load(object);
  if (!code) return fail(code.error());
  out->code = *code;
  void* entry = out->code->entry("kernel");
  if (loop) {
    out->blocks = reinterpret_cast<BlocksCode>(entry);
  } else {
    out->warp = reinterpret_cast<WarpCode>(entry);
  }
  *seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  program.keep(key, out);
  return out;
}

}  // namespace quern::vgpu
