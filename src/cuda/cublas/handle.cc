#include "cuda/cublas/handle.h"

#include <exception>
#include <new>

namespace quern::cuda {

BlasStatus blas_status(Error e) {
  switch (e) {
    case Error::kSuccess: return BlasStatus::kSuccess;
    case Error::kMemoryAllocation: return BlasStatus::kAllocFailed;
    case Error::kInvalidValue:
    case Error::kInvalidPitchValue: return BlasStatus::kInvalidValue;
    default: return BlasStatus::kExecutionFailed;
  }
}

BlasStatus blas_guard(const std::function<BlasStatus()>& body) {
  try {
    return Process::get().sticky == Error::kSuccess ? body() : BlasStatus::kExecutionFailed;
  } catch (const std::bad_alloc&) {
    return BlasStatus::kAllocFailed;
  } catch (const std::exception& e) {
    end_with({diagnose(Code::B001, {}, {{"what", e.what()}})});
  }
}

BlasStatus blas_call(const BlasHandle* handle, const std::function<BlasStatus(const BlasHandle&)>& body) {
  return blas_guard([&] {
    BlasHandle now;
    {
      Lock lock(Process::get().mutex);
      auto found = Live<BlasHandle>::all().find(handle);
      if (!found) return BlasStatus::kNotInitialized;
      now = *found;
    }
    return body(now);
  });
}

BlasStatus blas_submit(const BlasHandle& handle, const std::string& function, BlasWork work) {
  LibraryCall call;
  call.run = [function, work = std::move(work)] {
    LibraryAccess access(function);
    work(access);
    return access.finish();
  };
  return blas_status(submit(handle.stream, std::move(call)));
}

BlasStatus blas_submit_waiting(const BlasHandle& handle, const std::string& function, BlasWork work) {
  if (handle.pointers == BlasPointerMode::kHost) {
    // A capture can't wait for a number.
    if (Error e = synchronize(handle.stream); e != Error::kSuccess) return blas_status(e);
  }
  return blas_submit(handle, function, std::move(work));
}

}  // namespace quern::cuda
