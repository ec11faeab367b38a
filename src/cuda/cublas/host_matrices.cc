// The functions for matrices of the host (cublasXt…): handles that name devices, and products. All is computed where
// the matrices are, so devices and blocks change nothing.
#include "cuda/api/exports.h"
#include "cuda/cublas/gemm.h"

namespace quern::cuda {
namespace {

struct HostHandle {
  int block = 2048;
  int pinning = 0;
};

BlasStatus create(HostHandle** out) {
  return blas_guard([&] {
    if (!out) return BlasStatus::kInvalidValue;
    Lock lock(Process::get().mutex);
    *out = Live<HostHandle>::all().add(std::make_shared<HostHandle>());
    return BlasStatus::kSuccess;
  });
}

BlasStatus change(HostHandle* handle, const std::function<BlasStatus(HostHandle&)>& body) {
  return blas_guard([&] {
    Lock lock(Process::get().mutex);
    auto found = Live<HostHandle>::all().find(handle);
    return found ? body(*found) : BlasStatus::kNotInitialized;
  });
}

BlasStatus destroy(HostHandle* handle) {
  return change(handle, [&](HostHandle&) {
    Live<HostHandle>::all().remove(handle);
    return BlasStatus::kSuccess;
  });
}

BlasStatus select(HostHandle* handle, int count, const int* devices) {
  return change(handle, [&](HostHandle&) {
    if (count <= 0 || !devices) return BlasStatus::kInvalidValue;
    for (int i = 0; i < count; ++i) {
      if (!Process::get().has_device(devices[i])) return BlasStatus::kInvalidValue;
    }
    return BlasStatus::kSuccess;
  });
}

BlasStatus set(HostHandle* handle, int value, int HostHandle::*field, int least, int most) {
  return change(handle, [&](HostHandle& h) {
    if (value < least || value > most) return BlasStatus::kInvalidValue;
    h.*field = value;
    return BlasStatus::kSuccess;
  });
}
BlasStatus get(HostHandle* handle, int* out, int HostHandle::*field) {
  return change(handle, [&](HostHandle& h) {
    if (!out) return BlasStatus::kInvalidValue;
    *out = h.*field;
    return BlasStatus::kSuccess;
  });
}

BlasStatus set_block(HostHandle* h, int rows) { return set(h, rows, &HostHandle::block, 1, INT32_MAX); }
BlasStatus get_block(HostHandle* h, int* out) { return get(h, out, &HostHandle::block); }
BlasStatus set_pinning(HostHandle* h, int mode) { return set(h, mode, &HostHandle::pinning, 0, 1); }
BlasStatus get_pinning(HostHandle* h, int* out) { return get(h, out, &HostHandle::pinning); }

template <class T>
BlasStatus gemm(HostHandle* handle, BlasOperation ta, BlasOperation tb, size_t m, size_t n, size_t k, const T* alpha,
                const T* a, size_t lda, const T* b, size_t ldb, const T* beta, T* c, size_t ldc) {
  BlasStatus known = change(handle, [](HostHandle&) { return BlasStatus::kSuccess; });
  if (known != BlasStatus::kSuccess) return known;
  return blas_guard([&] {
    auto size = [](size_t v) { return v > INT64_MAX ? int64_t{-1} : static_cast<int64_t>(v); };
    constexpr blas::Number kType = blas::number_of<T>;
    blas::Product p{{}, {}, size(m), size(n), size(k), kType, kType, a, size(lda), b, size(ldb), c, size(ldc)};
    bool good = blas_op(ta, p.op_a) && blas_op(tb, p.op_b) && has_good_sizes(p) && alpha && beta;
    if (!good) return BlasStatus::kInvalidValue;
    p.alpha = *alpha;
    p.beta = *beta;
    blas::multiply(p, Process::get().config.threads);
    return BlasStatus::kSuccess;
  });
}

}  // namespace

std::span<const Export> blas_host_exports() {
#define ROW(name, function) \
  Export { "cublasXt" name, reinterpret_cast<void*>(&function) }
  static const Export rows[] = {
      ROW("Create", create),
      ROW("Destroy", destroy),
      ROW("DeviceSelect", select),
      ROW("SetBlockDim", set_block),
      ROW("GetBlockDim", get_block),
      ROW("SetPinningMemMode", set_pinning),
      ROW("GetPinningMemMode", get_pinning),
      ROW("Sgemm", gemm<float>),
      ROW("Dgemm", gemm<double>),
      ROW("Cgemm", gemm<std::complex<float>>),
      ROW("Zgemm", gemm<std::complex<double>>),
  };
#undef ROW
  return rows;
}

}  // namespace quern::cuda
