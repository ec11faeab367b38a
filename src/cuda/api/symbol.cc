// Variables of device code, by the host's variables of the same name.
#include "cuda/api/entry.h"
#include "cuda/api/graph_nodes.h"
#include "cuda/runtime/copy.h"
#include "cuda/runtime/registry.h"

namespace quern::cuda {
namespace {

Error locate(const void* symbol, vgpu::Program::Placed& out) {
  Lock lock(Process::get().mutex);
  Variable* v = Registry::get().variable(symbol);
  if (!v) return Error::kInvalidSymbol;
  auto program = v->image->program(thread_state().device);
  if (!program) end_with(program.error());
  // What no device code uses the compiler leaves out.
  auto placed = (*program)->variable(v->name);
  if (!placed) return Error::kInvalidSymbol;
  out = *placed;
  return Error::kSuccess;
}

Error copy_symbol(const void* symbol, void* outside, size_t bytes, size_t offset, CopyKind kind, bool in,
                  Stream* stream, bool sync) {
  return open_entry([&] {
    Copy3D copy;
    if (Error e = symbol_copy(symbol, outside, bytes, offset, kind, in, copy); e != Error::kSuccess) return e;
    return submit_copy(stream, copy, sync);
  });
}

Error cudaMemcpyToSymbolAsync(const void* symbol, const void* from, size_t bytes, size_t offset, CopyKind kind,
                              Stream* stream) {
  return copy_symbol(symbol, const_cast<void*>(from), bytes, offset, kind, true, stream, false);
}

Error cudaMemcpyToSymbol(const void* symbol, const void* from, size_t bytes, size_t offset, CopyKind kind) {
  return copy_symbol(symbol, const_cast<void*>(from), bytes, offset, kind, true, nullptr, true);
}

Error cudaMemcpyFromSymbolAsync(void* to, const void* symbol, size_t bytes, size_t offset, CopyKind kind,
                                Stream* stream) {
  return copy_symbol(symbol, to, bytes, offset, kind, false, stream, false);
}

Error cudaMemcpyFromSymbol(void* to, const void* symbol, size_t bytes, size_t offset, CopyKind kind) {
  return copy_symbol(symbol, to, bytes, offset, kind, false, nullptr, true);
}

Error cudaGetSymbolAddress(void** out, const void* symbol) {
  return entry([&] {
    vgpu::Program::Placed placed;
    if (!out) return Error::kInvalidValue;
    if (Error e = locate(symbol, placed); e != Error::kSuccess) return e;
    *out = reinterpret_cast<void*>(placed.address);
    return Error::kSuccess;
  });
}

Error cudaGetSymbolSize(size_t* out, const void* symbol) {
  return entry([&] {
    vgpu::Program::Placed placed;
    if (!out) return Error::kInvalidValue;
    if (Error e = locate(symbol, placed); e != Error::kSuccess) return e;
    *out = static_cast<size_t>(placed.bytes);
    return Error::kSuccess;
  });
}

}  // namespace

Error symbol_copy(const void* symbol, void* outside, size_t bytes, size_t offset, CopyKind kind, bool in, Copy3D& out) {
  vgpu::Program::Placed placed;
  if (Error e = locate(symbol, placed); e != Error::kSuccess) return e;
  auto size = static_cast<size_t>(placed.bytes);
  if (offset > size || bytes > size - offset) return Error::kInvalidValue;
  bool fits = kind == CopyKind::kDefault || kind == CopyKind::kDeviceToDevice ||
              kind == (in ? CopyKind::kHostToDevice : CopyKind::kDeviceToHost);
  if (!fits) return Error::kInvalidMemcpyDirection;
  void* inside = reinterpret_cast<void*>(placed.address + offset);
  out = in ? linear_copy(inside, outside, bytes, kind) : linear_copy(outside, inside, bytes, kind);
  return check_copy(out);
}

std::span<const Export> symbol_exports() {
  static const Export rows[] = {
      QUERN_EXPORT_STREAM(cudaMemcpyToSymbolAsync),
      QUERN_EXPORT_THREAD(cudaMemcpyToSymbol),
      QUERN_EXPORT_STREAM(cudaMemcpyFromSymbolAsync),
      QUERN_EXPORT_THREAD(cudaMemcpyFromSymbol),
      QUERN_EXPORT(cudaGetSymbolAddress),
      QUERN_EXPORT(cudaGetSymbolSize),
  };
  return rows;
}

}  // namespace quern::cuda
