// What code that nvcc makes for the host calls: a program's constructors register its kernels and variables, and <<<>>>
// becomes a push and a pop of its numbers around the call of a stub.
#include <vector>

#include "cuda/api/entry.h"
#include "cuda/runtime/launch.h"
#include "cuda/runtime/registry.h"

namespace quern::cuda {
namespace {

struct Configuration {
  Dim3 grid, block;
  size_t shared_bytes;
  void* stream;
};

std::vector<Configuration>& configurations() {
  thread_local std::vector<Configuration> all;
  return all;
}

void** __cudaRegisterFatBinary(void* wrapper) {
  Image* image = Registry::get().add_wrapper(wrapper);
  if (!image) {
    end_with({diagnose(Code::E970, {}, {{"what", "the program"}, {"why", "its wrapper is none that is known"}})});
  }
  return reinterpret_cast<void**>(image);
}

void __cudaRegisterFatBinaryEnd(void**) {}

void __cudaUnregisterFatBinary(void** handle) {
  // The program ends, and its threads and atexit functions may still use what it registered.
  static_cast<void>(handle);
}

void __cudaRegisterFunction(void** handle, const char* stub, char*, const char* name, int, void*, void*, void*, void*,
                            int*) {
  Registry::get().add_kernel(*reinterpret_cast<Image*>(handle), stub, name);
}

void __cudaRegisterVar(void** handle, char* shadow, char*, const char* name, int, size_t bytes, int constant, int) {
  Registry::get().add_variable(*reinterpret_cast<Image*>(handle),
                               {nullptr, name, static_cast<int64_t>(bytes), constant != 0, shadow, nullptr});
}

void __cudaRegisterManagedVar(void** handle, void** pointer, char*, const char* name, int, size_t bytes, int constant,
                              int) {
  Registry::get().add_variable(*reinterpret_cast<Image*>(handle),
                               {nullptr, name, static_cast<int64_t>(bytes), constant != 0, pointer, pointer});
}

void __cudaRegisterHostVar(void**, const char*, char*, size_t) {}
void __cudaRegisterUnifiedTable(void**, void*) {}

// Before host code first looks at a managed variable.
char __cudaInitModule(void** handle) {
  Error e = entry([&] {
    auto program = reinterpret_cast<Image*>(handle)->program(thread_state().device);
    if (!program) end_with(program.error());
    return Error::kSuccess;
  });
  return e == Error::kSuccess;
}

unsigned __cudaPushCallConfiguration(Dim3 grid, Dim3 block, size_t shared_bytes, void* stream) {
  configurations().push_back({grid, block, shared_bytes, stream});
  return 0;
}

Error __cudaPopCallConfiguration(Dim3* grid, Dim3* block, size_t* shared_bytes, void* stream) {
  if (configurations().empty()) return remember(Error::kMissingConfiguration);
  Configuration c = configurations().back();
  configurations().pop_back();
  *grid = c.grid;
  *block = c.block;
  *shared_bytes = c.shared_bytes;
  *static_cast<void**>(stream) = c.stream;
  return Error::kSuccess;
}

Error __cudaGetKernel(const void** handle, const void* stub) {
  return entry([&] {
    Kernel* kernel = Registry::get().kernel(stub);
    *handle = kernel;
    return kernel ? Error::kSuccess : Error::kInvalidDeviceFunction;
  });
}

Error __cudaLaunchKernel(const void* handle, Dim3 grid, Dim3 block, void** arguments, size_t shared_bytes,
                         Stream* stream) {
  return open_entry([&] {
    LaunchRequest r;
    r.function = handle;
    r.grid = grid;
    r.block = block;
    r.shared_bytes = shared_bytes;
    r.arguments = arguments;
    return launch(r, stream);
  });
}

}  // namespace

std::span<const Export> register_exports() {
  static const Export rows[] = {
      QUERN_EXPORT(__cudaRegisterFatBinary),    QUERN_EXPORT(__cudaRegisterFatBinaryEnd),
      QUERN_EXPORT(__cudaUnregisterFatBinary),  QUERN_EXPORT(__cudaRegisterFunction),
      QUERN_EXPORT(__cudaRegisterVar),          QUERN_EXPORT(__cudaRegisterManagedVar),
      QUERN_EXPORT(__cudaRegisterHostVar),      QUERN_EXPORT(__cudaRegisterUnifiedTable),
      QUERN_EXPORT(__cudaInitModule),           QUERN_EXPORT(__cudaPushCallConfiguration),
      QUERN_EXPORT(__cudaPopCallConfiguration), QUERN_EXPORT(__cudaGetKernel),
      QUERN_EXPORT_STREAM(__cudaLaunchKernel),
  };
  return rows;
}

}  // namespace quern::cuda
