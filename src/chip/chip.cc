#include "chip/chip.h"

namespace quern::chip {

const std::vector<Chip>& chips() {
  auto row = [](const char* name, double vector, double registers, double l1, double l2, double l3, double clock,
                double fma, const char* source) {
    Chip c;
    c.name = name;
    c.vector_bytes = {vector, source};
    c.registers = {registers, source};
    c.line_bytes = {64, source};
    c.l1_bytes = {l1 * 1024, source};
    c.l2_bytes = {l2 * 1024, source};
    c.l3_bytes = {l3 * 1024, source};
    c.clock = {clock * 1e6, source};
    c.fma_per_cycle = {fma, source};
    c.units = {1, source};
    return c;
  };
  static const std::vector<Chip> all = {
#define QUERN_CHIP(name, vector, registers, l1, l2, l3, clock, fma, source) \
  row(name, vector, registers, l1, l2, l3, clock, fma, source),
#include "chip/chips.def"
#undef QUERN_CHIP
  };
  return all;
}

const Chip* find(std::string_view name) {
  for (const std::vector<Chip>* table : {&chips(), &gpus()}) {
    for (const Chip& c : *table) {
      if (c.name == name) return &c;
    }
  }
  return nullptr;
}

}  // namespace quern::chip
