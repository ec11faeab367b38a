// What the lanes of a warp exchange.
extern "C" __global__ void warp(const int* in, int* out, float* f) {
  int t = threadIdx.x, x = in[t];
  unsigned all = 0xffffffffu;
  for (int d = 16; d > 0; d /= 2) x += __shfl_xor_sync(all, x, d);
  int same = 0;
  out[t] = x + __shfl_up_sync(all, x, 1, 8) + __shfl_down_sync(all, x, 2) + __shfl_sync(all, x, t & 3, 16);
  out[t + 32] = __ballot_sync(all, x & 1) ^ __any_sync(all, x > 3) ^ __all_sync(all, x > 2);
  out[t + 64] = __match_any_sync(all, x & 3) ^ __match_all_sync(all, x, &same) ^ same;
  out[t + 96] = __reduce_add_sync(all, x) + __reduce_max_sync(all, x) + __reduce_xor_sync(all, x);
  if (t < 7) out[t + 128] = __popc(__activemask());
  __syncwarp();
  f[t] = __shfl_xor_sync(all, f[t], 3);
  out[t + 160] = __syncthreads_count(t & 1) + __syncthreads_or(t == 3) + __syncthreads_and(t >= 0);
}
