// The driver's functions for programs that ask the runtime for them, and names that CUDA 12 still has.
#include "cuda/api/entry.h"

namespace quern::cuda {
namespace {

Error by_version(const char* name, void** out, unsigned version, unsigned long long flags, int* status) {
  auto find = reinterpret_cast<Error (*)(const char*, void**, int, uint64_t, int*)>(
      find_export("cuGetProcAddress_v2", kDriverVersion));
  if (!name || !out) return remember(Error::kInvalidValue);
  int found = 0;
  find(name, out, static_cast<int>(version), flags, &found);
  if (status) *status = found;
  // What isn't there is told by the status, or by the null, and is no error.
  return Error::kSuccess;
}

Error cudaGetDriverEntryPoint(const char* name, void** out, unsigned long long flags, int* status) {
  return by_version(name, out, 0, flags, status);
}

void* runtime_13(const char* name) { return find_export(name, 13); }

Error thread_exit() { return reinterpret_cast<Error (*)()>(runtime_13("cudaDeviceReset"))(); }
Error thread_synchronize() { return reinterpret_cast<Error (*)()>(runtime_13("cudaDeviceSynchronize"))(); }

}  // namespace

std::span<const Export> driver_entry_exports() {
  static const Export rows[] = {
      QUERN_EXPORT(cudaGetDriverEntryPoint),
      QUERN_EXPORT_AS(cudaGetDriverEntryPoint_ptsz, cudaGetDriverEntryPoint, 0),
      QUERN_EXPORT_AS(cudaGetDriverEntryPointByVersion, by_version, 0),
      QUERN_EXPORT_AS(cudaGetDriverEntryPointByVersion_ptsz, by_version, 0),
      QUERN_EXPORT_AS(cudaThreadExit, thread_exit, 12),
      QUERN_EXPORT_AS(cudaThreadSynchronize, thread_synchronize, 12),
  };
  return rows;
}

}  // namespace quern::cuda
