// Copies and fills of memory, in one to three dimensions, in a stream; the caller waits for them, or doesn't.
#include "cuda/runtime/copy.h"

#include "cuda/api/entry.h"

namespace quern::cuda {
namespace {

Error copy_bytes(void* to, const void* from, size_t bytes, CopyKind kind, Stream* stream, bool sync) {
  return open_entry([&] { return submit_copy(stream, linear_copy(to, from, bytes, kind), sync); });
}

Error cudaMemcpyAsync(void* to, const void* from, size_t bytes, CopyKind kind, Stream* stream) {
  return copy_bytes(to, from, bytes, kind, stream, false);
}
Error cudaMemcpy(void* to, const void* from, size_t bytes, CopyKind kind) {
  return copy_bytes(to, from, bytes, kind, nullptr, true);
}

Error copy_rows(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                CopyKind kind, Stream* stream, bool sync) {
  return open_entry([&] {
    if (width > to_pitch || width > from_pitch) return Error::kInvalidPitchValue;
    return submit_copy(stream, pitched_copy(to, to_pitch, from, from_pitch, width, height, kind), sync);
  });
}

Error cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                        CopyKind kind, Stream* stream) {
  return copy_rows(to, to_pitch, from, from_pitch, width, height, kind, stream, false);
}
Error cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                   CopyKind kind) {
  return copy_rows(to, to_pitch, from, from_pitch, width, height, kind, nullptr, true);
}

Error copy_box(const Copy3D* copy, Stream* stream, bool sync) {
  return open_entry([&] { return copy ? submit_copy(stream, *copy, sync) : Error::kInvalidValue; });
}

Error cudaMemcpy3DAsync(const Copy3D* copy, Stream* stream) { return copy_box(copy, stream, false); }
Error cudaMemcpy3D(const Copy3D* copy) { return copy_box(copy, nullptr, true); }

Error copy_between(void* to, int to_device, const void* from, int from_device, size_t bytes, Stream* stream,
                   bool sync) {
  if (!Process::get().has_device(to_device) || !Process::get().has_device(from_device)) {
    return remember(Error::kInvalidDevice);
  }
  return copy_bytes(to, from, bytes, CopyKind::kDefault, stream, sync);
}

Error cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, size_t bytes, Stream* stream) {
  return copy_between(to, to_device, from, from_device, bytes, stream, false);
}
Error cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device, size_t bytes) {
  return copy_between(to, to_device, from, from_device, bytes, nullptr, true);
}

Error copy_box_between(const Copy3DPeer* c, Stream* stream, bool sync) {
  return open_entry([&] {
    if (!c) return Error::kInvalidValue;
    Copy3D copy{c->src_array, c->src_pos, c->src_ptr, c->dst_array,
                c->dst_pos,   c->dst_ptr, c->extent,  CopyKind::kDefault};
    return submit_copy(stream, copy, sync);
  });
}

Error cudaMemcpy3DPeerAsync(const Copy3DPeer* copy, Stream* stream) { return copy_box_between(copy, stream, false); }
Error cudaMemcpy3DPeer(const Copy3DPeer* copy) { return copy_box_between(copy, nullptr, true); }

MemsetParams filling(void* to, size_t pitch, int value, size_t width, size_t height) {
  return {to, pitch, static_cast<uint8_t>(value), 1, width, height};
}

Error fill_rows(void* to, size_t pitch, int value, size_t width, size_t height, Stream* stream, bool sync) {
  return open_entry([&] { return submit_fill(stream, filling(to, pitch, value, width, height), sync); });
}

Error cudaMemsetAsync(void* to, int value, size_t bytes, Stream* stream) {
  return fill_rows(to, bytes, value, bytes, 1, stream, false);
}
Error cudaMemset(void* to, int value, size_t bytes) { return fill_rows(to, bytes, value, bytes, 1, nullptr, true); }

Error cudaMemset2DAsync(void* to, size_t pitch, int value, size_t width, size_t height, Stream* stream) {
  return fill_rows(to, pitch, value, width, height, stream, false);
}
Error cudaMemset2D(void* to, size_t pitch, int value, size_t width, size_t height) {
  return fill_rows(to, pitch, value, width, height, nullptr, true);
}

Error fill_box(PitchedPtr to, int value, Extent extent, Stream* stream, bool sync) {
  return open_entry([&] {
    if (!extent.width || !extent.height || !extent.depth) return Error::kSuccess;
    if (extent.depth == 1 || to.ysize == extent.height) {
      return submit_fill(stream, filling(to.ptr, to.pitch, value, extent.width, extent.height * extent.depth), sync);
    }
    if (extent.height > to.ysize) return Error::kInvalidValue;
    for (size_t z = 0; z < extent.depth; ++z) {
      void* slice = static_cast<std::byte*>(to.ptr) + z * to.pitch * to.ysize;
      Error e = submit_fill(stream, filling(slice, to.pitch, value, extent.width, extent.height), sync);
      if (e != Error::kSuccess) return e;
    }
    return Error::kSuccess;
  });
}

Error cudaMemset3DAsync(PitchedPtr to, int value, Extent extent, Stream* stream) {
  return fill_box(to, value, extent, stream, false);
}
Error cudaMemset3D(PitchedPtr to, int value, Extent extent) { return fill_box(to, value, extent, nullptr, true); }

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
