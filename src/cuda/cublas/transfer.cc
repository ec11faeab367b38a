// Vectors and matrices between host and device.
#include <optional>

#include "cuda/api/exports.h"
#include "cuda/cublas/handle.h"
#include "cuda/runtime/copy.h"

namespace quern::cuda {
namespace {

// Without a stream: synchronous, in the default one.
BlasStatus transfer(const Copy3D& copy, std::optional<Stream*> stream) {
  Error e = submit_copy(stream.value_or(nullptr), copy, !stream);
  return e == Error::kSuccess || e == Error::kInvalidPitchValue ? blas_status(e) : BlasStatus::kMappingError;
}

// `rows` elements in each of `columns`; leading dimensions and elements as the call has them.
BlasStatus move(int64_t rows, int64_t columns, int64_t element, const void* from, int64_t ld_from, void* to,
                int64_t ld_to, CopyKind kind, std::optional<Stream*> stream) {
  return blas_guard([&] {
    if (rows < 0 || columns < 0 || element <= 0 || ld_from <= 0 || ld_to <= 0) return BlasStatus::kInvalidValue;
    if (!rows || !columns) return BlasStatus::kSuccess;
    auto bytes = [&](int64_t elements) { return static_cast<size_t>(elements) * static_cast<size_t>(element); };
    return transfer(
        pitched_copy(to, bytes(ld_to), from, bytes(ld_from), bytes(rows), static_cast<size_t>(columns), kind), stream);
  });
}

// A vector is a row of columns of one element.
BlasStatus move_vector(int64_t n, int64_t element, const void* from, int64_t step_from, void* to, int64_t step_to,
                       CopyKind kind, std::optional<Stream*> stream) {
  if (step_from == 1 && step_to == 1)
    return move(n, 1, element, from, std::max<int64_t>(n, 1), to, std::max<int64_t>(n, 1), kind, stream);
  return move(1, n, element, from, step_from, to, step_to, kind, stream);
}

template <CopyKind kKind>
struct Transfer {
  template <class I>
  static BlasStatus vector_async(I n, I element, const void* from, I step_from, void* to, I step_to, Stream* stream) {
    return move_vector(n, element, from, step_from, to, step_to, kKind, stream);
  }
  template <class I>
  static BlasStatus vector(I n, I element, const void* from, I step_from, void* to, I step_to) {
    return move_vector(n, element, from, step_from, to, step_to, kKind, std::nullopt);
  }
  template <class I>
  static BlasStatus matrix_async(I rows, I columns, I element, const void* from, I ld_from, void* to, I ld_to,
                                 Stream* stream) {
    return move(rows, columns, element, from, ld_from, to, ld_to, kKind, stream);
  }
  template <class I>
  static BlasStatus matrix(I rows, I columns, I element, const void* from, I ld_from, void* to, I ld_to) {
    return move(rows, columns, element, from, ld_from, to, ld_to, kKind, std::nullopt);
  }
};

using Set = Transfer<CopyKind::kHostToDevice>;
using Get = Transfer<CopyKind::kDeviceToHost>;

}  // namespace

std::span<const Export> blas_transfer_exports() {
  static const Export rows[] = {
      QUERN_BLAS("SetVector", Set::vector), QUERN_BLAS("SetVectorAsync", Set::vector_async),
      QUERN_BLAS("SetMatrix", Set::matrix), QUERN_BLAS("SetMatrixAsync", Set::matrix_async),
      QUERN_BLAS("GetVector", Get::vector), QUERN_BLAS("GetVectorAsync", Get::vector_async),
      QUERN_BLAS("GetMatrix", Get::matrix), QUERN_BLAS("GetMatrixAsync", Get::matrix_async),
  };
  return rows;
}

}  // namespace quern::cuda
