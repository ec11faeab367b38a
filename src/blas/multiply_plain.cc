// Element by element.
#include "blas/work.h"

namespace quern::blas {
namespace {

template <class W, class In, class Out>
void run(const Product& p) {
  auto* a = static_cast<const In*>(p.a);
  auto* b = static_cast<const In*>(p.b);
  auto* c = static_cast<Out*>(p.c);
  bool read = p.alpha != 0.0;
  for (int64_t j = 0; j < p.n; ++j) {
    for (int64_t i = 0; i < p.m; ++i) {
      Parts<W> sum;
      for (int64_t s = 0; read && s < p.k; ++s) {
        Parts<W> x = parts<W>(a[is_transposed(p.op_a) ? s + i * p.lda : i + s * p.lda]);
        Parts<W> y = parts<W>(b[is_transposed(p.op_b) ? j + s * p.ldb : s + j * p.ldb]);
        sum.re = fused(x.re, y.re, sum.re);
        if (!is_complex(p.factors)) continue;
        if (is_conjugate(p.op_a)) x.im = -x.im;
        if (is_conjugate(p.op_b)) y.im = -y.im;
        sum.re = fused(-x.im, y.im, sum.re);
        sum.im = fused(x.im, y.re, sum.im);
        sum.im = fused(x.re, y.im, sum.im);
      }
      finish(p, sum, c[i + j * p.ldc]);
    }
  }
}

}  // namespace

void multiply_plain(const Product& p) {
  with_work(p, [&]<class W>(W) {
    with_type(p.factors, [&]<class In>(In) {
      with_type(p.result, [&]<class Out>(Out) {
        if constexpr (Puts<Out, W>) run<W, In, Out>(p);
      });
    });
  });
}

}  // namespace quern::blas
