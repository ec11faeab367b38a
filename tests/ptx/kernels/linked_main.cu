// One of two modules that are linked (-rdc=true): it calls into the other, and both have a `helper` of their own.
extern __device__ int shared_counter;
extern __device__ int scale(int x);
static __device__ __noinline__ int helper(int x) { return x + 1; }
extern "C" __global__ void linked(int* out) {
  extern __shared__ int dynamic[];
  dynamic[threadIdx.x] = helper(threadIdx.x);
  out[threadIdx.x] = scale(dynamic[threadIdx.x]) + atomicAdd(&shared_counter, 1);
}
