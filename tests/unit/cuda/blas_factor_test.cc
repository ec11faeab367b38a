// Many small systems, each put together again; and matrices of the host.
#include <cmath>

#include "blas.h"

namespace quern::cuda {
namespace {

template <class T>
std::vector<T*> addresses(T* first, int64_t apart, int count) {
  std::vector<T*> out;
  for (int i = 0; i < count; ++i) out.push_back(first + i * apart);
  return out;
}

template <class T>
std::vector<T> product(BlasOperation op, int n, const T* a, const T* b) {
  std::vector<T> out(static_cast<size_t>(n * n));
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < n; ++i) {
      T sum{};
      for (int k = 0; k < n; ++k) sum += (op == kN ? a[i + k * n] : a[k + i * n]) * b[k + j * n];
      out[static_cast<size_t>(i + j * n)] = sum;
    }
  }
  return out;
}

template <class T>
void check_systems(BlasHandle* h, char letter) {
  constexpr int n = 5, count = 3;
  std::string name = std::string("cublas") + letter;
  auto a = whole_numbers<T>(n * n * count, 11);
  for (int i = 0; i < count; ++i) {
    // The first pivot can't be where it is.
    for (int k = 0; k < n; ++k) a[static_cast<size_t>(i * n * n + k * (n + 1))] = T(k ? 9 : 0);
  }
  auto b = whole_numbers<T>(n * n * count, 12);
  OnDevice<T> da(a), db(b), dc(size_t{n * n * count});
  OnDevice<T*> pa(addresses<T>(da, n * n, count)), pb(addresses<T>(db, n * n, count)),
      pc(addresses<T>(dc, n * n, count));
  OnDevice<int> pivots(size_t{n * count}), info(size_t{count});
  T *const *in = pa, *const *right = pb, *const *inverse = pc;
  auto const_in = const_cast<const T* const*>(in);
  const int* const_pivots = pivots;
  blas_ok(name + "matinvBatched", h, n, const_in, n, inverse, n, static_cast<int*>(info), count);
  // Against what was added up.
  auto near = [&](BlasOperation op, const T* matrix, const T* x, const T* expected) {
    auto found = product(op, n, matrix, x);
    double greatest = 1;
    for (int k = 0; k < n * n; ++k) greatest = std::max<double>(greatest, std::abs(x[k]));
    for (size_t k = 0; k < found.size(); ++k) EXPECT_LT(std::abs(found[k] - expected[k]), greatest * 1e-4) << k;
  };
  std::vector<T> one(n * n);
  for (size_t k = 0; k < n; ++k) one[k * (n + 1)] = 1;
  auto check_inverse = [&] {
    EXPECT_EQ(info.values(), std::vector<int>(count, 0));
    auto c = dc.values();
    for (int i = 0; i < count; ++i) near(kN, &a[size_t(i * n * n)], &c[size_t(i * n * n)], one.data());
  };
  check_inverse();
  blas_ok(name + "getrfBatched", h, n, in, n, static_cast<int*>(pivots), static_cast<int*>(info), count);
  EXPECT_NE(pivots.values()[0], 1);
  blas_ok(name + "getriBatched", h, n, const_in, n, const_pivots, inverse, n, static_cast<int*>(info), count);
  check_inverse();
  for (BlasOperation op : {kN, kT}) {
    auto before = db.values();
    int bad = -1;
    blas_ok(name + "getrsBatched", h, op, n, n, const_in, n, const_pivots, right, n, &bad, count);
    EXPECT_EQ(bad, 0);
    auto x = db.values();
    for (int i = 0; i < count; ++i) {
      near(op, &a[size_t(i * n * n)], &x[size_t(i * n * n)], &before[size_t(i * n * n)]);
    }
  }
}

TEST_F(Blas, SmallSystems) {
  check_systems<float>(handle_, 'S');
  check_systems<double>(handle_, 'D');
  check_systems<std::complex<double>>(handle_, 'Z');
}

using BlasDeathTest = Blas;

TEST_F(BlasDeathTest, PivotsThatLeadAway) {
  OnDevice<float> a(std::vector<float>{1, 0, 0, 1}), b(std::vector<float>(4, 1));
  OnDevice<float*> pa(addresses<float>(a, 4, 1)), pb(addresses<float>(b, 4, 1));
  OnDevice<int> pivots(std::vector<int>{1, 3});
  float *const *in = pa, *const *right = pb;
  const int* at = pivots;
  int info = 0;
  EXPECT_EXIT(blas_result("cublasSgetrsBatched", handle_, kN, 2, 2, const_cast<const float* const*>(in), 2, at, right,
                          2, &info, 1),
              ::testing::ExitedWithCode(1), "pivot 2 of 2 rows is 3");
}

TEST_F(Blas, SingularOnesAreSaid) {
  OnDevice<double> a(std::vector<double>{1, 2, 2, 4}), c(size_t{4});
  OnDevice<double*> pa(addresses<double>(a, 4, 1)), pc(addresses<double>(c, 4, 1));
  OnDevice<int> info(size_t{1});
  double *const *in = pa, *const *out = pc;
  blas_ok("cublasDmatinvBatched", handle_, 2, const_cast<const double* const*>(in), 2, out, 2, static_cast<int*>(info),
          1);
  EXPECT_EQ(info.values()[0], 2);
}

TEST_F(Blas, MatricesOfTheHost) {
  void* handle = nullptr;
  blas_ok("cublasXtCreate", &handle);
  const int device = 0, none = 7;
  blas_ok("cublasXtDeviceSelect", handle, 1, &device);
  EXPECT_EQ(blas_result("cublasXtDeviceSelect", handle, 1, &none), BlasStatus::kInvalidValue);
  blas_ok("cublasXtSetBlockDim", handle, 64);
  const std::vector<float> a = {1, 2, 3, 4}, b = {1, 1, 0, 1};
  std::vector<float> c(4, 1);
  const float one = 1;
  size_t two = 2;
  blas_ok("cublasXtSgemm", handle, kN, kN, two, two, two, &one, a.data(), two, b.data(), two, &one, c.data(), two);
  EXPECT_EQ(c, (std::vector<float>{5, 7, 4, 5}));
  blas_ok("cublasXtDestroy", handle);
  EXPECT_EQ(blas_result("cublasXtDestroy", handle), BlasStatus::kNotInitialized);
}

}  // namespace
}  // namespace quern::cuda
