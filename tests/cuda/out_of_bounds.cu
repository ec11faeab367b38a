// One thread writes behind what was allocated.
__global__ void overrun(int* p, int n) {
  int i = threadIdx.x;
  if (i <= n) p[i] = i;
}

int main() {
  int* p;
  cudaMalloc(&p, 100 * sizeof(int));
  overrun<<<1, 128>>>(p, 100);
  return cudaDeviceSynchronize() == cudaSuccess ? 0 : 3;
}
