// The devices that --on can name.
#pragma once

#include <string>

#include "base/result.h"

namespace quern::cli {

// N905 for a device that comes later, E743 for one that doesn't exist.
Result<void> check_device(const std::string& name);

}  // namespace quern::cli
