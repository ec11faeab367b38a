// An executable looked into before it is started: is it a program for this machine, how does it get at CUDA, and does
// it hold PTX that the chip runs. Only the file is read; nothing of it runs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "fatbin/choose.h"

namespace quern::fatbin {

struct ProgramFile {
  bool static_runtime = false;         // NVIDIA's runtime is linked into it, with the names that a preload finds
  std::vector<std::string> libraries;  // that it needs, as it names them: "libcudart.so.13"
  bool has_code = false;               // for GPUs, in any form
};

// E974: no such file, a folder, not executable, no ELF file, for another machine or 32-bit, damaged, stripped of the
// names by which a static runtime is found. E970 to E973 for its fatbins. A script (#!) is no error: it is for the
// programs that it starts.
Result<ProgramFile> look_into(const std::string& path, const ChipName& chip);

// The same for bytes; `path` is for messages.
Result<ProgramFile> look_into(std::span<const std::byte> bytes, const std::string& path, const ChipName& chip);

}  // namespace quern::fatbin
