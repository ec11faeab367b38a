// The other one.
__device__ int shared_counter = 1;
__device__ int twice(int x) { return 2 * x; }

__global__ void read(int* out) { *out = shared_counter; }

int from_other() {
  int *p, host = 0;
  cudaMalloc(&p, sizeof host);
  read<<<1, 1>>>(p);
  cudaMemcpy(&host, p, sizeof host, cudaMemcpyDeviceToHost);
  return host;
}
