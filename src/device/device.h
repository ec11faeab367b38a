// The device interface: what differs between processors, as verbs with contracts. Callers never ask which device it is.
//
// A device runs artifacts of one kind. `load` makes one ready, `run` computes. What is loaded may be run from several
// threads at once, each with arguments of its own; it lives as long as somebody holds it, the device too.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "artifact/report.h"
#include "base/result.h"

namespace quern::device {

// One run. Memory of arguments belongs to the caller and must live until the run ends.
struct Call {
  // An address for each parameter of the artifact that is kIn, kOut or kInout, in order: row-major, aligned to its
  // element, in memory that this device reaches (`allocate`; the processor reaches all). An address of no elements may
  // be null. What is written overlaps nothing else.
  std::vector<void*> arguments;
  std::vector<int64_t> dims;   // sizes of Artifact::dims
  int threads = 0;             // 0: all that the device has
  bool deterministic = false;  // kernels in which reals meet run in order
  // Called now and then by one thread at a time, with the points done and all; false stops the run.
  std::function<bool(int64_t done, int64_t total)> progress;
};

struct Ran {
  std::vector<artifact::Fault> faults;  // in the order of Artifact::sites, each site once
  bool stopped = false;                 // by `progress`: results are not complete
};

class Executable {
 public:
  virtual ~Executable() = default;
  virtual const artifact::Artifact& artifact() const = 0;
  // Computes; results are in the caller's memory when it returns. E716 where temporary buffers can't be had, B001 where
  // the call doesn't fit the artifact.
  virtual Result<Ran> run(const Call& call) const = 0;
};

// Memory that the device reaches fast, zeroed, 64-byte aligned. It frees itself.
using Memory = std::shared_ptr<std::byte>;

class Device {
 public:
  virtual ~Device() = default;
  virtual std::string name() const = 0;                      // as --on takes it
  virtual std::string description() const = 0;               // one line: model, cores, what vectors it has
  virtual Result<Memory> allocate(int64_t bytes) const = 0;  // E716
  // B001 where the code can't be linked.
  virtual Result<std::shared_ptr<const Executable>> load(std::shared_ptr<const artifact::Artifact> artifact) const = 0;
};

}  // namespace quern::device
