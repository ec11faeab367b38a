// How compiled kernels are called, and how they report data that is at fault. A kernel `k` is three functions:
//
//   void    k(params, dims, begin, end, arena, report)   grid points begin ... end - 1, in any order among threads
//   int64_t k_points(params, dims)                       how many grid points there are
//   int64_t k_arena(params, dims)                        bytes of near memory that a thread needs, 64-byte aligned
//
// `params`: the address of each tensor of the program (a scalar's too), row-major without gaps, at least one byte
// readable where a tensor is empty. `dims`: the value of each dimension, those that are known when compiling included.
#pragma once

#include <cstdint>

namespace quern::jit {

// The fault that a sequential run would meet first: the one of the least grid point, and the first in it. One a thread;
// `found` is what compiled code calls, so that object files name no symbol of Quern's.
struct Report {
  void (*found)(Report*, int64_t point, int32_t site, int32_t subscript, int64_t value, int64_t extent,
                const int64_t* axes, uint64_t known);
  int64_t point = INT64_MAX;  // of the grid; INT64_MAX: nothing was found
  int32_t site = -1;          // of the program
  int32_t subscript = 0;      // which dimension
  int64_t value = 0;          // what the subscript was
  int64_t extent = 0;         // of that dimension
  uint64_t known = 0;         // bit a: axes[a] is the index of axis a of the kernel
  int64_t axes[64] = {};
};

// The default for Report::found.
void keep_first(Report*, int64_t point, int32_t site, int32_t subscript, int64_t value, int64_t extent,
                const int64_t* axes, uint64_t known);
// Of two threads' reports: `into` becomes the earlier one.
void merge(Report& into, const Report& other);

// What a kernel on a GPU writes for a site, in place of calls (target/nvptx/found.h). A point of INT64_MAX: nothing.
struct Found {
  uint32_t lock = 0;
  int32_t subscript = 0;
  int64_t point = INT64_MAX;
  int64_t value = 0, extent = 0;
  uint64_t known = 0;
  int64_t axes[64] = {};
};

using Kernel = void (*)(void* const* params, const int64_t* dims, int64_t begin, int64_t end, void* arena, Report*);
using KernelSize = int64_t (*)(void* const* params, const int64_t* dims);

}  // namespace quern::jit
