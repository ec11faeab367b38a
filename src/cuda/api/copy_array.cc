// Copies into arrays, out of them and between them, by the functions that take offsets in bytes.
#include "cuda/api/entry.h"
#include "cuda/runtime/array.h"
#include "cuda/runtime/copy.h"
#include "cuda/runtime/live.h"

namespace quern::cuda {
namespace {

Error submit_elements(const Copy3D& copy, const Array* array, size_t x_bytes, size_t width, Stream* stream, bool sync) {
  auto found = Live<Array>::all().find(array);
  if (!found) return Error::kInvalidResourceHandle;
  if (x_bytes % found->element_bytes || width % found->element_bytes) return Error::kInvalidValue;
  return submit_copy(stream, copy, sync);
}

Error rows_in(Array* to, size_t x, size_t y, const void* from, size_t pitch, size_t width, size_t height, CopyKind kind,
              Stream* stream, bool sync) {
  return open_entry([&] {
    return submit_elements(array_copy_in(to, x, y, from, pitch, width, height, kind), to, x, width, stream, sync);
  });
}

Error cudaMemcpy2DToArrayAsync(Array* to, size_t x, size_t y, const void* from, size_t pitch, size_t width,
                               size_t height, CopyKind kind, Stream* stream) {
  return rows_in(to, x, y, from, pitch, width, height, kind, stream, false);
}
Error cudaMemcpy2DToArray(Array* to, size_t x, size_t y, const void* from, size_t pitch, size_t width, size_t height,
                          CopyKind kind) {
  return rows_in(to, x, y, from, pitch, width, height, kind, nullptr, true);
}

Error rows_out(void* to, size_t pitch, const Array* from, size_t x, size_t y, size_t width, size_t height,
               CopyKind kind, Stream* stream, bool sync) {
  return open_entry([&] {
    return submit_elements(array_copy_out(to, pitch, from, x, y, width, height, kind), from, x, width, stream, sync);
  });
}

Error cudaMemcpy2DFromArrayAsync(void* to, size_t pitch, const Array* from, size_t x, size_t y, size_t width,
                                 size_t height, CopyKind kind, Stream* stream) {
  return rows_out(to, pitch, from, x, y, width, height, kind, stream, false);
}
Error cudaMemcpy2DFromArray(void* to, size_t pitch, const Array* from, size_t x, size_t y, size_t width, size_t height,
                            CopyKind kind) {
  return rows_out(to, pitch, from, x, y, width, height, kind, nullptr, true);
}

// Bytes in the order of rows, from a place in the first of them on: the piece of a first row, whole rows, the piece of
// a last one.
template <class F>
Error by_rows(const Array* handle, size_t x, size_t y, size_t bytes, F copy) {
  auto array = Live<Array>::all().find(handle);
  if (!array) return Error::kInvalidResourceHandle;
  size_t row = array->extent.width * array->element_bytes, done = 0;
  while (done < bytes) {
    size_t width = std::min(bytes - done, row - std::min(x, row));
    size_t height = x == 0 && width == row ? (bytes - done) / row : 1;
    if (!width) return Error::kInvalidValue;
    if (Error e = copy(done, x, y, width, height); e != Error::kSuccess) return e;
    done += width * height;
    x = 0;
    y += height;
  }
  return Error::kSuccess;
}

Error bytes_in(Array* to, size_t x, size_t y, const void* from, size_t bytes, CopyKind kind, Stream* stream,
               bool sync) {
  return open_entry([&] {
    return by_rows(to, x, y, bytes, [&](size_t done, size_t at_x, size_t at_y, size_t width, size_t height) {
      const void* piece = static_cast<const std::byte*>(from) + done;
      Copy3D copy = array_copy_in(to, at_x, at_y, piece, width, width, height, kind);
      return submit_elements(copy, to, at_x, width, stream, sync);
    });
  });
}

Error cudaMemcpyToArrayAsync(Array* to, size_t x, size_t y, const void* from, size_t bytes, CopyKind kind,
                             Stream* stream) {
  return bytes_in(to, x, y, from, bytes, kind, stream, false);
}
Error cudaMemcpyToArray(Array* to, size_t x, size_t y, const void* from, size_t bytes, CopyKind kind) {
  return bytes_in(to, x, y, from, bytes, kind, nullptr, true);
}

Error bytes_out(void* to, const Array* from, size_t x, size_t y, size_t bytes, CopyKind kind, Stream* stream,
                bool sync) {
  return open_entry([&] {
    return by_rows(from, x, y, bytes, [&](size_t done, size_t at_x, size_t at_y, size_t width, size_t height) {
      void* piece = static_cast<std::byte*>(to) + done;
      Copy3D copy = array_copy_out(piece, width, from, at_x, at_y, width, height, kind);
      return submit_elements(copy, from, at_x, width, stream, sync);
    });
  });
}

Error cudaMemcpyFromArrayAsync(void* to, const Array* from, size_t x, size_t y, size_t bytes, CopyKind kind,
                               Stream* stream) {
  return bytes_out(to, from, x, y, bytes, kind, stream, false);
}
Error cudaMemcpyFromArray(void* to, const Array* from, size_t x, size_t y, size_t bytes, CopyKind kind) {
  return bytes_out(to, from, x, y, bytes, kind, nullptr, true);
}

Error cudaMemcpy2DArrayToArray(Array* to, size_t to_x, size_t to_y, const Array* from, size_t from_x, size_t from_y,
                               size_t width, size_t height, CopyKind kind) {
  return open_entry([&] {
    auto a = Live<Array>::all().find(to), b = Live<Array>::all().find(from);
    if (!a || !b) return Error::kInvalidResourceHandle;
    if (from_x % b->element_bytes) return Error::kInvalidValue;
    Copy3D copy{};
    copy.dst_array = to;
    copy.dst_pos = {to_x / a->element_bytes, to_y, 0};
    copy.src_array = const_cast<Array*>(from);
    copy.src_pos = {from_x / b->element_bytes, from_y, 0};
    copy.extent = {width / a->element_bytes, height, 1};
    copy.kind = kind;
    return submit_elements(copy, to, to_x, width, nullptr, true);
  });
}

// Bytes in the order of rows, in either.
Error cudaMemcpyArrayToArray(Array* to, size_t to_x, size_t to_y, const Array* from, size_t from_x, size_t from_y,
                             size_t bytes, CopyKind kind) {
  size_t to_row = 0, from_row = 0;
  Error e = entry([&] {
    auto a = Live<Array>::all().find(to), b = Live<Array>::all().find(from);
    if (!a || !b) return Error::kInvalidResourceHandle;
    to_row = a->extent.width * a->element_bytes, from_row = b->extent.width * b->element_bytes;
    return to_x < to_row && from_x < from_row ? Error::kSuccess : Error::kInvalidValue;
  });
  while (e == Error::kSuccess && bytes) {
    size_t width = std::min({bytes, to_row - to_x, from_row - from_x});
    e = cudaMemcpy2DArrayToArray(to, to_x, to_y, from, from_x, from_y, width, 1, kind);
    bytes -= width, to_x += width, from_x += width;
    if (to_x == to_row) to_x = 0, ++to_y;
    if (from_x == from_row) from_x = 0, ++from_y;
  }
  return e;
}

}  // namespace

std::span<const Export> copy_array_exports() {
  static const Export rows[] = {
      QUERN_EXPORT_STREAM(cudaMemcpy2DToArrayAsync),   QUERN_EXPORT_THREAD(cudaMemcpy2DToArray),
      QUERN_EXPORT_STREAM(cudaMemcpy2DFromArrayAsync), QUERN_EXPORT_THREAD(cudaMemcpy2DFromArray),
      QUERN_EXPORT_STREAM(cudaMemcpyToArrayAsync),     QUERN_EXPORT_THREAD(cudaMemcpyToArray),
      QUERN_EXPORT_STREAM(cudaMemcpyFromArrayAsync),   QUERN_EXPORT_THREAD(cudaMemcpyFromArray),
      QUERN_EXPORT_THREAD(cudaMemcpy2DArrayToArray),   QUERN_EXPORT_THREAD(cudaMemcpyArrayToArray),
  };
  return rows;
}

}  // namespace quern::cuda
