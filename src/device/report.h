// What a kernel recorded about its data, as the diagnostics E801, E802 and E803 that the interpreter gives.
#pragma once

#include "device/device.h"

namespace quern::device {

// `sources` are those of the program that was compiled, in order: places of the artifact lead into them.
Diagnostics findings(const artifact::Artifact& artifact, const std::vector<Fault>& faults,
                     const std::vector<SourcePtr>& sources);

// The remarks about how it was compiled.
Diagnostics remarks(const artifact::Artifact& artifact, const std::vector<SourcePtr>& sources);

}  // namespace quern::device
