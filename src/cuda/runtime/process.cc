#include "cuda/runtime/process.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace quern::cuda {

Process::Process(Config config, std::shared_ptr<vgpu::Memory> memory)
    : config(std::move(config)), memory(std::move(memory)) {
  for (int i = 0; i < this->config.devices; ++i) {
    Device d;
    d.number = i;
    d.limits = limits_of(*this->config.chip);
    devices.push_back(std::move(d));
  }
}

Process& Process::get() {
  static Process& only = []() -> Process& {
    auto config = config_from_environment();
    if (!config) end_with(config.error());
    auto memory = vgpu::Memory::create();
    if (!memory) end_with(memory.error());
    return *new Process(*std::move(config), *std::move(memory));
  }();
  return only;
}

ThreadState& thread_state() {
  thread_local ThreadState state;
  return state;
}

Device& current_device() { return Process::get().device(thread_state().device); }

void warn(const Diagnostics& diagnostics) {
  std::fflush(stdout);
  std::fputs(render(diagnostics, ::isatty(STDERR_FILENO)).c_str(), stderr);
}

void end_with(const Diagnostics& diagnostics) {
  warn(diagnostics);
  std::fflush(nullptr);
  std::_Exit(exit_code(diagnostics));
}

}  // namespace quern::cuda
