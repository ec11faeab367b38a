// Products by tiles: a tile of C is summed up in a buffer of the work's type, over pieces of A and B that are copied
// into the order in which the innermost loops read them (K. Goto, R. van de Geijn, "Anatomy of high-performance matrix
// multiplication", 2008). Complex products are real ones with twice the steps: the real part is the sum of re * re and
// -im * im, the imaginary one that of im * re and re * im.
#include <vector>

#include "blas/kernel.h"
#include "blas/parallel.h"
#include "blas/work.h"

namespace quern::blas {
namespace {

// Multiples of what every kernel takes at once.
constexpr int64_t kTileRows = 128, kTileColumns = 120, kSteps = 256;
// Below this many products copying takes longer than it saves; below that many, threads do.
constexpr int64_t kLittle = 16 * 16 * 16, kAlone = 128 * 128 * 64;

// Rows of op(A) or columns of op(B): element `step` of line `line`.
template <class In>
struct Lines {
  const In* data;
  int64_t line, step;  // distances
  bool conjugate;
};

enum class Form { kPlain, kReal, kImaginary };  // of a complex number: re im, re -im, im re

// `width` lines from `first` on, each step's numbers side by side; lines from `end` on are zeros.
template <class W, class In>
void pack(const Lines<In>& lines, Form form, int64_t first, int64_t end, int64_t width, int64_t first_step,
          int64_t steps, W* out) {
  constexpr int64_t kEach = is_complex(number_of<In>) ? 2 : 1;
  int64_t count = std::min(width, end - first);
  if (count < width) std::fill(out, out + width * steps * kEach, W{});
  for (int64_t l = 0; l < count; ++l) {
    const In* from = lines.data + (first + l) * lines.line + first_step * lines.step;
    W* to = out + l;
    for (int64_t s = 0; s < steps; ++s, from += lines.step, to += width * kEach) {
      Parts<W> v = parts<W>(*from);
      if constexpr (kEach == 1) {
        *to = v.re;
      } else {
        if (lines.conjugate) v.im = -v.im;
        to[0] = form == Form::kImaginary ? v.im : v.re;
        to[width] = form == Form::kImaginary ? v.re : form == Form::kReal ? -v.im : v.im;
      }
    }
  }
}

const Kernel<float>& pick(const Kernels& k, float) { return k.f32; }
const Kernel<double>& pick(const Kernels& k, double) { return k.f64; }
const Kernel<uint32_t>& pick(const Kernels& k, uint32_t) { return k.u32; }

template <class W, class In, class Out>
class Tiles {
 public:
  Tiles(const Product& p, const Kernel<W>& kernel) : p_(p), kernel_(kernel) {
    auto* a = static_cast<const In*>(p.a);
    auto* b = static_cast<const In*>(p.b);
    bool ta = is_transposed(p.op_a), tb = is_transposed(p.op_b);
    a_ = {a, ta ? p.lda : 1, ta ? 1 : p.lda, is_conjugate(p.op_a)};
    b_ = {b, tb ? 1 : p.ldb, tb ? p.ldb : 1, is_conjugate(p.op_b)};
    across_ = (p.m + kTileRows - 1) / kTileRows;
  }

  int64_t count() const { return across_ * ((p_.n + kTileColumns - 1) / kTileColumns); }

  void run(int64_t tile) const {
    int64_t row = tile % across_ * kTileRows, column = tile / across_ * kTileColumns;
    std::vector<W> sums(kPlanes * kTileRows * kTileColumns);
    std::vector<W> a(kPlanes * kTileRows * kSteps * kPlanes), b(kTileColumns * kSteps * kPlanes);
    int64_t rows = std::min(kTileRows, p_.m - row), columns = std::min(kTileColumns, p_.n - column);
    for (int64_t step = 0; step < p_.k; step += kSteps) {
      int64_t steps = std::min(kSteps, p_.k - step);
      for (int64_t j = 0; j < columns; j += kernel_.columns) {
        pack<W>(b_, Form::kPlain, column + j, p_.n, kernel_.columns, step, steps, b.data() + j * steps * kPlanes);
      }
      for (int plane = 0; plane < kPlanes; ++plane) {
        Form form = plane ? Form::kImaginary : Form::kReal;
        for (int64_t i = 0; i < rows; i += kernel_.rows) {
          pack<W>(a_, form, row + i, p_.m, kernel_.rows, step, steps, a.data() + i * steps * kPlanes);
        }
        for (int64_t j = 0; j < columns; j += kernel_.columns) {
          for (int64_t i = 0; i < rows; i += kernel_.rows) {
            kernel_.add(steps * kPlanes, a.data() + i * steps * kPlanes, b.data() + j * steps * kPlanes,
                        sums.data() + (plane * kTileColumns + j) * kTileRows + i, kTileRows);
          }
        }
      }
    }
    auto* c = static_cast<Out*>(p_.c) + row + column * p_.ldc;
    for (int64_t j = 0; j < columns; ++j) {
      for (int64_t i = 0; i < rows; ++i) {
        const W* sum = sums.data() + j * kTileRows + i;
        finish(p_, Parts<W>{sum[0], kPlanes == 2 ? sum[(kPlanes - 1) * kTileColumns * kTileRows] : W{}},
               c[i + j * p_.ldc]);
      }
    }
  }

 private:
  static constexpr int kPlanes = is_complex(number_of<In>) ? 2 : 1;

  const Product& p_;
  const Kernel<W>& kernel_;
  Lines<In> a_, b_;
  int64_t across_ = 0;
};

}  // namespace

void multiply(const Product& p, int threads, jit::VectorLevel level) {
  double products = static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k);
  if (p.alpha == 0.0 || products < kLittle) return multiply_plain(p);
  with_work(p, [&]<class W>(W w) {
    with_type(p.factors, [&]<class In>(In) {
      with_type(p.result, [&]<class Out>(Out) {
        if constexpr (Puts<Out, W>) {
          Tiles<W, In, Out> tiles(p, pick(kernels(level), w));
          parallel(tiles.count(), products < kAlone ? 1 : threads, [&](int64_t i) { tiles.run(i); });
        }
      });
    });
  });
}

void multiply(const Product& p, int threads) {
  static const jit::VectorLevel level = jit::host_cpu().level;
  multiply(p, threads, level);
}

}  // namespace quern::blas
