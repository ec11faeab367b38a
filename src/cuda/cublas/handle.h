// A handle of cuBLAS, how each of its functions begins and ends, and the numbers that it gets or gives at pointers
// which the handle says are the host's or the device's.
#pragma once

#include <complex>
#include <functional>
#include <memory>
#include <string>

#include "blas/number.h"
#include "cuda/abi/cublas_types.h"
#include "cuda/runtime/device_memory.h"
#include "cuda/runtime/library_access.h"
#include "cuda/runtime/live.h"
#include "cuda/runtime/stream.h"

namespace quern::cuda {

struct BlasHandle {
  Stream* stream = nullptr;
  BlasPointerMode pointers = BlasPointerMode::kHost;
  BlasAtomics atomics = BlasAtomics::kNotAllowed;
  int math = 0;
  int multiprocessors = 0;  // cublasSetSmCountTarget
};

BlasStatus blas_status(Error e);

// Calls body(handle) with the handle as it is now; nothing is thrown into the program.
BlasStatus blas_call(const BlasHandle* handle, const std::function<BlasStatus(const BlasHandle&)>& body);
// Without a handle.
BlasStatus blas_guard(const std::function<BlasStatus()>& body);

// Puts work into the handle's stream. `work` asks for what it touches, and stops where that is refused; its own error
// is the call's.
using BlasWork = std::function<void(LibraryAccess&)>;
BlasStatus blas_submit(const BlasHandle& handle, const std::string& function, BlasWork work);
// The same for work with a result: where that goes to the host, it is there when this returns.
BlasStatus blas_submit_waiting(const BlasHandle& handle, const std::string& function, BlasWork work);

// A number at a pointer that a call was given. The host's is read when the call is made.
template <class T>
class BlasScalar {
 public:
  BlasScalar() = default;
  BlasScalar(const BlasHandle& h, const char* what, const void* at)
      : what_(what), at_(at), device_(h.pointers == BlasPointerMode::kDevice) {
    bool readable = at && !(is_device_address(at) && !allocation_of(at));
    if (!device_ && readable) value_ = *static_cast<const T*>(at);
  }
  bool get(LibraryAccess& access, T& out) const {
    int64_t bytes = sizeof(T);
    bool good = device_ ? access.reads({what_, at_, bytes, 1}) : access.is_on_host(what_, at_, bytes, false);
    if (good) out = device_ ? *static_cast<const T*>(at_) : value_;
    return good;
  }

 private:
  const char* what_ = "";
  const void* at_ = nullptr;
  bool device_ = false;
  T value_{};
};

template <class T>
class BlasResult {
 public:
  BlasResult(const BlasHandle& h, T* at) : at_(at), device_(h.pointers == BlasPointerMode::kDevice) {}
  bool can_be_written(LibraryAccess& access) const {
    int64_t bytes = sizeof(T);
    return device_ ? access.writes({"result", at_, bytes, 1}) : access.is_on_host("result", at_, bytes, true);
  }
  void put(T value) const { *at_ = value; }

 private:
  T* at_;
  bool device_;
};

// cublas<letter><rest>, for messages.
template <class T>
constexpr char kBlasLetter = '?';
template <>
inline constexpr char kBlasLetter<blas::Half> = 'H';
template <>
inline constexpr char kBlasLetter<float> = 'S';
template <>
inline constexpr char kBlasLetter<double> = 'D';
template <>
inline constexpr char kBlasLetter<std::complex<float>> = 'C';
template <>
inline constexpr char kBlasLetter<std::complex<double>> = 'Z';
template <class T>
std::string blas_name(const char* rest) {
  return std::string("cublas") + kBlasLetter<T> + rest;
}

}  // namespace quern::cuda

// Rows of a table of exports. Most functions have a twin with 64-bit sizes; `function` is a template over the integer
// type.
#define QUERN_BLAS(name, function)                                   \
  {"cublas" name, reinterpret_cast<void*>(&function<int>)}, {        \
    "cublas" name "_64", reinterpret_cast<void*>(&function<int64_t>) \
  }
