// The driver's copies of two and three dimensions, and those between arrays and rows of bytes.
#include "cuda/abi/driver_types.h"
#include "cuda/api/entry.h"
#include "cuda/runtime/array.h"
#include "cuda/runtime/copy.h"
#include "cuda/runtime/live.h"

namespace quern::cuda {
namespace {

// One side for cudaMemcpy3D: what isn't an array starts at its first byte.
Error set_side(const DriverCopy3DSide& s, size_t element, size_t width, Array*& array, Pos& at, PitchedPtr& pointer) {
  size_t pitch = s.pitch ? s.pitch : s.x + width;
  switch (s.memory) {
    case DriverMemory::kArray:
      if (s.x % element) return Error::kInvalidValue;
      array = s.array;
      at = {s.x / element, s.y, s.z};
      return Error::kSuccess;
    case DriverMemory::kHost: pointer.ptr = s.host; break;
    case DriverMemory::kDevice:
    case DriverMemory::kUnified: pointer.ptr = reinterpret_cast<void*>(s.device); break;
    default: return Error::kInvalidValue;
  }
  if (!pointer.ptr) return Error::kInvalidValue;
  pointer.ptr = static_cast<std::byte*>(pointer.ptr) + (s.z * s.height + s.y) * pitch + s.x;
  pointer.pitch = pitch;
  pointer.ysize = s.height;
  return Error::kSuccess;
}

CopyKind kind_of(DriverMemory to, DriverMemory from) {
  if (to == DriverMemory::kUnified || from == DriverMemory::kUnified) return CopyKind::kDefault;
  bool to_host = to == DriverMemory::kHost, from_host = from == DriverMemory::kHost;
  if (from_host) return to_host ? CopyKind::kHostToHost : CopyKind::kHostToDevice;
  return to_host ? CopyKind::kDeviceToHost : CopyKind::kDeviceToDevice;
}

Error plan(const DriverCopy3D& c, Copy3D& out) {
  size_t element = 1;
  for (const DriverCopy3DSide* s : {&c.from, &c.to}) {
    if (s->memory != DriverMemory::kArray) continue;
    auto array = Live<Array>::all().find(s->array);
    if (!array || s->level) return Error::kInvalidValue;
    element = array->element_bytes;
  }
  if (c.width % element) return Error::kInvalidValue;
  Error e = set_side(c.from, element, c.width, out.src_array, out.src_pos, out.src_ptr);
  if (e != Error::kSuccess) return e;
  e = set_side(c.to, element, c.width, out.dst_array, out.dst_pos, out.dst_ptr);
  if (e != Error::kSuccess) return e;
  out.extent = {c.width / element, c.height, c.depth};
  out.kind = kind_of(c.to.memory, c.from.memory);
  return Error::kSuccess;
}

Error copy_box(const DriverCopy3D* c, Stream* stream, bool sync) {
  return open_entry([&] {
    if (!c) return Error::kInvalidValue;
    Copy3D copy{};
    {
      Lock lock(Process::get().mutex);
      if (Error e = plan(*c, copy); e != Error::kSuccess) return e;
    }
    return submit_copy(stream, copy, sync);
  });
}

Error cuMemcpy3DAsync_v2(const DriverCopy3D* c, Stream* stream) { return copy_box(c, stream, false); }
Error cuMemcpy3D_v2(const DriverCopy3D* c) { return copy_box(c, nullptr, true); }

Error copy_rows(const DriverCopy2D* c, Stream* stream, bool sync) {
  if (!c) return remember(Error::kInvalidValue);
  auto side = [](const DriverCopy2DSide& s) {
    return DriverCopy3DSide{s.x, s.y, 0, 0, s.memory, s.host, s.device, s.array, nullptr, s.pitch, 0};
  };
  DriverCopy3D all{side(c->from), side(c->to), c->width, c->height, 1};
  return copy_box(&all, stream, sync);
}

Error cuMemcpy2DAsync_v2(const DriverCopy2D* c, Stream* stream) { return copy_rows(c, stream, false); }
Error cuMemcpy2D_v2(const DriverCopy2D* c) { return copy_rows(c, nullptr, true); }

// Bytes of an array of one dimension, by the runtime's function of that name.
template <class... A>
Error runtime(const char* name, A... arguments) {
  return reinterpret_cast<Error (*)(A...)>(find_export(name, 13))(arguments...);
}

Error cuMemcpyHtoAAsync_v2(Array* to, size_t offset, const void* from, size_t bytes, Stream* stream) {
  return runtime("cudaMemcpyToArrayAsync", to, offset, size_t{0}, from, bytes, CopyKind::kHostToDevice, stream);
}
Error cuMemcpyHtoA_v2(Array* to, size_t offset, const void* from, size_t bytes) {
  return runtime("cudaMemcpyToArray", to, offset, size_t{0}, from, bytes, CopyKind::kHostToDevice);
}
Error cuMemcpyAtoHAsync_v2(void* to, const Array* from, size_t offset, size_t bytes, Stream* stream) {
  return runtime("cudaMemcpyFromArrayAsync", to, from, offset, size_t{0}, bytes, CopyKind::kDeviceToHost, stream);
}
Error cuMemcpyAtoH_v2(void* to, const Array* from, size_t offset, size_t bytes) {
  return runtime("cudaMemcpyFromArray", to, from, offset, size_t{0}, bytes, CopyKind::kDeviceToHost);
}
Error cuMemcpyDtoA_v2(Array* to, size_t offset, uint64_t from, size_t bytes) {
  auto* at = reinterpret_cast<const void*>(from);
  return runtime("cudaMemcpyToArray", to, offset, size_t{0}, at, bytes, CopyKind::kDeviceToDevice);
}
Error cuMemcpyAtoD_v2(uint64_t to, const Array* from, size_t offset, size_t bytes) {
  auto* at = reinterpret_cast<void*>(to);
  return runtime("cudaMemcpyFromArray", at, from, offset, size_t{0}, bytes, CopyKind::kDeviceToDevice);
}
Error cuMemcpyAtoA_v2(Array* to, size_t to_offset, const Array* from, size_t from_offset, size_t bytes) {
  return runtime("cudaMemcpyArrayToArray", to, to_offset, size_t{0}, from, from_offset, size_t{0}, bytes,
                 CopyKind::kDeviceToDevice);
}

}  // namespace

std::span<const Export> driver_copy_array_exports() {
  static const Export rows[] = {
      QUERN_EXPORT_STREAM(cuMemcpy3DAsync_v2),
      QUERN_EXPORT_THREAD(cuMemcpy3D_v2),
      QUERN_EXPORT_STREAM(cuMemcpy2DAsync_v2),
      QUERN_EXPORT_THREAD(cuMemcpy2D_v2),
      QUERN_EXPORT_AS(cuMemcpy2DUnaligned_v2, cuMemcpy2D_v2, 0),
      QUERN_EXPORT_AS(cuMemcpy2DUnaligned_v2_ptds, cuMemcpy2D_v2, 0),
      QUERN_EXPORT_STREAM(cuMemcpyHtoAAsync_v2),
      QUERN_EXPORT_THREAD(cuMemcpyHtoA_v2),
      QUERN_EXPORT_STREAM(cuMemcpyAtoHAsync_v2),
      QUERN_EXPORT_THREAD(cuMemcpyAtoH_v2),
      QUERN_EXPORT_THREAD(cuMemcpyDtoA_v2),
      QUERN_EXPORT_THREAD(cuMemcpyAtoD_v2),
      QUERN_EXPORT_THREAD(cuMemcpyAtoA_v2),
  };
  return rows;
}

}  // namespace quern::cuda
