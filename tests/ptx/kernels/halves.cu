// f16, bf16, f8: arithmetic, packed forms, conversions.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

extern "C" __global__ void halves(const __half* h, const __half2* h2, const __nv_bfloat16* b, const float* f, __half* ho,
                                  __half2* h2o, __nv_bfloat16* bo, __nv_fp8_e4m3* e, float* fo) {
  int t = threadIdx.x;
  ho[t] = __hfma(h[t], h[t + 1], h[t + 2]) + __float2half_rn(f[t]) - __hmax(h[t], h[t + 3]);
  h2o[t] = __hfma2_sat(h2[t], h2[t + 1], h2[t + 2]);
  h2o[t + 1] = __floats2half2_rn(f[t], f[t + 1]);
  bo[t] = b[t] * b[t + 1] + __float2bfloat16_rn(f[t]);
  e[t] = __nv_fp8_e4m3(f[t]);
  fo[t] = __half2float(h[t]) + __bfloat162float(b[t]) + static_cast<float>(e[t + 1]) + __half2int_rz(h[t]);
  if (__hlt(h[t], h[t + 1])) fo[t] += 1;
}
