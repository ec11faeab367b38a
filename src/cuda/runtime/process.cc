#include "cuda/runtime/process.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <thread>

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
  end_process(exit_code(diagnostics));
}

void end_process(int code) {
  // A thread of the program may hold a file's lock: while it waits for input, say.
  std::promise<void> written;
  auto done = written.get_future();
  std::thread([&written] {
    std::fflush(nullptr);
    written.set_value();
  }).detach();
  done.wait_for(std::chrono::seconds(1));
  std::_Exit(code);
}

}  // namespace quern::cuda
