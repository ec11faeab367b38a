// What the back half offers: from a checked kernel whose sizes are bound to code that runs, and what lies between. It
// lives in a shared library of its own (backend/open.h), because LLVM's is a hundred megabytes that most commands
// don't need; this header is all that the front half sees of it.
//
// Both halves are one version, built together: C++ objects pass freely. The library holds a copy of the layers it uses;
// the only state among them, the pool of names, is shared (base/symbol.h).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/symbol.h"
#include "device/device.h"
#include "expr/bind.h"
#include "expr/program.h"

namespace quern::backend {

// The levels of the compiler, each of which can be the last.
enum class Level : uint8_t { kLowered, kTiled, kPlaced, kLaid, kLlvm, kAsm };

struct Options {
  std::string on;              // "virtual:h100": a chip's row; empty, "cpu": this machine
  bool trust = false;          // subscripts through data aren't tested: the caller has seen to it
  bool exact = false;          // no operand of a contraction is rounded that the program doesn't round
  bool deterministic = false;  // the same bits in every run, also where reals meet in `+=`
  std::string schedule;        // as text (tile/schedule.h); empty: the default rule
  std::string vectors;         // "sse2", "avx2", "avx512"; empty: what this machine has
  bool cache = true;           // look for compiled code on disk, and keep it there
  bool verify = false;         // check the program at every level
  bool store = false;          // every local that can lie in memory does, whatever it costs: for tests
};

// What to compile. Both live until the call returns.
struct Request {
  const expr::Program& program;
  const expr::Binding& binding;
  Options options = {};
};

struct PassTime {
  std::string name;
  double seconds = 0;
};

struct Compiled {
  std::shared_ptr<const device::Executable> executable;
  Diagnostics remarks;
  bool cached = false;  // its code came from disk
  std::vector<PassTime> times;
};

struct DeviceRow {
  std::string name;         // as --on takes it
  std::string description;  // one line
  double units = 0, clock = 0, vector_bytes = 0, l1_bytes = 0, l2_bytes = 0, l3_bytes = 0;
  std::vector<std::string> vectors;  // levels whose code runs here, as Options::vectors takes them
};

// What compiled code has to do (compile/count.h).
struct Work {
  double flops = 0;
  double moved_bytes = 0;  // between processor and far memory
  double least_bytes = 0;  // of the tensors in the signature, each once
  int kernels = 0;
};

struct Peak {
  double flops = 0;      // f32 operations a second, all threads
  double bandwidth = 0;  // bytes a second
};

// Errors of all: what the passes say (E306, E745, N90x), B001 where Quern is wrong.
struct Backend {
  const char* version;  // of the library; must be that of who opens it
  Result<Compiled> (*compile)(const Request& request);
  Result<std::string> (*emit)(const Request& request, Level level);
  Result<std::string> (*derive)(const Request& request);
  Result<Work> (*count)(const Request& request);
  std::vector<DeviceRow> (*devices)();
  Peak (*measure_peak)(int threads);
};

// What the library exports, as "quern_backend".
using Entry = const Backend* (*)(SymbolPool* pool);

}  // namespace quern::backend
