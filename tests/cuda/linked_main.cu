// Two translation units whose device code is linked (-rdc=true): this one calls a function of linked_part.cu.
#include <cstdio>

extern __device__ int shared_counter;
__device__ int twice(int x);

__global__ void use(int* out) {
  out[threadIdx.x] = twice(threadIdx.x);
  if (threadIdx.x == 0) shared_counter = 5;
}

int from_other();

int main() {
  int *p, host[4];
  cudaMalloc(&p, sizeof host);
  use<<<1, 4>>>(p);
  cudaMemcpy(host, p, sizeof host, cudaMemcpyDeviceToHost);
  std::printf("%d %d %d %d %d\n", host[0], host[1], host[2], host[3], from_other());
  return 0;
}
