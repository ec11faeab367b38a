// What a kernel recorded about its data, as the diagnostics E801, E802 and E803 that the interpreter gives.
#pragma once

#include <utility>
#include <vector>

#include "artifact/artifact.h"
#include "base/diagnostic.h"

namespace quern::artifact {

// The first access that failed at a site: kernel by kernel, then by grid point.
struct Fault {
  int32_t site = -1;                                 // of Artifact::sites
  int32_t kernel = -1;                               // of Artifact::kernels
  int64_t point = INT64_MAX;                         // of the kernel's grid
  int32_t subscript = 0;                             // which one of the access
  int64_t value = 0;                                 // what it was
  int64_t extent = 0;                                // of its dimension
  std::vector<std::pair<int32_t, int64_t>> indices;  // of MachineKernel::axes, and their values, as far as known
};

// `sources` are those of the program that was compiled, in order: places of the artifact lead into them.
Diagnostics findings(const Artifact& artifact, const std::vector<Fault>& faults, const std::vector<SourcePtr>& sources);

// The remarks about how it was compiled.
Diagnostics remarks(const Artifact& artifact, const std::vector<SourcePtr>& sources);

}  // namespace quern::artifact
