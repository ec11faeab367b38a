// An assertion that fails, of which the program hears or doesn't.
#include <cassert>
#include <cstdio>

__global__ void check(int n) { assert(threadIdx.x < n); }

int main(int argc, char **) {
  check<<<1, 32>>>(30);
  if (argc > 1) return 0;
  cudaError_t e = cudaDeviceSynchronize();
  std::printf("%d, then %d\n", e, cudaGetLastError());
  std::printf("%d\n", cudaMemset(nullptr, 0, 4));
  return 0;
}
