// Artifacts of PTX on the virtual GPU (vgpu/), as a GPU of the chip's row would run them.
//
// Arguments are copied into device memory and back; what is not written there counts as not initialised. A check of the
// virtual GPU that fails is a fault of Quern's code: B001 with the report.
#pragma once

#include "chip/chip.h"
#include "device/device.h"

namespace quern::device::virtual_gpu {

// Loads the artifact's PTX. `chip` must live on. B001 where the artifact holds none, E95x where there is no memory.
Result<std::shared_ptr<const Executable>> load(std::shared_ptr<const artifact::Artifact> artifact,
                                               const chip::Chip& chip);

}  // namespace quern::device::virtual_gpu
