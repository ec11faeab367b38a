// Copies and fills of memory, in one to three dimensions, at once or in a stream.
#include "cuda/runtime/copy.h"

#include "cuda/api/entry.h"

namespace quern::cuda {
namespace {

// What is wrong with it is found when it is asked for, not when a graph runs it.
Error submit_copy(const Copy3D& copy, Stream* stream) {
  if (Error e = check_copy(copy); e != Error::kSuccess) return e;
  return submit(stream, copy);
}

Error submit_fill(void* to, size_t pitch, int value, size_t width, size_t height, Stream* stream) {
  MemsetParams fill{to, pitch, static_cast<uint8_t>(value), 1, width, height};
  if (Error e = check_fill(fill); e != Error::kSuccess) return e;
  return submit(stream, fill);
}

Error cudaMemcpyAsync(void* to, const void* from, size_t bytes, CopyKind kind, Stream* stream) {
  return open_entry([&] { return submit_copy(linear_copy(to, from, bytes, kind), stream); });
}

Error cudaMemcpy(void* to, const void* from, size_t bytes, CopyKind kind) {
  return cudaMemcpyAsync(to, from, bytes, kind, nullptr);
}

Error cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                        CopyKind kind, Stream* stream) {
  return open_entry([&] {
    if (width > to_pitch || width > from_pitch) return Error::kInvalidPitchValue;
    return submit_copy(pitched_copy(to, to_pitch, from, from_pitch, width, height, kind), stream);
  });
}

Error cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                   CopyKind kind) {
  return cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, height, kind, nullptr);
}

Error cudaMemcpy3DAsync(const Copy3D* copy, Stream* stream) {
  return open_entry([&] { return copy ? submit_copy(*copy, stream) : Error::kInvalidValue; });
}

Error cudaMemcpy3D(const Copy3D* copy) { return cudaMemcpy3DAsync(copy, nullptr); }

Error cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, size_t bytes, Stream* stream) {
  if (!Process::get().has_device(to_device) || !Process::get().has_device(from_device)) {
    return remember(Error::kInvalidDevice);
  }
  return cudaMemcpyAsync(to, from, bytes, CopyKind::kDefault, stream);
}

Error cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device, size_t bytes) {
  return cudaMemcpyPeerAsync(to, to_device, from, from_device, bytes, nullptr);
}

Error cudaMemcpy3DPeerAsync(const Copy3DPeer* c, Stream* stream) {
  return open_entry([&] {
    if (!c) return Error::kInvalidValue;
    Copy3D copy{c->src_array, c->src_pos, c->src_ptr, c->dst_array,
                c->dst_pos,   c->dst_ptr, c->extent,  CopyKind::kDefault};
    return submit_copy(copy, stream);
  });
}

Error cudaMemcpy3DPeer(const Copy3DPeer* copy) { return cudaMemcpy3DPeerAsync(copy, nullptr); }

Error cudaMemsetAsync(void* to, int value, size_t bytes, Stream* stream) {
  return open_entry([&] { return submit_fill(to, bytes, value, bytes, 1, stream); });
}

Error cudaMemset(void* to, int value, size_t bytes) { return cudaMemsetAsync(to, value, bytes, nullptr); }

Error cudaMemset2DAsync(void* to, size_t pitch, int value, size_t width, size_t height, Stream* stream) {
  return open_entry([&] { return submit_fill(to, pitch, value, width, height, stream); });
}

Error cudaMemset2D(void* to, size_t pitch, int value, size_t width, size_t height) {
  return cudaMemset2DAsync(to, pitch, value, width, height, nullptr);
}

Error cudaMemset3DAsync(PitchedPtr to, int value, Extent extent, Stream* stream) {
  return open_entry([&] {
    if (!extent.width || !extent.height || !extent.depth) return Error::kSuccess;
    if (extent.depth == 1 || to.ysize == extent.height) {
      return submit_fill(to.ptr, to.pitch, value, extent.width, extent.height * extent.depth, stream);
    }
    if (extent.height > to.ysize) return Error::kInvalidValue;
    for (size_t z = 0; z < extent.depth; ++z) {
      void* slice = static_cast<std::byte*>(to.ptr) + z * to.pitch * to.ysize;
      Error e = submit_fill(slice, to.pitch, value, extent.width, extent.height, stream);
      if (e != Error::kSuccess) return e;
    }
    return Error::kSuccess;
  });
}

Error cudaMemset3D(PitchedPtr to, int value, Extent extent) { return cudaMemset3DAsync(to, value, extent, nullptr); }

}  // namespace

std::span<const Export> copy_exports() {
  static const Export rows[] = {
      QUERN_EXPORT_STREAM(cudaMemcpyAsync),       QUERN_EXPORT_THREAD(cudaMemcpy),
      QUERN_EXPORT_STREAM(cudaMemcpy2DAsync),     QUERN_EXPORT_THREAD(cudaMemcpy2D),
      QUERN_EXPORT_STREAM(cudaMemcpy3DAsync),     QUERN_EXPORT_THREAD(cudaMemcpy3D),
      QUERN_EXPORT(cudaMemcpyPeerAsync),          QUERN_EXPORT(cudaMemcpyPeer),
      QUERN_EXPORT_STREAM(cudaMemcpy3DPeerAsync), QUERN_EXPORT_THREAD(cudaMemcpy3DPeer),
      QUERN_EXPORT_STREAM(cudaMemsetAsync),       QUERN_EXPORT_THREAD(cudaMemset),
      QUERN_EXPORT_STREAM(cudaMemset2DAsync),     QUERN_EXPORT_THREAD(cudaMemset2D),
      QUERN_EXPORT_STREAM(cudaMemset3DAsync),     QUERN_EXPORT_THREAD(cudaMemset3D),
  };
  return rows;
}

}  // namespace quern::cuda
