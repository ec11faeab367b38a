// The processor that this runs on: the row of its class, with what the system tells put over it.
#pragma once

#include "chip/chip.h"

namespace quern::chip {

// Model from cpuid, caches from sysfs, clock from sysfs or /proc/cpuinfo; what can't be read stays as the class has it.
// `flops` is a formula (clock, vectors, multiply-adds a cycle) until somebody measures it; `bandwidth` is not known.
Chip host();

}  // namespace quern::chip
