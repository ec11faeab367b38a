// What a stream or a graph can be asked to do, as plain data.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "cuda/abi/types.h"
#include "cuda/runtime/image.h"

namespace quern::cuda {

struct Graph;

struct KernelCall {
  Kernel* kernel = nullptr;
  const void* function = nullptr;  // as the caller named it
  Dim3 grid, block;
  std::array<uint32_t, 3> cluster = {1, 1, 1};
  size_t shared_bytes = 0;
  bool cooperative = false;
  std::vector<std::byte> arguments;  // vgpu's parameter bank
  std::vector<int64_t> offsets;      // of each argument in it
  std::vector<void*> pointers;       // to each argument, once a program asked for them
};

struct HostCall {
  HostFunction function = nullptr;
  void* data = nullptr;
};

struct CallbackCall {
  StreamCallback function = nullptr;
  Stream* stream = nullptr;
  void* data = nullptr;
};

struct EventRecord {
  std::shared_ptr<Event> event;
  bool external = false;           // in a capture: a node of its own, not an edge
  std::optional<uint64_t> number;  // among those of several processes; none: the one that comes when it runs
};

struct EventWait {
  std::shared_ptr<Event> event;
  bool external = false;
  std::optional<uint64_t> number;  // of the record; none: the last when it runs
};

struct AllocCall {
  PoolProps props{};
  size_t bytes = 0;
  void* address = nullptr;
};

struct FreeCall {
  void* address = nullptr;
};

struct ChildGraph {
  std::shared_ptr<Graph> graph;
};

// A word in device memory, whose address is the handle of a condition: what kernels write there decides.
struct Condition {
  uint64_t address = 0;
  uint32_t at_launch = 0;  // its value then,
  bool assigned = false;   // if this says so
  ~Condition();
};

enum class ConditionalKind : int { kIf = 0, kWhile = 1, kSwitch = 2 };

struct Conditional {
  std::shared_ptr<Condition> condition;
  ConditionalKind kind = ConditionalKind::kIf;
  std::vector<std::shared_ptr<Graph>> bodies;
  std::shared_ptr<std::vector<Graph*>> handles;  // of them, as the program was told
};

// Work of a library's function, which stands for its kernels.
struct LibraryCall {
  std::function<Error()> run;
};

// What cudaFreeAsync frees, in its turn.
struct ReleaseCall {
  void* address = nullptr;
};

struct Nothing {};

using Operation = std::variant<Nothing, KernelCall, Copy3D, MemsetParams, HostCall, CallbackCall, EventRecord,
                               EventWait, AllocCall, FreeCall, ChildGraph, Conditional, LibraryCall, ReleaseCall>;

}  // namespace quern::cuda
