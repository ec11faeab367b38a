// Vectors: cuBLAS's first level.
#include "cuda/api/exports.h"
#include "cuda/cublas/pieces.h"

namespace quern::cuda {
namespace {

using blas::Real;
using blas::Vector;
using C = std::complex<float>;
using Z = std::complex<double>;

template <class T>
Vector<const T> constant(const T* at, int64_t n, int64_t increment) {
  return {at, n, increment};
}

bool has_null(std::initializer_list<const void*> all) {
  for (const void* p : all) {
    if (!p) return true;
  }
  return false;
}

// Functions of type T; I is the type of sizes and increments, S that of a scalar.
template <class T>
struct Of {
  using R = Real<T>;

  template <class I>
  static BlasStatus axpy(const BlasHandle* handle, I n, const T* alpha, const T* x, I step_x, T* y, I step_y) {
    return blas_call(handle, [&](const BlasHandle& h) {
      if (!alpha) return BlasStatus::kInvalidValue;
      if (n <= 0) return BlasStatus::kSuccess;
      BlasScalar<T> scalar(h, "alpha", alpha);
      return blas_submit(h, blas_name<T>("axpy"), [=](LibraryAccess& access) {
        T a;
        Piece to = vector_piece("y", y, n, step_y);
        if (!scalar.get(access, a) || !access.reads(vector_piece("x", x, n, step_x)) || !access.reads(to) ||
            !access.writes(to)) {
          return;
        }
        Vector<const T> from(x, n, step_x);
        Vector<T> into(y, n, step_y);
        for (int64_t i = 0; i < n; ++i) into[i] += blas::times(a, from[i]);
      });
    });
  }

  // S: T, or the real numbers of a complex T.
  template <class S>
  struct With {
    template <class I>
    static BlasStatus scal(const BlasHandle* handle, I n, const S* alpha, T* x, I step) {
      return blas_call(handle, [&](const BlasHandle& h) {
        if (!alpha) return BlasStatus::kInvalidValue;
        if (n <= 0 || step <= 0) return BlasStatus::kSuccess;
        BlasScalar<S> scalar(h, "alpha", alpha);
        return blas_submit(h, blas_name<T>("scal"), [=](LibraryAccess& access) {
          S a;
          Piece all = vector_piece("x", x, n, step);
          if (!scalar.get(access, a) || !access.reads(all) || !access.writes(all)) return;
          Vector<T> v(x, n, step);
          for (int64_t i = 0; i < n; ++i) {
            if constexpr (std::is_same_v<S, T>) {
              v[i] = blas::times(a, v[i]);
            } else {
              v[i] *= a;
            }
          }
        });
      });
    }

    template <class I>
    static BlasStatus rot(const BlasHandle* handle, I n, T* x, I step_x, T* y, I step_y, const R* c, const S* s) {
      return blas_call(handle, [&](const BlasHandle& h) {
        if (has_null({c, s})) return BlasStatus::kInvalidValue;
        if (n <= 0) return BlasStatus::kSuccess;
        BlasScalar<R> cosine(h, "c", c);
        BlasScalar<S> sine(h, "s", s);
        return blas_submit(h, blas_name<T>("rot"), [=](LibraryAccess& access) {
          R cc;
          S ss;
          Piece px = vector_piece("x", x, n, step_x), py = vector_piece("y", y, n, step_y);
          if (cosine.get(access, cc) && sine.get(access, ss) && access.reads(px) && access.reads(py) &&
              access.writes(px) && access.writes(py)) {
            blas::rotate(n, Vector<T>(x, n, step_x), Vector<T>(y, n, step_y), cc, ss);
          }
        });
      });
    }
  };

  template <class I>
  static BlasStatus copy(const BlasHandle* handle, I n, const T* x, I step_x, T* y, I step_y) {
    return blas_call(handle, [&](const BlasHandle& h) {
      if (n <= 0) return BlasStatus::kSuccess;
      return blas_submit(h, blas_name<T>("copy"), [=](LibraryAccess& access) {
        if (!access.reads(vector_piece("x", x, n, step_x)) || !access.writes(vector_piece("y", y, n, step_y))) return;
        Vector<const T> from(x, n, step_x);
        Vector<T> into(y, n, step_y);
        for (int64_t i = 0; i < n; ++i) into[i] = from[i];
      });
    });
  }

  template <class I>
  static BlasStatus swap(const BlasHandle* handle, I n, T* x, I step_x, T* y, I step_y) {
    return blas_call(handle, [&](const BlasHandle& h) {
      if (n <= 0) return BlasStatus::kSuccess;
      return blas_submit(h, blas_name<T>("swap"), [=](LibraryAccess& access) {
        Piece px = vector_piece("x", x, n, step_x), py = vector_piece("y", y, n, step_y);
        if (!access.reads(px) || !access.reads(py) || !access.writes(px) || !access.writes(py)) return;
        Vector<T> a(x, n, step_x), b(y, n, step_y);
        for (int64_t i = 0; i < n; ++i) std::swap(a[i], b[i]);
      });
    });
  }

  // A number that one vector has; 0 of none.
  template <class Result, class F>
  static BlasStatus reduce(const BlasHandle* handle, const std::string& name, int64_t n, const T* x, int64_t step,
                           Result* result, F f) {
    return blas_call(handle, [&](const BlasHandle& h) {
      if (!result) return BlasStatus::kInvalidValue;
      BlasResult<Result> to(h, result);
      return blas_submit_waiting(h, name, [=](LibraryAccess& access) {
        bool any = n > 0 && step > 0;
        if (any && !access.reads(vector_piece("x", x, n, step))) return;
        if (to.can_be_written(access)) to.put(any ? static_cast<Result>(f(n, constant(x, n, step))) : Result{});
      });
    });
  }

  template <class I>
  static BlasStatus nrm2(const BlasHandle* h, I n, const T* x, I step, R* result) {
    return reduce(h, blas_name<T>("nrm2"), n, x, step, result, &blas::norm<T>);
  }
  template <class I>
  static BlasStatus asum(const BlasHandle* h, I n, const T* x, I step, R* result) {
    return reduce(h, blas_name<T>("asum"), n, x, step, result, &blas::sum_of_sizes<T>);
  }
  template <class I>
  static BlasStatus amax(const BlasHandle* h, I n, const T* x, I step, I* result) {
    return reduce(h, blas_name<T>("amax").insert(6, "I"), n, x, step, result, &blas::extreme<T, true>);
  }
  template <class I>
  static BlasStatus amin(const BlasHandle* h, I n, const T* x, I step, I* result) {
    return reduce(h, blas_name<T>("amin").insert(6, "I"), n, x, step, result, &blas::extreme<T, false>);
  }

  template <bool kConjugated>
  struct Dot {
    template <class I>
    static BlasStatus dot(const BlasHandle* handle, I n, const T* x, I step_x, const T* y, I step_y, T* result) {
      return blas_call(handle, [&](const BlasHandle& h) {
        if (!result) return BlasStatus::kInvalidValue;
        BlasResult<T> to(h, result);
        return blas_submit_waiting(h, blas_name<T>("dot"), [=](LibraryAccess& access) {
          if (n > 0 &&
              !(access.reads(vector_piece("x", x, n, step_x)) && access.reads(vector_piece("y", y, n, step_y))))
            return;
          if (!to.can_be_written(access)) return;
          to.put(n > 0 ? blas::dot<T>(n, constant(x, n, step_x), constant(y, n, step_y), kConjugated) : T{});
        });
      });
    }
  };
};

}  // namespace

std::span<const Export> blas_level1_exports() {
  static const Export rows[] = {
      QUERN_BLAS("Saxpy_v2", Of<float>::axpy),
      QUERN_BLAS("Daxpy_v2", Of<double>::axpy),
      QUERN_BLAS("Caxpy_v2", Of<C>::axpy),
      QUERN_BLAS("Zaxpy_v2", Of<Z>::axpy),
      QUERN_BLAS("Sscal_v2", Of<float>::With<float>::scal),
      QUERN_BLAS("Dscal_v2", Of<double>::With<double>::scal),
      QUERN_BLAS("Cscal_v2", Of<C>::With<C>::scal),
      QUERN_BLAS("Zscal_v2", Of<Z>::With<Z>::scal),
      QUERN_BLAS("Csscal_v2", Of<C>::With<float>::scal),
      QUERN_BLAS("Zdscal_v2", Of<Z>::With<double>::scal),
      QUERN_BLAS("Srot_v2", Of<float>::With<float>::rot),
      QUERN_BLAS("Drot_v2", Of<double>::With<double>::rot),
      QUERN_BLAS("Crot_v2", Of<C>::With<C>::rot),
      QUERN_BLAS("Zrot_v2", Of<Z>::With<Z>::rot),
      QUERN_BLAS("Csrot_v2", Of<C>::With<float>::rot),
      QUERN_BLAS("Zdrot_v2", Of<Z>::With<double>::rot),
      QUERN_BLAS("Scopy_v2", Of<float>::copy),
      QUERN_BLAS("Dcopy_v2", Of<double>::copy),
      QUERN_BLAS("Ccopy_v2", Of<C>::copy),
      QUERN_BLAS("Zcopy_v2", Of<Z>::copy),
      QUERN_BLAS("Sswap_v2", Of<float>::swap),
      QUERN_BLAS("Dswap_v2", Of<double>::swap),
      QUERN_BLAS("Cswap_v2", Of<C>::swap),
      QUERN_BLAS("Zswap_v2", Of<Z>::swap),
      QUERN_BLAS("Snrm2_v2", Of<float>::nrm2),
      QUERN_BLAS("Dnrm2_v2", Of<double>::nrm2),
      QUERN_BLAS("Scnrm2_v2", Of<C>::nrm2),
      QUERN_BLAS("Dznrm2_v2", Of<Z>::nrm2),
      QUERN_BLAS("Sasum_v2", Of<float>::asum),
      QUERN_BLAS("Dasum_v2", Of<double>::asum),
      QUERN_BLAS("Scasum_v2", Of<C>::asum),
      QUERN_BLAS("Dzasum_v2", Of<Z>::asum),
      QUERN_BLAS("Isamax_v2", Of<float>::amax),
      QUERN_BLAS("Idamax_v2", Of<double>::amax),
      QUERN_BLAS("Icamax_v2", Of<C>::amax),
      QUERN_BLAS("Izamax_v2", Of<Z>::amax),
      QUERN_BLAS("Isamin_v2", Of<float>::amin),
      QUERN_BLAS("Idamin_v2", Of<double>::amin),
      QUERN_BLAS("Icamin_v2", Of<C>::amin),
      QUERN_BLAS("Izamin_v2", Of<Z>::amin),
      QUERN_BLAS("Sdot_v2", Of<float>::Dot<false>::dot),
      QUERN_BLAS("Ddot_v2", Of<double>::Dot<false>::dot),
      QUERN_BLAS("Cdotu_v2", Of<C>::Dot<false>::dot),
      QUERN_BLAS("Zdotu_v2", Of<Z>::Dot<false>::dot),
      QUERN_BLAS("Cdotc_v2", Of<C>::Dot<true>::dot),
      QUERN_BLAS("Zdotc_v2", Of<Z>::Dot<true>::dot),
  };
  return rows;
}

}  // namespace quern::cuda
