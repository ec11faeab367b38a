// Kernels that launch kernels. children.ptx is what `nvcc -arch=sm_80 -rdc=true -lineinfo -ptx` made of this file.
#include <cuda_device_runtime_api.h>

// A list in device memory: its length, then its numbers.
__global__ void append(int* list, int value) { list[1 + list[0]++] = value; }

__global__ void append_sum(int* list, const int* x, int count) {
  int sum = 0;
  for (int i = 0; i < count; ++i) sum += x[i];
  list[1 + list[0]++] = sum;
}

__global__ void count_one(int* counter) { atomicAdd(counter, 1); }

// --- order ---

extern "C" __global__ void one_stream(int* list) {
  for (int i = 0; i < 10; ++i) {
    if (threadIdx.x == i * 7 % 10) append<<<1, 1>>>(list, i);
    __syncthreads();
  }
}

// Two lists, a stream each; with an event the second starts after the first.
extern "C" __global__ void two_streams(int* list, int ordered) {
  cudaStream_t a, b;
  cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
  cudaEvent_t e;
  cudaEventCreateWithFlags(&e, cudaEventDisableTiming);
  for (int i = 0; i < 8; ++i) append<<<1, 1, 0, a>>>(list, i);
  cudaEventRecord(e, a);
  if (ordered) cudaStreamWaitEvent(b, e, 0);
  for (int i = 8; i < 16; ++i) append<<<1, 1, 0, b>>>(list, i);
  cudaEventDestroy(e);
  cudaStreamDestroy(a);
  cudaStreamDestroy(b);
}

__global__ void child_of_child(int* list) { append<<<1, 1>>>(list, 3); }

__global__ void tail_of_child(int* list) {
  append<<<1, 1, 0, cudaStreamTailLaunch>>>(list, 2);
  append<<<1, 1>>>(list, 1);
}

extern "C" __global__ void tail(int* list) {
  append<<<1, 1, 0, cudaStreamTailLaunch>>>(list, 4);
  append<<<1, 1, 0, cudaStreamTailLaunch>>>(list, 5);
  tail_of_child<<<1, 1>>>(list);
  child_of_child<<<1, 1>>>(list);
}

extern "C" __global__ void forget(int* counter) {
  for (int i = 0; i < 4; ++i) count_one<<<2, 32, 0, cudaStreamFireAndForget>>>(counter);
}

// --- arguments ---

struct Mixed {
  char c;
  double d;
  short s[3];
};

__global__ void take(Mixed m, float f, int* out) {
  extern __shared__ int s[];
  s[threadIdx.x] = m.s[threadIdx.x % 3];
  __syncthreads();
  out[blockIdx.y * blockDim.x + threadIdx.x] = m.c + (int)m.d + (int)f + s[blockDim.x - 1 - threadIdx.x];
}

__device__ void (*chosen)(Mixed, float, int*) = take;

extern "C" __global__ void arguments(int* out) {
  Mixed m = {1, 10, {100, 200, 300}};
  auto* kernel = chosen;
  kernel<<<dim3(1, 2), 4, 16>>>(m, 1000.5f, out);
}

// --- errors ---

__global__ void __launch_bounds__(64) small() {}

extern "C" __global__ void errors(int* out, unsigned zero, unsigned many) {
  int n = 0;
  out[n++] = cudaGetLastError();
  small<<<zero, 1>>>();
  out[n++] = cudaPeekAtLastError();
  out[n++] = cudaGetLastError();
  out[n++] = cudaGetLastError();
  small<<<1, many>>>();
  out[n++] = cudaGetLastError();
  small<<<1, 1, 1 << 20>>>();
  out[n++] = cudaGetLastError();
  small<<<1, 65>>>();
  out[n++] = cudaGetLastError();
  void (*none)() = nullptr;
  none<<<1, 1>>>();
  out[n++] = cudaGetLastError();
  small<<<1, 1, 0, (cudaStream_t)0x123456>>>();
  out[n++] = cudaGetLastError();
  cudaStream_t s;
  out[n++] = cudaStreamCreateWithFlags(&s, 0);
  out[n++] = cudaStreamDestroy((cudaStream_t)77);
  cudaEvent_t e;
  out[n++] = cudaEventCreateWithFlags(&e, 0);
  out[n++] = cudaMemcpyAsync(out, out, 4, cudaMemcpyHostToDevice, 0);
  out[n++] = cudaMemset2DAsync(out, 4, 0, 8, 2, 0);
  int count;
  out[n++] = cudaGetDeviceCount(&count);
  size_t limit = 0;
  out[n++] = cudaDeviceGetLimit(&limit, cudaLimitDevRuntimePendingLaunchCount);
  out[n++] = (int)limit;
  small<<<1, 64>>>();
  cudaGetLastError();
  out[n++] = cudaGetLastError();
}

__global__ void deeper(int* list) {
  list[0]++;
  deeper<<<1, 1>>>(list);
  list[1] = cudaGetLastError();
}
extern "C" __global__ void nest(int* list) { deeper<<<1, 1>>>(list); }

extern "C" __global__ void pending(int* out, int count) {
  int refused = 0, other = 0;
  for (int i = 0; i < count; ++i) {
    count_one<<<1, 1>>>(out);
    int e = cudaGetLastError();
    refused += e == cudaErrorLaunchPendingCountExceeded;
    other += e != cudaSuccess && e != cudaErrorLaunchPendingCountExceeded;
  }
  out[1] = refused, out[2] = other;
}

// As many as there are grains on a chessboard, and more.
__global__ void spread(int* counter) {
  atomicAdd(counter, 1);
  spread<<<1, 1>>>(counter);
  spread<<<1, 1>>>(counter);
  spread<<<1, 1>>>(counter);
}
extern "C" __global__ void endless(int* counter) { spread<<<1, 1>>>(counter); }

// --- memory ---

extern "C" __global__ void transfers(int* out, const int* in) {
  cudaMemsetAsync(out, 0x11, 16, 0);
  cudaMemcpyAsync(out + 4, in, 16, cudaMemcpyDeviceToDevice, 0);
  cudaMemset2DAsync(out + 8, 16, 0x22, 4, 2, 0);
  cudaMemcpy2DAsync(out + 9, 16, in, 8, 4, 2, cudaMemcpyDeviceToDevice, 0);
  cudaMemset3DAsync(cudaPitchedPtr{out + 16, 8, 8, 2}, 0x33, cudaExtent{4, 2, 2}, 0);
  cudaMemcpy3DParms p = {};
  p.srcPtr = cudaPitchedPtr{(void*)in, 8, 8, 2};
  p.dstPtr = cudaPitchedPtr{out + 17, 8, 8, 2};
  p.extent = cudaExtent{4, 2, 2};
  p.kind = cudaMemcpyDeviceToDevice;
  cudaMemcpy3DAsync(&p, 0);
}

__global__ void sum_and_free(int* list, int* x) { append_sum<<<1, 1, 0, cudaStreamTailLaunch>>>(list, x, 4); }
__global__ void give_back(int* x) { cudaFree(x); }

extern "C" __global__ void heap(int* list, const int* in) {
  int* x;
  if (cudaMalloc((void**)&x, 16) != cudaSuccess) return;
  cudaMemcpyAsync(x, in, 16, cudaMemcpyDefault, 0);
  sum_and_free<<<1, 1>>>(list, x);
  give_back<<<1, 1, 0, cudaStreamTailLaunch>>>(x);
}

extern "C" __global__ void too_much_heap(int* out, size_t bytes) {
  void* p = nullptr;
  out[0] = cudaMalloc(&p, bytes);
}

// --- what is wrong ---

__global__ void store(int* x, int i) { x[i] = 1; }

__global__ void middle(int* x, int i) {
  if (threadIdx.x == 2) store<<<1, 1>>>(x, i);
}
extern "C" __global__ void bad_grandchild(int* x, int i) { middle<<<3, 4>>>(x, i); }

extern "C" __global__ void gives_local(int n) {
  int own[4] = {n, n, n, n};
  int* p = own;
  asm volatile("" : "+l"(p));
  store<<<1, 1>>>(p, 1);
}

extern "C" __global__ void gives_shared() {
  __shared__ int own[4];
  int* p = own;
  asm volatile("" : "+l"(p));
  store<<<1, 1>>>(p, 1);
}

extern "C" __global__ void copies_shared(int* x) {
  __shared__ int own[4];
  int* p = own;
  asm volatile("" : "+l"(p));
  cudaMemcpyAsync(p, x, 4, cudaMemcpyDeviceToDevice, 0);
}

extern "C" __global__ void bad_buffer(size_t address) { cudaLaunchDeviceV2((void*)address, 0); }

extern "C" __global__ void twice(int* x) {
  void* buffer = cudaGetParameterBufferV2((void*)count_one, 1, 1, 0);
  *(int**)buffer = x;
  cudaLaunchDeviceV2(buffer, 0);
  cudaLaunchDeviceV2(buffer, 0);
}

extern "C" __global__ void past_the_buffer() {
  char* buffer = (char*)cudaGetParameterBufferV2((void*)count_one, 1, 1, 0);
  *(long*)(buffer + 8) = 1;
}

extern "C" __global__ void bad_copy(int* to, const int* from, size_t bytes) {
  cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, 0);
}

extern "C" __global__ void bad_pointer(size_t address) {
  cudaStreamCreateWithFlags((cudaStream_t*)address, cudaStreamNonBlocking);
}

extern "C" __global__ void frees(void* p) { cudaFree(p); }

// --- the way of old ---

extern "C" __global__ void old_way(int* list) {
  int** buffer = (int**)cudaGetParameterBuffer(8, 16);
  buffer[0] = list;
  *(int*)(buffer + 1) = 7;
  cudaLaunchDevice((void*)append, buffer, dim3(1), dim3(1), 0, 0);
  list[9] = cudaLaunchDevice((void*)small, nullptr, dim3(1), dim3(1), 0, 0);
}
