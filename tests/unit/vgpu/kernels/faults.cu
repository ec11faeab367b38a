// Kernels that do what must be found; faults.ptx is what `nvcc -arch=sm_80 -lineinfo -ptx` made of this file.
#include <cassert>
#include <cstdint>
#include <cstdio>

extern "C" __global__ void past_end(float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n) x[i] = 1;
}

extern "C" __global__ void read_index(const int* at, const float* x, float* y) { y[threadIdx.x] = x[at[threadIdx.x]]; }

extern "C" __global__ void copy(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}

extern "C" __global__ void copy_bytes(const uint8_t* x, uint8_t* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}

extern "C" __global__ void misaligned(char* x) { *reinterpret_cast<int*>(x + threadIdx.x * 4 + 1) = 1; }

__constant__ int table[32];
extern "C" __global__ void from_constant(int* y) { y[threadIdx.x] = table[threadIdx.x]; }

extern "C" __global__ void shared_uninitialised(float* y) {
  __shared__ float s[64];
  s[threadIdx.x] = threadIdx.x;
  __syncthreads();
  y[threadIdx.x] = s[threadIdx.x + 1];
}

extern "C" __global__ void shared_past_end(float* y, int n) {
  __shared__ float s[32];
  s[threadIdx.x + n] = 0;
  __syncthreads();
  y[threadIdx.x] = s[threadIdx.x];
}

extern "C" __global__ void some_at_barrier(int* y) {
  if (threadIdx.x < 64) {
    __syncthreads();
    y[threadIdx.x] = 1;
  } else {
    asm volatile("bar.sync 1;");
  }
}

extern "C" __global__ void divergent_barrier(int* y) {
  if (threadIdx.x < 7) {
    asm volatile("bar.sync 1;");
    y[threadIdx.x] = 1;
  } else {
    asm volatile("bar.sync 2;");
    y[threadIdx.x] = 2;
  }
}

extern "C" __global__ void early_exit(int* y, int n) {
  if (threadIdx.x >= n) return;
  __syncthreads();
  y[threadIdx.x] = threadIdx.x;
}

// Two lanes of a warp, and warps, and blocks, want one lock.
extern "C" __global__ void spin_lock(int* lock, int* count) {
  bool done = false;
  while (!done) {
    if (atomicCAS(lock, 0, 1) == 0) {
      *reinterpret_cast<volatile int*>(count) = *reinterpret_cast<volatile int*>(count) + 1;
      __threadfence();
      atomicExch(lock, 0);
      done = true;
    }
  }
}

// The classic form, which only ends where lanes of a warp are scheduled on their own.
extern "C" __global__ void spin_then_work(int* lock, int* count) {
  while (atomicCAS(lock, 0, 1) != 0) {
  }
  *reinterpret_cast<volatile int*>(count) = *reinterpret_cast<volatile int*>(count) + 1;
  __threadfence();
  atomicExch(lock, 0);
}

// Every block waits for the one before it.
extern "C" __global__ void chain(volatile int* turn, int* y) {
  if (threadIdx.x == 0) {
    while (*turn != gridDim.x - 1 - blockIdx.x) {
    }
    y[blockIdx.x] = blockIdx.x;
    __threadfence();
    *turn = *turn + 1;
  }
}

extern "C" __global__ void forever(int* x) {
  while (*reinterpret_cast<volatile int*>(x) == 0) {
  }
}

extern "C" __global__ void busy(unsigned* x) {
  unsigned v = 1;
  while (v) v = v * 3 + 2 | 1;
  *x = v;
}

extern "C" __global__ void asserts(const int* x) { assert(x[threadIdx.x] != 3); }

extern "C" __global__ void traps(int n) {
  if (threadIdx.x == n) asm volatile("trap;");
}

extern "C" __global__ void prints(int n, const char* name) {
  printf("thread %d of %d: %5.2f %s %llu %%\n", threadIdx.x, n, threadIdx.x / 4.0, "and", 1ull << 40);
}

extern "C" __global__ void allocates(int* y) {
  int* p = static_cast<int*>(malloc(8));
  p[0] = threadIdx.x;
  p[1] = 1;
  y[threadIdx.x] = p[0] + p[1];
  free(p);
}

extern "C" __global__ void frees_twice() {
  void* p = malloc(8);
  free(p);
  free(p);
}

extern "C" __global__ void local_array(const int* at, int* y) {
  int a[16];
  for (int i = 0; i < 16; ++i) a[i] = i * i + threadIdx.x;
  y[threadIdx.x] = a[at[threadIdx.x]];
}

extern "C" __global__ void local_uninitialised(const int* at, int* y) {
  int a[16];
  a[at[threadIdx.x]] = 1;
  y[threadIdx.x] = a[at[threadIdx.x + 32]];
}

// An index that wraps at 32 bits between two lanes of a warp.
extern "C" __global__ void wraps(const float* x, float* y, unsigned first, unsigned n) {
  unsigned i = first + threadIdx.x;
  if (i < n) y[i] = x[i] + 1;
}

extern "C" __global__ void stencil(const int* x, int* y, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int sum = x[i];
  if (i > 0) sum += x[i - 1];
  if (i + 1 < n) sum += x[i + 1];
  y[i] = sum;
}
