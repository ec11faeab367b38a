// What the runtime serves: printf, assert, malloc, clocks; and source lines of inlined functions.
#include <cassert>
#include <cstdio>

__device__ __forceinline__ int inner(int x) { return x * x + threadIdx.x; }
__device__ __forceinline__ int outer(int x) { return inner(x + 1) - inner(x); }

extern "C" __global__ void __launch_bounds__(128, 2) services(int* out, int n) {
  int i = threadIdx.x;
  assert(i < n);
  printf("thread %d of %d: %f %s\n", i, n, 0.5 * i, "text");
  int* mine = static_cast<int*>(malloc(16 * sizeof(int)));
  for (int k = 0; k < 16; ++k) mine[k] = outer(i + k);
  long long start = clock64();
  __nanosleep(20);
  out[i] = mine[i & 15] + (clock64() > start) + clock();
  free(mine);
  if (out[i] == 12345) __trap();
}
