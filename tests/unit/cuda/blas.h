// cuBLAS's functions as a program calls them, by name; a handle; matrices on the device.
#pragma once

#include <complex>
#include <random>
#include <vector>

#include "blas/number.h"
#include "blas/vector.h"
#include "cuda/abi/cublas_types.h"
#include "cuda/cublas/handle.h"
#include "runtime.h"

namespace quern::cuda {

template <class... A>
BlasStatus blas_result(const std::string& name, A... arguments) {
  auto function = reinterpret_cast<BlasStatus (*)(A...)>(find_export(name, kBlasVersion));
  EXPECT_NE(function, nullptr) << name;
  return function ? function(arguments...) : BlasStatus::kNotSupported;
}

template <class... A>
void blas_ok(const std::string& name, A... arguments) {
  EXPECT_EQ(blas_result(name, arguments...), BlasStatus::kSuccess) << name;
}

class Blas : public ::testing::Test {
 protected:
  void SetUp() override { blas_ok("cublasCreate_v2", &handle_); }
  void TearDown() override { blas_ok("cublasDestroy_v2", handle_); }
  BlasHandle* handle_ = nullptr;
};

inline constexpr BlasOperation kN = BlasOperation::kN, kT = BlasOperation::kT, kC = BlasOperation::kC;

// An array on the device, freed with it.
template <class T>
class OnDevice {
 public:
  explicit OnDevice(const std::vector<T>& values) : count_(values.size()) {
    data_ = device_array<T>(count_);
    ok(copy(data_, values.data(), count_, CopyKind::kHostToDevice));
  }
  explicit OnDevice(size_t count) : count_(count) { data_ = device_array<T>(count_); }  // not written
  ~OnDevice() { ok(call("cudaFree", static_cast<void*>(data_))); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  operator T*() const { return data_; }
  const T* constant() const { return data_; }
  std::vector<T> values() const {
    std::vector<T> out(count_);
    ok(copy(out.data(), static_cast<const T*>(data_), count_, CopyKind::kDeviceToHost));
    return out;
  }

 private:
  T* data_ = nullptr;
  size_t count_;
};

// Whole numbers, so that sums are exact in any order.
template <class T>
std::vector<T> whole_numbers(size_t count, unsigned seed, int least = -4, int greatest = 4) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> any(least, greatest);
  std::vector<T> out(count);
  for (T& v : out) {
    v = static_cast<T>(any(random));
    if constexpr (requires { v.imag(); }) v = T(v.real(), static_cast<decltype(v.real())>(any(random)));
  }
  return out;
}

}  // namespace quern::cuda
