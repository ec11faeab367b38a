// A small device for tests: PTX from a file or text, arrays in device memory, launches.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "ptx/parse.h"
#include "vgpu/launch.h"
#include "vgpu/memory.h"
#include "vgpu/program.h"

namespace quern::vgpu {

class Device {
 public:
  explicit Device(const std::string& path) {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    open(text.str(), path);
  }

  struct Text {
    std::string text;
  };
  explicit Device(const Text& text) { open(text.text, "text.ptx"); }

  Memory& memory() { return *memory_; }
  Program& program() { return *program_; }

  uint64_t allocate(int64_t bytes) { return memory_->allocate(bytes, 256, Holds::kGlobal, "cudaMalloc").value(); }

  template <class T>
  uint64_t copy(const std::vector<T>& values) {
    uint64_t at = allocate(static_cast<int64_t>(values.size() * sizeof(T)));
    std::memcpy(reinterpret_cast<void*>(at), values.data(), values.size() * sizeof(T));
    memory_->mark_written(at, static_cast<int64_t>(values.size() * sizeof(T)));
    return at;
  }

  template <class T>
  std::vector<T> read(uint64_t at, size_t count) {
    std::vector<T> out(count);
    std::memcpy(out.data(), reinterpret_cast<const void*>(at), count * sizeof(T));
    return out;
  }

  template <class... A>
  static std::vector<std::byte> pack(const A&... a) {
    std::vector<std::byte> out;
    auto put = [&](const auto& v) {
      size_t at = (out.size() + sizeof v - 1) / sizeof v * sizeof v;
      out.resize(at + sizeof v);
      std::memcpy(out.data() + at, &v, sizeof v);
    };
    (put(a), ...);
    return out;
  }

  // The fault, if there was one; fails the test where the launch was refused.
  std::optional<Fault> run(const char* kernel, Extent grid, Extent block, std::vector<std::byte> arguments) {
    Launch launch;
    launch.grid = grid, launch.block = block, launch.arguments = std::move(arguments);
    auto ran = vgpu::run(*program_, kernel, launch, settings);
    if (!ran) {
      ADD_FAILURE() << render(ran.error());
      return std::nullopt;
    }
    return ran->fault;
  }

  Settings settings;

 private:
  void open(const std::string& text, const std::string& name) {
    auto module = ptx::parse(text, name);
    if (!module) throw std::runtime_error(render(module.error()));
    auto memory = Memory::create();
    if (!memory) throw std::runtime_error(render(memory.error()));
    memory_ = *memory;
    auto program = Program::load(memory_, *module);
    if (!program) throw std::runtime_error(render(program.error()));
    program_ = *program;
  }

  std::shared_ptr<Memory> memory_;
  std::shared_ptr<Program> program_;
};

}  // namespace quern::vgpu
