// What the passes produced, as an artifact.
#pragma once

#include "artifact/artifact.h"
#include "compile/compile.h"

namespace quern::compile {

// After the last pass. B001 where a shape is no formula of dimensions.
Result<artifact::Artifact> package(const State& state);

}  // namespace quern::compile
