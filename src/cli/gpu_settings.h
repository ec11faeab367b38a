// The options of `quern exec`, understood.
#pragma once

#include <string>
#include <vector>

#include "backend/virtual_gpu.h"
#include "cli/command_line.h"

namespace quern::cli {

struct GpuOptions {
  backend::GpuSettings settings;
  int devices = 1;
  bool json = false;
};

// E740 for what can't be understood, E975 for a chip without a row.
Result<GpuOptions> parse_gpu_options(const CommandLine& line);

// "4", "4,2" or "4,2,1": E740 for anything else, with the option's name.
Result<void> parse_extent(const std::string& option, const std::optional<std::string>& text, uint32_t (&out)[3]);

}  // namespace quern::cli
