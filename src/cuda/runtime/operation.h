// What a stream or a graph can be asked to do, as plain data.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
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
  bool external = false;  // in a capture: a node of its own, not an edge
};

struct EventWait {
  std::shared_ptr<Event> event;
  bool external = false;
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
                               EventWait, AllocCall, FreeCall, ChildGraph, LibraryCall, ReleaseCall>;

}  // namespace quern::cuda
