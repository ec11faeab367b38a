// cuda::memcpy_async with a barrier, which is a bulk copy on chips since 9.0.
#include <cooperative_groups.h>

#include <cstdio>
#include <cuda/barrier>

namespace cg = cooperative_groups;

__global__ void turned(int* out, const int* in, int rounds) {
  __shared__ alignas(128) int tile[256];
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  auto group = cg::this_thread_block();
  if (group.thread_rank() == 0) init(&bar, group.size());
  group.sync();
  int sum = 0;
  for (int r = 0; r < rounds; ++r) {
    cuda::memcpy_async(group, tile, in + r * 256, cuda::aligned_size_t<16>(sizeof tile), bar);
    bar.arrive_and_wait();
    sum += tile[255 - threadIdx.x];
    group.sync();
  }
  out[threadIdx.x] = sum;
}

int main() {
  int *in, *out, wrong = 0;
  cudaMallocManaged(&in, 4096);
  cudaMallocManaged(&out, 1024);
  for (int i = 0; i < 1024; ++i) in[i] = i * i;
  turned<<<1, 256>>>(out, in, 4);
  cudaError_t e = cudaDeviceSynchronize();
  for (int t = 0; t < 256; ++t) {
    int sum = 0;
    for (int r = 0; r < 4; ++r) sum += in[r * 256 + 255 - t];
    wrong += sum != out[t];
  }
  std::printf("%s, %d wrong\n", cudaGetErrorName(e), wrong);
  return 0;
}
