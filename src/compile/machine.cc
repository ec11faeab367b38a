#include "compile/machine.h"

#include "chip/host.h"
#include "target/x86/emit.h"

namespace quern::compile {

tile::Machine machine_for(const jit::CpuTarget& target) {
  static const chip::Chip host = chip::host();
  tile::Machine m = target::machine_of(target);
  m.near_bytes = static_cast<int64_t>(host.l2_bytes.value) / 2;
  m.line_bytes = static_cast<int64_t>(host.line_bytes.value);
  m.units = static_cast<int64_t>(host.units.value);
  double lanes = static_cast<double>(target.vector_bytes) / 4;
  double per_cycle = target.fma ? host.fma_per_cycle.value : 0.5;
  m.flops_per_second = host.clock.value * per_cycle * lanes * 2;
  // Loads of a core from its L2: a line in two clocks, and a tenth of that from far memory where nobody has measured
  // it.
  m.near_bytes_per_second = host.clock.value * 32;
  m.far_bytes_per_second = host.bandwidth.known() ? host.bandwidth.value : host.clock.value * 3.2;
  return m;
}

}  // namespace quern::compile
