// Atomics of every type and scope, memory order, fences, a spin lock between threads.
#include <cuda/atomic>

extern "C" __global__ void atomics(int* i, unsigned* u, unsigned long long* l, float* f, double* d, int* lock) {
  int t = threadIdx.x;
  atomicAdd(i, t);
  atomicMin(i + 1, t);
  atomicXor(u, 1u << (t & 31));
  atomicInc(u + 1, 9);
  atomicDec(u + 2, 9);
  l[2] = atomicMax(l, static_cast<unsigned long long>(t));
  atomicAdd(f, 0.5f);
  atomicAdd(d, 0.25);
  atomicAdd_block(i + 2, 1);
  atomicAdd_system(i + 3, 1);
  i[5] = atomicCAS(i + 4, 0, t);
  l[3] = atomicExch(l + 1, 5ull);
  while (atomicCAS(lock, 0, 1) != 0) {
  }
  __threadfence();
  i[6] += 1;
  __threadfence();
  atomicExch(lock, 0);
}

extern "C" __global__ void ordered(int* flag, int* data) {
  cuda::atomic_ref<int, cuda::thread_scope_device> f(*flag);
  if (threadIdx.x == 0) {
    *data = 5;
    f.store(1, cuda::memory_order_release);
  } else {
    while (f.load(cuda::memory_order_acquire) == 0) {
    }
    data[1] = *data;
  }
  f.fetch_or(2, cuda::memory_order_acq_rel);
  int expected = 3;
  f.compare_exchange_strong(expected, 4, cuda::memory_order_seq_cst);
  cuda::atomic_thread_fence(cuda::memory_order_seq_cst, cuda::thread_scope_block);
}
