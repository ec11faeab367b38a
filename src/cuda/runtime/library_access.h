// What a function of a library (cuBLAS, cuRAND) touches of the device's memory. Its work is done on the host, so each
// piece that it reads or writes is asked for first, in runs of elements that lie side by side, and is held against the
// same rules as an access of a kernel: within one living allocation, aligned, writable, and written before it is read.
// What breaks them is reported as a kernel's fault is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cuda/abi/error.h"
#include "vgpu/fault.h"

namespace quern::cuda {

// `count` runs of `run` elements of `element` bytes; each begins `stride` elements after the one before: a matrix, a
// vector with gaps. Nothing where a number is 0.
struct Piece {
  const char* what;  // "A", as cuBLAS calls it
  const void* at;
  int64_t element;
  int64_t run;
  int64_t count = 1;
  int64_t stride = 0;
};

class LibraryAccess {
 public:
  explicit LibraryAccess(std::string function) : function_(std::move(function)) {}

  // False: it can't be, and was reported; then nothing more is to be done.
  bool reads(const Piece& p);
  bool writes(const Piece& p);
  // A number that the host gives or gets: not in memory that only the device has.
  bool is_on_host(const char* what, const void* at, int64_t bytes, bool write);

  // For what a piece holds that would lead out of other memory, such as a number of a row: reports it, and is false.
  bool refuse(const Piece& p, const std::string& why);

  // After the work: marks what was written. Or the error of what was reported.
  Error finish();

 private:
  bool check(const Piece& p, bool write);
  bool fail(const Piece& p, uint64_t address, vgpu::FaultKind kind, bool write, std::string detail);

  std::string function_;
  std::vector<Piece> written_;
  Error error_ = Error::kSuccess;
};

}  // namespace quern::cuda
