// The last error, and what errors are called.
#include "cuda/abi/error.h"

#include "cuda/api/entry.h"

namespace quern::cuda {
namespace {

Error cudaGetLastError() {
  Error sticky = Process::get().sticky;
  return sticky != Error::kSuccess ? sticky : std::exchange(thread_state().last, Error::kSuccess);
}

Error cudaPeekAtLastError() {
  Error sticky = Process::get().sticky;
  return sticky != Error::kSuccess ? sticky : thread_state().last;
}

const char* cudaGetErrorName(Error e) {
  const ErrorRow* row = find_row(e);
  return row ? row->name : "unrecognized error code";
}

const char* cudaGetErrorString(Error e) {
  const ErrorRow* row = find_row(e);
  return row ? row->text : "unrecognized error code";
}

}  // namespace

std::span<const Export> error_exports() {
  static const Export rows[] = {QUERN_EXPORT(cudaGetLastError), QUERN_EXPORT(cudaPeekAtLastError),
                                QUERN_EXPORT(cudaGetErrorName), QUERN_EXPORT(cudaGetErrorString)};
  return rows;
}

}  // namespace quern::cuda
