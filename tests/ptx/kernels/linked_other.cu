// The other of two modules that are linked.
__device__ int shared_counter = 40;
static __device__ __noinline__ int helper(int x) { return 3 * x; }
__device__ int scale(int x) { return helper(x) - 1; }
