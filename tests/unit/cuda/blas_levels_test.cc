// Vectors, and matrices of which one half counts: against loops that do what the definition says.
#include <cmath>
#include <limits>

#include "blas.h"

namespace quern::cuda {
namespace {

using C = std::complex<float>;
using Z = std::complex<double>;

constexpr BlasFill kFills[] = {BlasFill::kUpper, BlasFill::kLower};
constexpr BlasOperation kOperations[] = {kN, kT, kC};

template <class T>
T conjugated(T v) {
  if constexpr (requires { v.imag(); }) return std::conj(v);
  return v;
}

TEST_F(Blas, VectorsWithGaps) {
  auto x = whole_numbers<float>(21, 1), y = whole_numbers<float>(14, 2);
  OnDevice<float> dx(x), dy(y);
  const float alpha = 3;
  // Elements 6 … 0 of x, three apart, to elements 0 … 6 of y, two apart.
  blas_ok("cublasSaxpy_v2", handle_, 7, &alpha, dx.constant(), -3, static_cast<float*>(dy), 2);
  auto sum = y;
  for (size_t i = 0; i < 7; ++i) sum[2 * i] += 3 * x[3 * (6 - i)];
  EXPECT_EQ(dy.values(), sum);
  float dot = 0, expected = 0;
  blas_ok("cublasSdot_v2", handle_, 7, dx.constant(), 3, dy.constant(), 2, &dot);
  for (size_t i = 0; i < 7; ++i) expected += x[3 * i] * sum[2 * i];
  EXPECT_EQ(dot, expected);
  blas_ok("cublasSscal_v2", handle_, 7, &alpha, static_cast<float*>(dy), 2);
  for (size_t i = 0; i < 7; ++i) sum[2 * i] *= 3;
  EXPECT_EQ(dy.values(), sum);
  blas_ok("cublasScopy_v2", handle_, 7, dx.constant(), 3, static_cast<float*>(dy), -2);
  for (size_t i = 0; i < 7; ++i) sum[2 * (6 - i)] = x[3 * i];
  EXPECT_EQ(dy.values(), sum);
  blas_ok("cublasSswap_v2", handle_, 2, static_cast<float*>(dx), 1, static_cast<float*>(dy), 1);
  EXPECT_EQ(dx.values()[1], sum[1]);
  EXPECT_EQ(dy.values()[0], x[0]);
}

TEST_F(Blas, ComplexDots) {
  auto x = whole_numbers<C>(5, 1), y = whole_numbers<C>(5, 2);
  OnDevice<C> dx(x), dy(y);
  C plain, adjoint, sums[2];
  blas_ok("cublasCdotu_v2", handle_, 5, dx.constant(), 1, dy.constant(), 1, &plain);
  blas_ok("cublasCdotc_v2", handle_, 5, dx.constant(), 1, dy.constant(), 1, &adjoint);
  for (size_t i = 0; i < 5; ++i) sums[0] += x[i] * y[i], sums[1] += std::conj(x[i]) * y[i];
  EXPECT_EQ(plain, sums[0]);
  EXPECT_EQ(adjoint, sums[1]);
}

TEST_F(Blas, NormsNeitherOverflowNorVanish) {
  for (double scale : {1.0, 1e300, 1e-300}) {
    OnDevice<double> x(std::vector<double>{3 * scale, -4 * scale, 0});
    double result = 0;
    blas_ok("cublasDnrm2_v2", handle_, 3, x.constant(), 1, &result);
    EXPECT_NEAR(result / scale, 5, 1e-14);
    blas_ok("cublasDasum_v2", handle_, 3, x.constant(), 1, &result);
    EXPECT_NEAR(result / scale, 7, 1e-14);
  }
  OnDevice<double> least(std::vector<double>{5e-324});
  double result = 0;
  blas_ok("cublasDnrm2_v2", handle_, 1, least.constant(), 1, &result);
  EXPECT_EQ(result, 5e-324);
  OnDevice<C> z(std::vector<C>{{3, -4}});
  float size = 0;
  blas_ok("cublasScnrm2_v2", handle_, 1, z.constant(), 1, &size);
  EXPECT_EQ(size, 5);
  blas_ok("cublasScasum_v2", handle_, 1, z.constant(), 1, &size);
  EXPECT_EQ(size, 7);
}

TEST_F(Blas, TheFirstOfTheGreatest) {
  OnDevice<float> x(std::vector<float>{1, -5, 5, 0, 0});
  int at = 0;
  blas_ok("cublasIsamax_v2", handle_, 5, x.constant(), 1, &at);
  EXPECT_EQ(at, 2);
  blas_ok("cublasIsamin_v2", handle_, 5, x.constant(), 1, &at);
  EXPECT_EQ(at, 4);
  blas_ok("cublasIsamax_v2", handle_, 0, x.constant(), 1, &at);
  EXPECT_EQ(at, 0);
  OnDevice<int64_t> result(std::vector<int64_t>{0});
  blas_ok("cublasSetPointerMode_v2", handle_, BlasPointerMode::kDevice);
  blas_ok("cublasIsamax_v2_64", handle_, int64_t{5}, x.constant(), int64_t{1}, static_cast<int64_t*>(result));
  EXPECT_EQ(result.values()[0], 2);
}

TEST_F(Blas, Rotations) {
  OnDevice<float> x(std::vector<float>{1, 2}), y(std::vector<float>{3, 4});
  const float c = 0, s = 1;
  blas_ok("cublasSrot_v2", handle_, 2, static_cast<float*>(x), 1, static_cast<float*>(y), 1, &c, &s);
  EXPECT_EQ(x.values(), (std::vector<float>{3, 4}));
  EXPECT_EQ(y.values(), (std::vector<float>{-1, -2}));
}

template <class T>
void check_gemv(BlasHandle* h, const char* name) {
  constexpr int m = 7, n = 5, ld = 9;
  auto a = whole_numbers<T>(ld * n, 1), x = whole_numbers<T>(14, 2), y = whole_numbers<T>(14, 3);
  OnDevice<T> da(a), dx(x);
  for (BlasOperation op : kOperations) {
    OnDevice<T> dy(y);
    const T alpha = 2, beta = -1;
    blas_ok(name, h, op, m, n, &alpha, da.constant(), ld, dx.constant(), 2, &beta, static_cast<T*>(dy), 1);
    auto expected = y;
    for (int i = 0; i < (op == kN ? m : n); ++i) {
      T sum{};
      for (int j = 0; j < (op == kN ? n : m); ++j) {
        T v = op == kN ? a[static_cast<size_t>(i + j * ld)] : a[static_cast<size_t>(j + i * ld)];
        sum += (op == kC ? conjugated(v) : v) * x[static_cast<size_t>(2 * j)];
      }
      expected[static_cast<size_t>(i)] = alpha * sum + beta * y[static_cast<size_t>(i)];
    }
    EXPECT_EQ(dy.values(), expected);
  }
}

TEST_F(Blas, Gemv) {
  check_gemv<float>(handle_, "cublasSgemv_v2");
  check_gemv<double>(handle_, "cublasDgemv_v2");
  check_gemv<Z>(handle_, "cublasZgemv_v2");
}

TEST_F(Blas, BatchesOfVectors) {
  constexpr int m = 3, n = 2, count = 4;
  auto a = whole_numbers<double>(m * n * count, 1), x = whole_numbers<double>(n * count, 2);
  OnDevice<double> da(a), dx(x), dy(size_t{m * count}), dz(size_t{m * count});
  const double one = 1, zero = 0;
  blas_ok("cublasDgemvStridedBatched", handle_, kN, m, n, &one, da.constant(), m, 6LL, dx.constant(), 1, 2LL, &zero,
          static_cast<double*>(dy), 1, 3LL, count);
  std::vector<const double*> as, xs;
  std::vector<double*> zs;
  for (int i = 0; i < count; ++i) as.push_back(da + i * 6), xs.push_back(dx + i * 2), zs.push_back(dz + i * 3);
  OnDevice<const double*> pa(as), px(xs);
  OnDevice<double*> pz(zs);
  blas_ok("cublasDgemvBatched", handle_, kN, m, n, &one, static_cast<const double* const*>(pa), m,
          static_cast<const double* const*>(px), 1, &zero, static_cast<double* const*>(pz), 1, count);
  std::vector<double> expected;
  for (size_t b = 0; b < count; ++b) {
    for (size_t i = 0; i < m; ++i) expected.push_back(a[b * 6 + i] * x[b * 2] + a[b * 6 + 3 + i] * x[b * 2 + 1]);
  }
  EXPECT_EQ(dy.values(), expected);
  EXPECT_EQ(dz.values(), expected);
}

// A triangle that is well conditioned, and of which the other half was never written.
template <class T>
struct Half {
  int n, ld;
  BlasFill fill;
  BlasDiagonal diagonal;
  std::vector<T> values;
  OnDevice<T> memory;

  Half(int n, BlasFill fill, BlasDiagonal diagonal)
      : n(n),
        ld(n + 1),
        fill(fill),
        diagonal(diagonal),
        values(whole_numbers<T>(static_cast<size_t>(ld * n), 7, -1, 1)),
        memory(static_cast<size_t>(ld * n)) {
    for (int j = 0; j < n; ++j) {
      T& d = values[static_cast<size_t>(j + j * ld)];
      d = T(2);
      for (int i = 0; i < n; ++i) {
        bool kept = fill == BlasFill::kUpper ? i <= j : i >= j;
        if (i == j && diagonal == BlasDiagonal::kUnit) kept = false;
        const T* from = &values[static_cast<size_t>(i + j * ld)];
        if (kept) ok(copy(memory + i + j * ld, from, 1, CopyKind::kHostToDevice));
      }
    }
  }
  T whole(BlasOperation op, int i, int j) const {
    if (op != kN) std::swap(i, j);
    if (i == j) return diagonal == BlasDiagonal::kUnit ? T(1) : T(2);
    bool kept = fill == BlasFill::kUpper ? i < j : i > j;
    T v = kept ? values[static_cast<size_t>(i + j * ld)] : T(0);
    return op == kC ? conjugated(v) : v;
  }
};

TEST_F(Blas, BatchesOfTriangles) {
  // 2 x = b, by a lower triangle of which the upper half was never written.
  Half<float> a(2, BlasFill::kLower, BlasDiagonal::kNonUnit);
  float below = a.values[1];
  OnDevice<float> b(std::vector<float>{2, 4, 6, 8});
  OnDevice<const float*> pa(std::vector<const float*>{a.memory, a.memory});
  OnDevice<float*> pb(std::vector<float*>{b, b + 2});
  const float one = 1;
  blas_ok("cublasStrsmBatched", handle_, BlasSide::kLeft, BlasFill::kLower, kN, BlasDiagonal::kNonUnit, 2, 1, &one,
          static_cast<const float* const*>(pa), a.ld, static_cast<float* const*>(pb), 2, 2);
  EXPECT_EQ(b.values(), (std::vector<float>{1, (4 - below) / 2, 3, (8 - 3 * below) / 2}));
}

TEST_F(Blas, Ger) {
  auto x = whole_numbers<C>(3, 1), y = whole_numbers<C>(2, 2), a = whole_numbers<C>(8, 3);
  OnDevice<C> dx(x), dy(y), da(a);
  const C alpha = 2;
  blas_ok("cublasCgerc_v2", handle_, 3, 2, &alpha, dx.constant(), 1, dy.constant(), 1, static_cast<C*>(da), 4);
  for (size_t j = 0; j < 2; ++j) {
    for (size_t i = 0; i < 3; ++i) a[i + 4 * j] += alpha * x[i] * std::conj(y[j]);
  }
  EXPECT_EQ(da.values(), a);
}

template <class T>
void check_triangles(BlasHandle* h, char letter) {
  constexpr int m = 5, n = 3, ld = 6;
  std::string name = std::string("cublas") + letter;
  for (BlasFill fill : kFills) {
    for (BlasOperation op : kOperations) {
      for (BlasDiagonal diagonal : {BlasDiagonal::kUnit, BlasDiagonal::kNonUnit}) {
        for (BlasSide side : {BlasSide::kLeft, BlasSide::kRight}) {
          int order = side == BlasSide::kLeft ? m : n;
          Half<T> a(order, fill, diagonal);
          auto b = whole_numbers<T>(ld * n, 8);
          OnDevice<T> db(b), dc(b);
          const T alpha = 2, half = 0.5;
          const T* at = a.memory;
          blas_ok(name + "trmm_v2", h, side, fill, op, diagonal, m, n, &alpha, at, a.ld, db.constant(), ld,
                  static_cast<T*>(dc), ld);
          auto expected = b;
          for (int j = 0; j < n; ++j) {
            for (int i = 0; i < m; ++i) {
              T sum{};
              for (int s = 0; s < order; ++s) {
                sum += side == BlasSide::kLeft ? a.whole(op, i, s) * b[static_cast<size_t>(s + j * ld)]
                                               : b[static_cast<size_t>(i + s * ld)] * a.whole(op, s, j);
              }
              expected[static_cast<size_t>(i + j * ld)] = alpha * sum;
            }
          }
          EXPECT_EQ(dc.values(), expected);
          // Back again.
          blas_ok(name + "trsm_v2", h, side, fill, op, diagonal, m, n, &half, at, a.ld, static_cast<T*>(dc), ld);
          EXPECT_EQ(dc.values(), b);
        }
        Half<T> a(m, fill, diagonal);
        auto x = whole_numbers<T>(2 * m, 9);
        OnDevice<T> dx(x);
        const T* at = a.memory;
        blas_ok(name + "trmv_v2", h, fill, op, diagonal, m, at, a.ld, static_cast<T*>(dx), -2);
        blas_ok(name + "trsv_v2", h, fill, op, diagonal, m, at, a.ld, static_cast<T*>(dx), -2);
        EXPECT_EQ(dx.values(), x);
      }
    }
  }
}

TEST_F(Blas, Triangles) {
  check_triangles<float>(handle_, 'S');
  check_triangles<double>(handle_, 'D');
  check_triangles<C>(handle_, 'C');
  check_triangles<Z>(handle_, 'Z');
}

TEST_F(Blas, MirroredMatrices) {
  constexpr int n = 4;
  for (BlasFill fill : kFills) {
    Half<C> a(n, fill, BlasDiagonal::kNonUnit);
    auto b = whole_numbers<C>(n * 2, 5), c = whole_numbers<C>(n * 2, 6);
    OnDevice<C> db(b), dc(c), dy(size_t{n});
    const C alpha = 2, beta = -1, zero = 0;
    const C* at = a.memory;
    blas_ok("cublasChemm_v2", handle_, BlasSide::kLeft, fill, n, 2, &alpha, at, a.ld, db.constant(), n, &beta,
            static_cast<C*>(dc), n);
    blas_ok("cublasChemv_v2", handle_, fill, n, &alpha, at, a.ld, db.constant(), 1, &zero, static_cast<C*>(dy), 1);
    std::vector<C> first;
    for (int j = 0; j < 2; ++j) {
      for (int i = 0; i < n; ++i) {
        C sum = 0;
        for (int s = 0; s < n; ++s) {
          C v = i == s ? C(2) : a.whole(kN, i, s) + a.whole(kC, i, s);
          sum += v * b[static_cast<size_t>(s + j * n)];
        }
        C& to = c[static_cast<size_t>(i + j * n)];
        if (j == 0) first.push_back(alpha * sum);
        to = alpha * sum + beta * to;
      }
    }
    EXPECT_EQ(dc.values(), c);
    EXPECT_EQ(dy.values(), first);
  }
}

template <class T>
void check_rank(BlasHandle* h, const std::string& name, bool hermitian) {
  constexpr int n = 4, k = 3;
  for (BlasFill fill : kFills) {
    for (BlasOperation op : {kN, hermitian ? kC : kT}) {
      int ld = op == kN ? n : k;
      auto a = whole_numbers<T>(n * k, 1);
      std::vector<T> c(n * n, T(3));
      OnDevice<T> da(a), dc(c);
      const blas::Real<T> real_alpha = 2, real_beta = -1;
      const T alpha = 2, beta = -1;
      if (hermitian) {
        blas_ok(name, h, fill, op, n, k, &real_alpha, da.constant(), ld, &real_beta, static_cast<T*>(dc), n);
      } else {
        blas_ok(name, h, fill, op, n, k, &alpha, da.constant(), ld, &beta, static_cast<T*>(dc), n);
      }
      for (int j = 0; j < n; ++j) {
        for (int i = 0; i < n; ++i) {
          if (fill == BlasFill::kUpper ? i > j : i < j) continue;
          T sum{};
          for (int s = 0; s < k; ++s) {
            T x = op == kN ? a[static_cast<size_t>(i + s * ld)] : a[static_cast<size_t>(s + i * ld)];
            T y = op == kN ? a[static_cast<size_t>(j + s * ld)] : a[static_cast<size_t>(s + j * ld)];
            if (hermitian) (op == kN ? y : x) = conjugated(op == kN ? y : x);
            sum += x * y;
          }
          c[static_cast<size_t>(i + j * n)] = alpha * sum + beta * T(3);
        }
      }
      EXPECT_EQ(dc.values(), c);
    }
  }
}

TEST_F(Blas, RankUpdates) {
  check_rank<float>(handle_, "cublasSsyrk_v2", false);
  check_rank<C>(handle_, "cublasCsyrk_v2", false);
  check_rank<Z>(handle_, "cublasZherk_v2", true);
}

TEST_F(Blas, SumsOfMatrices) {
  OnDevice<float> a(std::vector<float>{1, 2, 3, 4, 5, 6}), c(size_t{6}), x(std::vector<float>{10, 100, 1000});
  const float two = 2, zero = 0;
  const float* none = nullptr;
  // A is 3 x 2; its other factor isn't read where it counts nothing.
  blas_ok("cublasSgeam", handle_, kT, kN, 2, 3, &two, a.constant(), 3, &zero, none, 2, static_cast<float*>(c), 2);
  EXPECT_EQ(c.values(), (std::vector<float>{2, 8, 4, 10, 6, 12}));
  blas_ok("cublasSdgmm", handle_, BlasSide::kLeft, 3, 2, a.constant(), 3, x.constant(), 1, static_cast<float*>(c), 3);
  EXPECT_EQ(c.values(), (std::vector<float>{10, 200, 3000, 40, 500, 6000}));
  blas_ok("cublasSdgmm", handle_, BlasSide::kRight, 3, 2, a.constant(), 3, x.constant(), 1, static_cast<float*>(c), 3);
  EXPECT_EQ(c.values(), (std::vector<float>{10, 20, 30, 400, 500, 600}));
}

TEST_F(Blas, Transfers) {
  const std::vector<float> matrix = {1, 2, -1, 3, 4, -1};
  OnDevice<float> there(std::vector<float>(8, 0));
  void* device = static_cast<float*>(there);
  const void *from = matrix.data(), *device_from = device;
  blas_ok("cublasSetMatrix", 2, 2, 4, from, 3, device, 4);
  EXPECT_EQ(there.values(), (std::vector<float>{1, 2, 0, 0, 3, 4, 0, 0}));
  std::vector<float> back(6, 0);
  void* to = back.data();
  blas_ok("cublasGetMatrix", 2, 2, 4, device_from, 4, to, 3);
  EXPECT_EQ(back, (std::vector<float>{1, 2, 0, 3, 4, 0}));
  blas_ok("cublasSetVector", 3, 4, from, 2, device, 3);
  EXPECT_EQ(there.values(), (std::vector<float>{1, 2, 0, -1, 3, 4, 4, 0}));
  EXPECT_EQ(blas_result("cublasSetVector", 3, 4, from, 0, device, 1), BlasStatus::kInvalidValue);
  EXPECT_EQ(blas_result("cublasSetVector", 9, 4, from, 1, device, 1), BlasStatus::kMappingError);
}

TEST_F(Blas, Settings) {
  int version = 0, mode = -1;
  BlasPointerMode pointers = BlasPointerMode::kDevice;
  Stream* stream = kLegacyStream;
  blas_ok("cublasGetVersion_v2", handle_, &version);
  EXPECT_GE(version, 130000);
  blas_ok("cublasGetPointerMode_v2", handle_, &pointers);
  EXPECT_EQ(pointers, BlasPointerMode::kHost);
  blas_ok("cublasSetMathMode", handle_, 3);
  blas_ok("cublasGetMathMode", handle_, &mode);
  EXPECT_EQ(mode, 3);
  EXPECT_EQ(blas_result("cublasSetMathMode", handle_, 77), BlasStatus::kInvalidValue);
  blas_ok("cublasGetStream_v2", handle_, &stream);
  EXPECT_EQ(stream, nullptr);
  BlasHandle* none = nullptr;
  EXPECT_EQ(blas_result("cublasDestroy_v2", none), BlasStatus::kNotInitialized);
  auto name = reinterpret_cast<const char* (*)(BlasStatus)>(find_export("cublasGetStatusName", kBlasVersion));
  EXPECT_STREQ(name(BlasStatus::kMappingError), "CUBLAS_STATUS_MAPPING_ERROR");
}

}  // namespace
}  // namespace quern::cuda
