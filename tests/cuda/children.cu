// Kernels that launch kernels, and ask the device of itself: a sum by halves, each half a kernel of its own.
#include <cstdio>
#include <cstring>

__device__ int failures;

__global__ void add(int* total, const int* parts, int count) {
  for (int i = 0; i < count; ++i) *total += parts[i];
}

__global__ void halves(int* total, const int* x, int count) {
  if (count <= 8) {
    for (int i = 0; i < count; ++i) *total += x[i];
    return;
  }
  int* parts;
  if (cudaMalloc((void**)&parts, 2 * sizeof(int)) != cudaSuccess) atomicAdd(&failures, 1);
  cudaMemsetAsync(parts, 0, 2 * sizeof(int), 0);
  halves<<<1, 1>>>(parts, x, count / 2);
  halves<<<1, 1>>>(parts + 1, x + count / 2, count - count / 2);
  add<<<1, 1>>>(total, parts, 2);
  if (cudaGetLastError() != cudaSuccess) atomicAdd(&failures, 1);
}

__global__ void asks(int* out) {
  int n = 0, device = -1;
  cudaGetDeviceCount(&n);
  cudaGetDevice(&device);
  out[0] = n, out[1] = device;
  cudaDeviceGetAttribute(&out[2], cudaDevAttrWarpSize, device);
  cudaFuncAttributes a;
  cudaFuncGetAttributes(&a, add);
  out[3] = a.maxThreadsPerBlock;
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&out[4], add, 1024, 0);
  size_t limit = 0;
  cudaDeviceGetLimit(&limit, cudaLimitDevRuntimePendingLaunchCount);
  out[5] = (int)limit;
  add<<<1, 4096>>>(out, out, 0);
  cudaError_t e = cudaGetLastError();
  printf("%s: %s\n", cudaGetErrorName(e), cudaGetErrorString(e));
}

__global__ void store(int* x) { x[threadIdx.x] = 1; }
__global__ void overruns(int* x) { store<<<1, 128>>>(x); }

int main(int argc, char** argv) {
  cudaDeviceSetLimit(cudaLimitDevRuntimePendingLaunchCount, 3000);
  int host[1000], sum = 0, failed = 0, *x, *out;
  for (int i = 0; i < 1000; ++i) host[i] = i * i % 97, sum += host[i];
  cudaMalloc(&x, sizeof host);
  cudaMalloc(&out, 256);
  cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice);
  if (argc > 1 && !std::strcmp(argv[1], "overrun")) {
    overruns<<<1, 1>>>(out);
    return cudaDeviceSynchronize() != cudaSuccess;
  }
  cudaMemset(out, 0, 256);
  halves<<<1, 1>>>(out, x, 1000);
  int got[8] = {};
  cudaMemcpy(got, out, 4, cudaMemcpyDeviceToHost);
  cudaMemcpyFromSymbol(&failed, failures, sizeof failed);
  std::printf("sum %s, %d failures\n", got[0] == sum ? "right" : "wrong", failed);
  asks<<<1, 1>>>(out);
  cudaMemcpy(got, out, 24, cudaMemcpyDeviceToHost);
  std::printf("%d %d %d %d %d %d, %s\n", got[0], got[1], got[2], got[3], got[4], got[5],
              cudaGetErrorName(cudaGetLastError()));
  return 0;
}
