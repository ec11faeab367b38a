// All copies and fills: between host, device and arrays, of one to three dimensions. Everything goes through the form
// that cudaMemcpy3D takes; a copy of n bytes is one row of it.
#pragma once

#include <cstdint>

#include "cuda/abi/types.h"

namespace quern::cuda {

// A row of `bytes`.
Copy3D linear_copy(void* to, const void* from, size_t bytes, CopyKind kind);
// Rows with pitches. kInvalidPitchValue is for run_copy to say.
Copy3D pitched_copy(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                    CopyKind kind);
// Between an array, from an element and row on, and rows in memory; width in bytes, a multiple of the element.
Copy3D array_copy_in(Array* to, size_t x_bytes, size_t y, const void* from, size_t from_pitch, size_t width,
                     size_t height, CopyKind kind);
Copy3D array_copy_out(void* to, size_t to_pitch, const Array* from, size_t x_bytes, size_t y, size_t width,
                      size_t height, CopyKind kind);

// What can be said of a copy before it happens: kinds, pitches, and that each side on the device is within one
// allocation, or inside its array.
Error check_copy(const Copy3D& copy);
// Checks it and puts it into a stream. A synchronous call returns when all is done, but for what is between places of
// the device; another when that can be seen only at the device, which isn't so where memory of the host is not pinned.
Error submit_copy(Stream* stream, const Copy3D& copy, bool synchronous);
// Checks, then copies.
Error run_copy(const Copy3D& copy);

// Fills elements of 1, 2 or 4 bytes: `width` of them in each of `height` rows.
Error check_fill(const MemsetParams& fill);
Error submit_fill(Stream* stream, const MemsetParams& fill, bool synchronous);
Error run_fill(const MemsetParams& fill);

}  // namespace quern::cuda
