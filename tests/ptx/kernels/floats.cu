// Rounding modes, approximations, functions of libdevice, conversions.
extern "C" __global__ void floats(const float* f, const double* d, float* fo, double* dd, int* io) {
  int t = threadIdx.x;
  float x = f[t], y = f[t + 1];
  fo[t] = __fadd_rz(x, y) * __fmaf_ru(x, y, 2.0f) / __fdiv_rd(x, y) + __fsqrt_rn(x) + __frcp_rn(y) + rsqrtf(x);
  fo[t] += __sinf(x) + __expf(y) + __log2f(x) + tanhf(y) + sinf(x) + expf(y) + fminf(x, y) + copysignf(x, y);
  dd[t] = fma(d[t], d[t + 1], d[t + 2]) + sqrt(d[t]) / d[t + 1] + exp(d[t]) + floor(d[t]) + __dmul_ru(d[t], d[t + 1]);
  io[t] = __float2int_rd(x) + __double2uint_rz(d[t]) + static_cast<unsigned char>(x) + __float_as_int(y) + isnan(x);
  dd[t] += static_cast<double>(static_cast<long long>(x)) + __ll2float_rn(io[t]) + __saturatef(y);
}
