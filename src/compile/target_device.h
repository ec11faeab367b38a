// What a request compiles for: this machine's processor, or a GPU by its chip's row.
#pragma once

#include <memory>
#include <optional>

#include "artifact/artifact.h"
#include "backend/backend.h"
#include "chip/chip.h"
#include "jit/cpu_target.h"
#include "jit/gpu_target.h"
#include "tile/machine.h"

namespace quern::compile {

struct TargetDevice {
  jit::CpuTarget cpu;                 // of the processor that computes, or that launches
  std::optional<jit::GpuTarget> gpu;  // that computes
  const chip::Chip* chip = nullptr;   // its row
};

// Of Options::on and Options::vectors. E740 where they can't be understood, E975 for a chip without a row.
Result<TargetDevice> device_of(const backend::Options& options);

// What placement and the default rule need to know, from the host's row of the chip table or from the GPU's.
tile::Machine machine_for(const TargetDevice& device);

// Ready to run there.
Result<std::shared_ptr<const device::Executable>> load(std::shared_ptr<const artifact::Artifact> artifact,
                                                       const TargetDevice& device);

}  // namespace quern::compile
