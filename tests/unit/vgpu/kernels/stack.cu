// Functions that take memory of the stack. stack.ptx is what `nvcc -arch=sm_80 -lineinfo -ptx` made of this file.
extern "C" {

// Each lane takes as much as it needs, and gives it back.
__device__ __noinline__ int turned(int n, const int* x) {
  int* p = (int*)alloca(n * sizeof(int));
  int sum = 0;
  for (int i = 0; i < n; ++i) p[i] = x[i] * 2;
  for (int i = n - 1; i >= 0; --i) sum = sum * 3 + p[i];
  return sum;
}

__global__ void own(int* out, const int* x, int rounds) {
  int t = threadIdx.x, sum = 0;
  int* p = (int*)alloca((t + 1) * sizeof(int));
  for (int i = 0; i <= t; ++i) p[i] = i;
  for (int r = 0; r < rounds; ++r) sum += turned(t % 5 + r % 3, x);
  for (int i = 0; i <= t; ++i) sum += p[t - i] * i;
  out[t] = sum;
}

// Each level has an array of its own length, of which the next one gets the address.
__device__ __noinline__ int levels(int n, const int* above) {
  int* p = (int*)alloca((n + 1) * sizeof(int));
  for (int i = 0; i <= n; ++i) p[i] = n * 100 + i;
  int got = n ? levels(n - 1, p) : 0;
  for (int i = 0; i <= n; ++i) got = got * 5 + p[i] + above[i];
  return got;
}

__global__ void recursion(int* out, int most) {
  int first[16];
  for (int i = 0; i < 16; ++i) first[i] = i * threadIdx.x;
  out[threadIdx.x] = levels(threadIdx.x % most, first);
}

__global__ void takes(int* out, size_t bytes) {
  char* p = (char*)alloca(bytes);
  asm volatile("" : "+l"(p));
  p[bytes - 1] = 1;
  out[0] = p[bytes - 1];
}

__global__ void past_the_end(int* out, int n) {
  int* p = (int*)alloca(n ? 16 : 4);
  asm volatile("" : "+l"(p));
  p[0] = 1;
  out[0] = p[n];
}

}  // extern "C"
