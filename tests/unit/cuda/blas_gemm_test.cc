// Products of matrices by cuBLAS's functions, each against a triple loop.
#include <cmath>
#include <limits>

#include "blas.h"

namespace quern::cuda {
namespace {

using C = std::complex<float>;
using Z = std::complex<double>;

template <class T>
T element(const std::vector<T>& a, BlasOperation op, int64_t ld, int64_t i, int64_t j) {
  T v = op == kN ? a[static_cast<size_t>(i + j * ld)] : a[static_cast<size_t>(j + i * ld)];
  if constexpr (requires { v.imag(); }) {
    if (op == kC) v = std::conj(v);
  }
  return v;
}

template <class T>
std::vector<T> expected(BlasOperation ta, BlasOperation tb, int m, int n, int k, T alpha, const std::vector<T>& a,
                        int lda, const std::vector<T>& b, int ldb, T beta, std::vector<T> c, int ldc) {
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < m; ++i) {
      T sum{};
      for (int s = 0; s < k; ++s) sum += element(a, ta, lda, i, s) * element(b, tb, ldb, s, j);
      T& to = c[static_cast<size_t>(i + j * ldc)];
      to = beta == T{} ? alpha * sum : alpha * sum + beta * to;
    }
  }
  return c;
}

template <class T>
void check_gemm(BlasHandle* h, const char* name) {
  constexpr int m = 19, n = 11, k = 23, lda = 27, ldb = 25, ldc = 21;
  auto a = whole_numbers<T>(lda * 27, 1), b = whole_numbers<T>(ldb * 25, 2), c = whole_numbers<T>(ldc * n, 3);
  OnDevice<T> da(a), db(b);
  for (BlasOperation ta : {kN, kT, kC}) {
    for (BlasOperation tb : {kN, kT, kC}) {
      for (T beta : {T(0), T(2)}) {
        OnDevice<T> dc(c);
        T alpha = 3;
        const T *pa = &alpha, *pb = &beta;
        blas_ok(name, h, ta, tb, m, n, k, pa, da.constant(), lda, db.constant(), ldb, pb, static_cast<T*>(dc), ldc);
        EXPECT_EQ(dc.values(), expected(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc));
      }
    }
  }
}

TEST_F(Blas, Gemm) {
  check_gemm<float>(handle_, "cublasSgemm_v2");
  check_gemm<double>(handle_, "cublasDgemm_v2");
  check_gemm<C>(handle_, "cublasCgemm_v2");
  check_gemm<Z>(handle_, "cublasZgemm_v2");
}

TEST_F(Blas, ScalarsOfTheDevice) {
  std::vector<float> a = whole_numbers<float>(9, 1), b = whole_numbers<float>(9, 2), c = whole_numbers<float>(9, 3);
  OnDevice<float> da(a), db(b), dc(c), scalars(std::vector<float>{2, -1});
  blas_ok("cublasSetPointerMode_v2", handle_, BlasPointerMode::kDevice);
  blas_ok("cublasSgemm_v2_64", handle_, kN, kT, int64_t{3}, int64_t{3}, int64_t{3}, scalars.constant(), da.constant(),
          int64_t{3}, db.constant(), int64_t{3}, scalars.constant() + 1, static_cast<float*>(dc), int64_t{3});
  EXPECT_EQ(dc.values(), expected<float>(kN, kT, 3, 3, 3, 2, a, 3, b, 3, -1, c, 3));
}

// What beta is 0 for isn't read, though nothing wrote it, nor if it is no number.
TEST_F(Blas, ResultsNeedNoValueBefore) {
  OnDevice<double> a(std::vector<double>(4, 1)), fresh(4),
      nan(std::vector<double>(4, std::numeric_limits<double>::quiet_NaN()));
  const double one = 1, zero = 0;
  for (OnDevice<double>* c : {&fresh, &nan}) {
    blas_ok("cublasDgemm_v2", handle_, kN, kN, 2, 2, 2, &one, a.constant(), 2, a.constant(), 2, &zero,
            static_cast<double*>(*c), 2);
    EXPECT_EQ(c->values(), std::vector<double>(4, 2));
  }
}

TEST_F(Blas, NothingToDoTouchesNothing) {
  const float one = 1;
  const float* none = nullptr;
  float* nothing = nullptr;
  blas_ok("cublasSgemm_v2", handle_, kN, kN, 0, 4, 4, &one, none, 1, none, 4, &one, nothing, 1);
  blas_ok("cublasSgemm_v2", handle_, kN, kN, 4, 0, 4, &one, none, 4, none, 4, &one, nothing, 4);
  // A sum of nothing still scales C.
  OnDevice<float> c(std::vector<float>{1, 2});
  const float two = 2;
  blas_ok("cublasSgemm_v2", handle_, kN, kN, 2, 1, 0, &one, none, 2, none, 1, &two, static_cast<float*>(c), 2);
  EXPECT_EQ(c.values(), (std::vector<float>{2, 4}));
}

TEST_F(Blas, WrongArguments) {
  OnDevice<float> x(std::vector<float>(64, 1));
  const float* in = x.constant();
  const float one = 1;
  const float* none = nullptr;
  auto gemm = [&](BlasHandle* h, BlasOperation op, int m, int lda, const float* alpha, int ldc) {
    return blas_result("cublasSgemm_v2", h, op, kN, m, 2, 2, alpha, in, lda, in, 2, &one, static_cast<float*>(x), ldc);
  };
  BlasHandle* no_handle = nullptr;
  EXPECT_EQ(gemm(handle_, kN, 4, 4, &one, 4), BlasStatus::kSuccess);
  EXPECT_EQ(gemm(no_handle, kN, 4, 4, &one, 4), BlasStatus::kNotInitialized);
  EXPECT_EQ(gemm(handle_, static_cast<BlasOperation>(9), 4, 4, &one, 4), BlasStatus::kInvalidValue);
  EXPECT_EQ(gemm(handle_, kN, -1, 4, &one, 4), BlasStatus::kInvalidValue);
  EXPECT_EQ(gemm(handle_, kN, 4, 3, &one, 4), BlasStatus::kInvalidValue);
  EXPECT_EQ(gemm(handle_, kT, 4, 1, &one, 4), BlasStatus::kInvalidValue);
  EXPECT_EQ(gemm(handle_, kN, 4, 4, none, 4), BlasStatus::kInvalidValue);
  EXPECT_EQ(gemm(handle_, kN, 4, 4, &one, 3), BlasStatus::kInvalidValue);
}

TEST_F(Blas, Batches) {
  constexpr int m = 3, n = 2, k = 4, count = 5;
  auto a = whole_numbers<float>(m * k * count, 1), b = whole_numbers<float>(k * n, 2);
  OnDevice<float> da(a), db(b), dc(size_t{m * n * count}), dd(size_t{m * n * count});
  const float one = 1, zero = 0;
  // B has a stride of nothing: all use the same one.
  blas_ok("cublasSgemmStridedBatched", handle_, kN, kN, m, n, k, &one, da.constant(), m, 12LL, db.constant(), k, 0LL,
          &zero, static_cast<float*>(dc), m, 6LL, count);
  std::vector<const float*> as, bs;
  std::vector<float*> ds;
  for (int i = 0; i < count; ++i) as.push_back(da + i * m * k), bs.push_back(db), ds.push_back(dd + i * m * n);
  OnDevice<const float*> pa(as), pb(bs);
  OnDevice<float*> pd(ds);
  blas_ok("cublasSgemmBatched", handle_, kN, kN, m, n, k, &one, static_cast<const float* const*>(pa), m,
          static_cast<const float* const*>(pb), k, &zero, static_cast<float* const*>(pd), m, count);
  std::vector<float> whole;
  for (int i = 0; i < count; ++i) {
    std::vector<float> own(a.begin() + i * m * k, a.begin() + (i + 1) * m * k);
    auto c = expected<float>(kN, kN, m, n, k, 1, own, m, b, k, 0, std::vector<float>(m * n), m);
    whole.insert(whole.end(), c.begin(), c.end());
  }
  EXPECT_EQ(dc.values(), whole);
  EXPECT_EQ(dd.values(), whole);
}

template <class In, class Out, class Scalar>
BlasStatus gemm_ex(BlasHandle* h, DataType in, DataType out, BlasCompute compute, Scalar one, Scalar zero, In a,
                   std::vector<Out>& result) {
  OnDevice<In> da(std::vector<In>(6, a));
  OnDevice<Out> dc(size_t{4});
  const void *pa = static_cast<In*>(da), *alpha = &one, *beta = &zero;
  BlasStatus status = blas_result("cublasGemmEx", h, kN, kN, 2, 2, 3, alpha, pa, in, 2, pa, in, 3, beta,
                                  static_cast<void*>(static_cast<Out*>(dc)), out, 2, compute, -1);
  if (status == BlasStatus::kSuccess) result = dc.values();
  return status;
}

TEST_F(Blas, TypesOfGemmEx) {
  using blas::Brain;
  using blas::Half;
  Half h2 = blas::to_half(2), h1 = blas::to_half(1), h0 = blas::to_half(0);
  std::vector<Half> half;
  std::vector<Brain> brain;
  std::vector<float> real;
  std::vector<int32_t> whole;
  auto all = [&](auto& values, auto get, double expected) {
    ASSERT_EQ(values.size(), 4u);
    for (auto v : values) EXPECT_EQ(get(v), expected);
  };
  auto widen = [](auto v) { return static_cast<double>(blas::widen(v)); };
  EXPECT_EQ(gemm_ex(handle_, DataType::kR16F, DataType::kR16F, BlasCompute::k16F, h1, h0, h2, half),
            BlasStatus::kSuccess);
  all(half, widen, 12);
  EXPECT_EQ(gemm_ex(handle_, DataType::kR16F, DataType::kR32F, BlasCompute::k32F, 1.f, 0.f, h2, real),
            BlasStatus::kSuccess);
  all(real, widen, 12);
  EXPECT_EQ(gemm_ex(handle_, DataType::kR16BF, DataType::kR16BF, BlasCompute::k32FFast16BF, 1.f, 0.f, blas::to_brain(3),
                    brain),
            BlasStatus::kSuccess);
  all(brain, widen, 27);
  EXPECT_EQ(gemm_ex(handle_, DataType::kR8I, DataType::kR32I, BlasCompute::k32I, 2, 0, int8_t{-7}, whole),
            BlasStatus::kSuccess);
  all(
      whole, [](int32_t v) { return static_cast<double>(v); }, 294);
  EXPECT_EQ(gemm_ex(handle_, DataType::kR8I, DataType::kR32F, BlasCompute::k32F, 0.5f, 0.f, int8_t{3}, real),
            BlasStatus::kSuccess);
  all(real, widen, 13.5);
  // What can't be computed so.
  EXPECT_EQ(gemm_ex(handle_, DataType::kR16F, DataType::kR32F, BlasCompute::k64F, 1.0, 0.0, h2, real),
            BlasStatus::kNotSupported);
  EXPECT_EQ(gemm_ex(handle_, DataType::kR16F, DataType::kR32F, static_cast<BlasCompute>(3), 1.f, 0.f, h2, real),
            BlasStatus::kInvalidValue);
}

TEST_F(Blas, GraphsKeepIt) {
  Stream* stream = nullptr;
  ok(call("cudaStreamCreate", &stream));
  blas_ok("cublasSetStream_v2", handle_, stream);
  OnDevice<float> a(std::vector<float>{2}), c(std::vector<float>{1}), sum(std::vector<float>{0});
  ok(call("cudaStreamBeginCapture", stream, 0));
  const float one = 1, zero = 0;
  // c = 2 * c, by way of a copy that is another node.
  blas_ok("cublasSgemm_v2", handle_, kN, kN, 1, 1, 1, &one, a.constant(), 1, c.constant(), 1, &zero,
          static_cast<float*>(sum), 1);
  blas_ok("cublasScopy_v2", handle_, 1, sum.constant(), 1, static_cast<float*>(c), 1);
  Graph* graph = nullptr;
  ok(call("cudaStreamEndCapture", stream, &graph));
  EXPECT_EQ(c.values()[0], 1);
  GraphExec* exec = nullptr;
  ok(call("cudaGraphInstantiate", &exec, graph, 0ull));
  for (int i = 0; i < 3; ++i) ok(call("cudaGraphLaunch", exec, stream));
  EXPECT_EQ(c.values()[0], 8);
  // A capture can't give a number to the host.
  ok(call("cudaStreamBeginCapture", stream, 0));
  float result = 0;
  EXPECT_EQ(blas_result("cublasSdot_v2", handle_, 1, a.constant(), 1, a.constant(), 1, &result),
            BlasStatus::kExecutionFailed);
  EXPECT_NE(call("cudaStreamEndCapture", stream, &graph), Error::kSuccess);
}

using BlasDeathTest = Blas;

TEST_F(BlasDeathTest, AMatrixThatIsTooLong) {
  OnDevice<float> a(std::vector<float>(15, 1)), c(size_t{16});
  const float one = 1, zero = 0;
  EXPECT_EXIT(blas_result("cublasSgemm_v2", handle_, kN, kN, 4, 4, 4, &one, a.constant(), 4, a.constant(), 4, &zero,
                          static_cast<float*>(c), 4),
              ::testing::ExitedWithCode(1),
              "error: out-of-bounds read of 4 bytes\n   = kernel: cublasSgemm\n   = address 0x[0-9a-f]+: 0 bytes "
              "after the 60 bytes at 0x[0-9a-f]+ .cudaMalloc.\n   = A: 4 columns of 4 elements of 4 bytes, 4 apart");
}

TEST_F(BlasDeathTest, AMatrixThatNothingWrote) {
  OnDevice<float> a(size_t{16}), b(std::vector<float>(16, 1)), c(size_t{16});
  ok(copy(static_cast<float*>(a), std::vector<float>(6, 1).data(), 6, CopyKind::kHostToDevice));
  const float one = 1, zero = 0;
  EXPECT_EXIT(blas_result("cublasSgemm_v2", handle_, kN, kN, 4, 4, 4, &one, a.constant(), 4, b.constant(), 4, &zero,
                          static_cast<float*>(c), 4),
              ::testing::ExitedWithCode(1), "error: read of 4 bytes that nothing wrote");
}

// Gaps need no value, and may lead out of the allocation behind the last column.
TEST_F(Blas, GapsAreNotTouched) {
  OnDevice<float> a(size_t{10}), c(size_t{10});
  for (int j = 0; j < 3; ++j) ok(copy(a + 4 * j, std::vector<float>(2, 3).data(), 2, CopyKind::kHostToDevice));
  const float one = 1, zero = 0;
  blas_ok("cublasSgemm_v2", handle_, kN, kT, 2, 2, 3, &one, a.constant(), 4, a.constant(), 4, &zero,
          static_cast<float*>(c), 4);
  float found[2];
  ok(copy(found, static_cast<const float*>(c) + 4, 2, CopyKind::kDeviceToHost));
  EXPECT_EQ(found[1], 27);
}

TEST_F(BlasDeathTest, SizesBeyondAllMemory) {
  OnDevice<double> x(std::vector<double>(4, 1));
  double result = 0;
  for (int64_t step : {int64_t{1}, int64_t{1} << 40}) {
    EXPECT_EXIT(blas_result("cublasDnrm2_v2_64", handle_, int64_t{1} << 62, x.constant(), step, &result),
                ::testing::ExitedWithCode(1), "error: out-of-bounds read of 8 bytes\n   = kernel: cublasDnrm2");
  }
}

TEST_F(BlasDeathTest, AVectorOfTheHost) {
  std::vector<float> x(8, 1);
  const float* at = x.data();
  float result = 0;
  EXPECT_EXIT(blas_result("cublasSdot_v2", handle_, 8, at, 1, at, 1, &result), ::testing::ExitedWithCode(1),
              "out-of-bounds read of 4 bytes\n   = kernel: cublasSdot\n(.|\n)*near no allocation");
}

TEST_F(BlasDeathTest, AResultInTheWrongMemory) {
  OnDevice<float> x(std::vector<float>(8, 1)), result(size_t{1});
  EXPECT_EXIT(blas_result("cublasSdot_v2", handle_, 8, x.constant(), 1, x.constant(), 1, static_cast<float*>(result)),
              ::testing::ExitedWithCode(1), "result is read and written by the host as the handle's pointer mode says");
  blas_ok("cublasSetPointerMode_v2", handle_, BlasPointerMode::kDevice);
  float host = 0;
  EXPECT_EXIT(blas_result("cublasSdot_v2", handle_, 8, x.constant(), 1, x.constant(), 1, &host),
              ::testing::ExitedWithCode(1), "out-of-bounds write of 4 bytes");
}

}  // namespace
}  // namespace quern::cuda
