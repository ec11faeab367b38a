// Parents that wait for their children, as they could before compute capability 9.0. synchronize.ptx is what
// `nvcc -arch=sm_80 -rdc=true -lineinfo -DCUDA_FORCE_CDP1_IF_SUPPORTED -ptx` made of this file.
#include <cuda_device_runtime_api.h>

__global__ void sum_tree(int* out, const int* x, int count) {
  if (count <= 4) {
    int sum = 0;
    for (int i = 0; i < count; ++i) sum += x[i];
    *out = sum;
    return;
  }
  sum_tree<<<1, 1>>>(out + 1, x, count / 2);
  sum_tree<<<1, 1>>>(out + count / 2, x + count / 2, count / 2);
  out[0] = -(int)cudaDeviceSynchronize();
  if (out[0] == 0) out[0] = out[1] + out[count / 2];
}

extern "C" __global__ void tree(int* out, const int* x, int count) { sum_tree<<<1, 1>>>(out, x, count); }

__global__ void square(int* x) { x[threadIdx.x] *= x[threadIdx.x]; }

// Each block waits for its own, between barriers.
extern "C" __global__ void squares(int* x) {
  int* mine = x + blockIdx.x * blockDim.x;
  mine[threadIdx.x] = threadIdx.x + blockIdx.x;
  __syncthreads();
  if (threadIdx.x == 0) {
    square<<<1, blockDim.x>>>(mine);
    cudaDeviceSynchronize();
  }
  __syncthreads();
  int other = mine[blockDim.x - 1 - threadIdx.x];
  __syncthreads();
  mine[threadIdx.x] = other + 1;
}

extern "C" __global__ void waits_for_a_fault(int* x, int i) {
  square<<<1, 1>>>(x + i);
  cudaDeviceSynchronize();
  x[0] = 5;
}
