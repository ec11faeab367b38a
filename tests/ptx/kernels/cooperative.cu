// Cooperative groups, barriers that are objects, a sync of the whole grid.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda/barrier>

namespace cg = cooperative_groups;

extern "C" __global__ void grid_sum(const int* in, int* out) {
  cg::grid_group grid = cg::this_grid();
  auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  int sum = cg::reduce(tile, in[grid.thread_rank()], cg::plus<int>());
  if (tile.thread_rank() == 0) atomicAdd(out, sum);
  grid.sync();
  if (grid.thread_rank() == 0) out[1] = out[0];
}

extern "C" __global__ void pipeline(const int* in, int* out) {
  __shared__ cuda::barrier<cuda::thread_scope_block> ready;
  __shared__ int stage[128];
  if (threadIdx.x == 0) init(&ready, blockDim.x);
  __syncthreads();
  cuda::memcpy_async(stage + threadIdx.x, in + threadIdx.x, sizeof(int), ready);
  ready.arrive_and_wait();
  out[threadIdx.x] = stage[127 - threadIdx.x];
}
