// This machine as the passes ask about it: registers and register blocks from what is compiled for, sizes of caches and
// rates from the chip row of the host.
#pragma once

#include "jit/cpu_target.h"
#include "tile/machine.h"

namespace quern::compile {

tile::Machine machine_for(const jit::CpuTarget& target);

}  // namespace quern::compile
