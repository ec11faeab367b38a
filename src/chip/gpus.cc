// The table of GPUs as rows. What all chips of a compute capability share stands once, by capability.
#include "base/text.h"
#include "chip/chip.h"

namespace quern::chip {
namespace {

constexpr const char* kGuide = "CUDA C++ Programming Guide 13.0, technical specifications per compute capability";

Chip row(const char* name, const char* model, double capability, double units, double threads, double blocks,
         double shared, double shared_block, double l2, double clock, double memory, double memory_clock,
         double memory_bits, const char* source) {
  Chip c;
  c.name = name;
  c.kind = Kind::kGpu;
  c.model = model;
  c.units = {units, source};
  c.line_bytes = {128, kGuide};
  c.l2_bytes = {l2 * (1 << 20), source};
  c.clock = {clock * 1e6, source};
  Gpu& g = c.gpu;
  g.compute_capability = {capability, source};
  g.registers = {65536, kGuide};
  g.threads = {threads, kGuide};
  g.blocks = {blocks, kGuide};
  g.shared_bytes = {shared * 1024, kGuide};
  g.shared_block_bytes = {shared_block * 1024, kGuide};
  g.memory_bytes = {memory * 1e9, source};
  g.memory_clock = {memory_clock * 1e6, source};
  g.memory_bits = {memory_bits, source};
  return c;
}

}  // namespace

const std::vector<Chip>& gpus() {
  static const std::vector<Chip> all = {
#define QUERN_GPU(name, model, capability, units, threads, blocks, shared, shared_block, l2, clock, memory,   \
                  memory_clock, memory_bits, source)                                                          \
  row(name, model, capability, units, threads, blocks, shared, shared_block, l2, clock, memory, memory_clock, \
      memory_bits, source),
#include "chip/gpus.def"
#undef QUERN_GPU
  };
  return all;
}

Result<const Chip*> find_gpu(const std::string& name) {
  std::vector<std::string> names;
  for (const Chip& c : gpus()) {
    if (c.name == name) return &c;
    names.push_back(c.name);
  }
  auto d = diagnose(Code::E975, {}, {{"n", printable(name)}, {"have", join(names, ", ")}});
  if (auto near = nearest(name, names)) d.remedy = "did you mean `" + *near + "`?";
  return fail(std::move(d));
}

}  // namespace quern::chip
