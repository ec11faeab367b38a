// Integer instructions beyond plain arithmetic.
extern "C" __global__ void bits(const unsigned* a, const unsigned long long* b, unsigned* out, long long* wide) {
  int t = threadIdx.x;
  unsigned x = a[t], y = a[t + 1], z = a[t + 2], r = 0;
  r += __brev(x) + __clz(y) + __ffs(z) + __popc(x) + __popcll(b[t]) + __clzll(b[t]);
  r ^= __byte_perm(x, y, z) + __funnelshift_l(x, y, z) + __funnelshift_rc(x, y, z);
  r += __dp4a(x, y, z) + __umulhi(x, y) + __usad(x, y, z) + __umul24(x, y) + __vadd2(x, y) + __vabsdiffu4(x, y);
  r ^= (x & y) | (~z & y) ^ (x >> (y & 31));
  int s = static_cast<int>(x) / (static_cast<int>(y) | 1) + static_cast<int>(x) % 37;
  wide[t] = static_cast<long long>(s) * static_cast<int>(y) + __mul64hi(b[t], b[t + 1]) + (b[t] << (x & 63));
  unsigned low, high;
  asm("{ add.cc.u32 %0, %2, %3; addc.u32 %1, 0, 0; }" : "=r"(low), "=r"(high) : "r"(x), "r"(y));
  asm("{ .reg .u32 %%t; bfe.u32 %%t, %1, 3, 5; bfi.b32 %0, %%t, %0, 8, 5; }" : "+r"(low) : "r"(z));
  out[t] = r + s + low + high;
}
