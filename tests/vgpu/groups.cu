// What threads do together: atomics whose end doesn't depend on the order, and exchange, votes and reductions of a
// warp, whole or in part. groups.ptx beside it is what `nvcc -std=c++17 -arch=sm_90 -fmad=false -ptx` made of it.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "types.h"

using namespace quern::oracle;

// Each thread's value goes to the cell that `where` names, in global memory, or in shared memory first.
#define ATOMIC(name, T, call)                                                                               \
  extern "C" __global__ void name(const T* values, const u32* where, T* cells, T* before, u32 n) {          \
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;                                                          \
    if (i >= n) return;                                                                                     \
    T* cell = cells + where[i];                                                                             \
    [[maybe_unused]] T v = values[i];                                                                       \
    before[i] = call;                                                                                       \
  }                                                                                                         \
  extern "C" __global__ void name##_shared(const T* values, const u32* where, T* cells, T* before, u32 n) { \
    __shared__ T near[32];                                                                                  \
    if (threadIdx.x < 32) near[threadIdx.x] = cells[threadIdx.x];                                           \
    __syncthreads();                                                                                        \
    u32 i = threadIdx.x;                                                                                    \
    if (i < n) {                                                                                            \
      T* cell = near + where[i];                                                                            \
      [[maybe_unused]] T v = values[i];                                                                     \
      before[i] = call;                                                                                     \
    }                                                                                                       \
    __syncthreads();                                                                                        \
    if (threadIdx.x < 32) cells[threadIdx.x] = near[threadIdx.x];                                           \
  }
using ll = unsigned long long;
static __device__ ll* wide(u64* p) { return reinterpret_cast<ll*>(p); }
static __device__ long long* wide(s64* p) { return reinterpret_cast<long long*>(p); }
ATOMIC(add_u32, u32, atomicAdd(cell, v))
ATOMIC(add_u64, u64, atomicAdd(wide(cell), static_cast<ll>(v)))
ATOMIC(min_s32, s32, atomicMin(cell, v))
ATOMIC(max_s32, s32, atomicMax(cell, v))
ATOMIC(min_u32, u32, atomicMin(cell, v))
ATOMIC(max_u32, u32, atomicMax(cell, v))
ATOMIC(min_s64, s64, atomicMin(wide(cell), static_cast<long long>(v)))
ATOMIC(max_s64, s64, atomicMax(wide(cell), static_cast<long long>(v)))
ATOMIC(max_u64, u64, atomicMax(wide(cell), static_cast<ll>(v)))
ATOMIC(and_u32, u32, atomicAnd(cell, v))
ATOMIC(or_u32, u32, atomicOr(cell, v))
ATOMIC(xor_u32, u32, atomicXor(cell, v))
ATOMIC(and_u64, u64, atomicAnd(wide(cell), static_cast<ll>(v)))
ATOMIC(xor_u64, u64, atomicXor(wide(cell), static_cast<ll>(v)))
ATOMIC(exchange_u32, u32, atomicExch(cell, v))
ATOMIC(exchange_u64, u64, atomicExch(wide(cell), static_cast<ll>(v)))
ATOMIC(increment_u32, u32, atomicInc(cell, 1000))
ATOMIC(decrement_u32, u32, atomicDec(cell, 1000))

template <class T>
static __device__ T multiplied(T* cell, T v) {
  T old = *cell, seen;
  do {
    seen = old;
    old = atomicCAS(cell, seen, static_cast<T>(seen * (v | 1)));
  } while (old != seen);
  return seen;
}
ATOMIC(compare_u32, u32, multiplied(cell, v))
ATOMIC(compare_u64, u64, multiplied(wide(cell), static_cast<ll>(v)))
ATOMIC(compare_u16, u16, multiplied(cell, v))

// Sums of reals that are exact, and so don't depend on the order: of -3 ... 4, or of -1, 0 and 1 where digits are few.
static __device__ s32 little(u32 bits) { return static_cast<s32>(bits & 7) - 3; }
static __device__ u32 added(__half2* cell, u32 v) {
  __half2 by = __floats2half2_rn(v % 3 - 1.0f, v / 3 % 3 - 1.0f);
  __half2 old = atomicAdd(cell, by);
  return *reinterpret_cast<u32*>(&old);
}
static __device__ u32 added(__nv_bfloat162* cell, u32 v) {
  __nv_bfloat162 by = __floats2bfloat162_rn(v % 3 - 1.0f, v / 3 % 3 - 1.0f);
  __nv_bfloat162 old = atomicAdd(cell, by);
  return *reinterpret_cast<u32*>(&old);
}
ATOMIC(add_f32, f32, atomicAdd(cell, static_cast<f32>(little(__float_as_uint(v)))))
ATOMIC(add_f64, f64, atomicAdd(cell, static_cast<f64>(little(static_cast<u32>(__double_as_longlong(v))))))
ATOMIC(add_f16x2, u32, added(reinterpret_cast<__half2*>(cell), v))
ATOMIC(add_bf16x2, u32, added(reinterpret_cast<__nv_bfloat162*>(cell), v))

static __device__ u32 all_match(u32 mask, u32 v) {
  int same = 0;
  u32 r = __match_all_sync(mask, v, &same);
  return r ^ static_cast<u32>(same) << 16;
}

// The instruction itself, with any clamp and any segments, and whether the source was in range.
#define SHUFFLE(name, mode)                                                                            \
  static __device__ u32 name(u32 v, u32 b, u32 mask) {                                                 \
    u32 d, in;                                                                                         \
    asm volatile("{.reg .pred p; shfl.sync." mode ".b32 %0|p, %2, %3, %4, %5; selp.u32 %1, 77, 0, p;}" \
                 : "=r"(d), "=r"(in)                                                                   \
                 : "r"(v), "r"(b), "r"(b >> 8 & 0x1f1f), "r"(mask));                                   \
    return d ^ in;                                                                                     \
  }
SHUFFLE(any_up, "up")
SHUFFLE(any_down, "down")
SHUFFLE(any_xor, "bfly")
SHUFFLE(any_index, "idx")

// One warp a row: `mask` says which of its lanes take part. The others leave their result as it was.
#define WARP(name, T, R, call)                                                                        \
  extern "C" __global__ void name(const T* values, const u32* other, const u32* masks, R* r, u32 n) { \
    u32 i = blockIdx.x * blockDim.x + threadIdx.x, lane = i % 32;                                     \
    if (i >= n) return;                                                                               \
    u32 mask = masks[i / 32];                                                                         \
    [[maybe_unused]] u32 b = other[i];                                                                \
    [[maybe_unused]] T v = values[i];                                                                 \
    if (mask >> lane & 1) r[i] = call;                                                                \
  }
WARP(shuffle_index, u32, u32, __shfl_sync(mask, v, b))
WARP(shuffle_index_8, u32, u32, __shfl_sync(mask, v, b, 8))
WARP(shuffle_up, u32, u32, __shfl_up_sync(mask, v, b % 32, 16))
WARP(shuffle_down, u32, u32, __shfl_down_sync(mask, v, b % 32))
WARP(shuffle_xor, u32, u32, __shfl_xor_sync(mask, v, b % 32))
WARP(shuffle_down_5, u64, u64, __shfl_down_sync(mask, v, 5))
WARP(shuffle_xor_3, f64, f64, __shfl_xor_sync(mask, v, 3, 4))
WARP(shuffle_any_up, u32, u32, any_up(v, b, mask))
WARP(shuffle_any_down, u32, u32, any_down(v, b, mask))
WARP(shuffle_any_xor, u32, u32, any_xor(v, b, mask))
WARP(shuffle_any_index, u32, u32, any_index(v, b, mask))
WARP(ballot, u32, u32, __ballot_sync(mask, v & 1))
WARP(any, u32, u32, static_cast<u32>(__any_sync(mask, v % 16 == 0)))
WARP(all, u32, u32, static_cast<u32>(__all_sync(mask, v % 16 != 0)))
WARP(match_any, u32, u32, __match_any_sync(mask, v % 5))
WARP(match_any_u64, u64, u32, __match_any_sync(mask, v % 3))
WARP(match_all, u32, u32, all_match(mask, v))
WARP(reduce_add, u32, u32, __reduce_add_sync(mask, v))
WARP(reduce_min, s32, s32, __reduce_min_sync(mask, v))
WARP(reduce_max, s32, s32, __reduce_max_sync(mask, v))
WARP(reduce_min_u32, u32, u32, __reduce_min_sync(mask, v))
WARP(reduce_max_u32, u32, u32, __reduce_max_sync(mask, v))
WARP(reduce_and, u32, u32, __reduce_and_sync(mask, v))
WARP(reduce_or, u32, u32, __reduce_or_sync(mask, v))
WARP(reduce_xor, u32, u32, __reduce_xor_sync(mask, v))
