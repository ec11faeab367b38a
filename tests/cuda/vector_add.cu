// The first program of every course, with what else reaches a device from the host: a constant, a variable, managed
// memory, printf.
#include <cstdio>
#include <vector>

__constant__ float scale[4];
__device__ int counter;
__managed__ int total = 5;

__global__ void vector_add(const float* a, const float* b, float* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i] * scale[1];
  if (i == 0) {
    counter = n;
    total += 1;
    printf("device says %d\n", n);
  }
}

#define CHECK(call)                                                        \
  if (cudaError_t e = (call); e != cudaSuccess) {                          \
    std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e));         \
    return 1;                                                              \
  }

int main() {
  constexpr int kCount = 1000;
  std::vector<float> host(kCount);
  for (int i = 0; i < kCount; ++i) host[i] = i;
  float *a, *b, *c;
  CHECK(cudaMalloc(&a, kCount * sizeof(float)));
  CHECK(cudaMalloc(&b, kCount * sizeof(float)));
  CHECK(cudaMalloc(&c, kCount * sizeof(float)));
  const float factors[4] = {1, 2, 3, 4};
  CHECK(cudaMemcpyToSymbol(scale, factors, sizeof factors));
  CHECK(cudaMemcpy(a, host.data(), kCount * sizeof(float), cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(b, a, kCount * sizeof(float), cudaMemcpyDeviceToDevice));
  vector_add<<<(kCount + 255) / 256, 256>>>(a, b, c, kCount);
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(host.data(), c, kCount * sizeof(float), cudaMemcpyDeviceToHost));
  for (int i = 0; i < kCount; ++i) {
    if (host[i] != 3.0f * i) return std::printf("%d: %g\n", i, host[i]), 1;
  }
  int count = 0;
  CHECK(cudaMemcpyFromSymbol(&count, counter, sizeof count));
  std::printf("count %d, total %d\n", count, total);
  CHECK(cudaFree(a));
  CHECK(cudaFree(b));
  CHECK(cudaFree(c));
  return 0;
}
