// PTX that is loaded: its variables have addresses in the device's memory, its kernels can be launched.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/result.h"
#include "ptx/module.h"
#include "vgpu/memory.h"

namespace quern::vgpu {

class Compiled;

class Program {
 public:
  // `module`: linked (ptx::link). Allocates and fills its variables. E951 where there is no memory for them.
  static Result<std::shared_ptr<Program>> load(std::shared_ptr<Memory> memory, ptx::Module module, int device = 0);
  ~Program();  // releases the variables

  const ptx::Module& module() const { return module_; }
  Memory& memory() const { return *memory_; }
  const ptx::Function* kernel(std::string_view name) const;  // null if there is none

  struct Placed {
    uint64_t address = 0;
    int64_t bytes = 0;
  };
  std::optional<Placed> variable(std::string_view name) const;  // global and constant ones
  uint64_t address(int32_t variable) const;                     // by its index in the module; 0 for shared ones

  // Compiled forms of kernels, by a key of launch.cc's.
  std::shared_ptr<const Compiled> find(const std::string& key) const;
  void keep(const std::string& key, std::shared_ptr<const Compiled> compiled);

 private:
  Program() = default;
  std::shared_ptr<Memory> memory_;
  ptx::Module module_;
  std::vector<uint64_t> addresses_;
  std::unordered_map<std::string, int32_t> kernels_, variables_;
  mutable std::mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<const Compiled>> compiled_;
};

}  // namespace quern::vgpu
