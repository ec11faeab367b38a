// The kernels that bench/virtual_gpu.cc runs; kernels.ptx beside it is what `nvcc -arch=sm_80 -lineinfo -ptx` made of them.
#include <cstdint>

extern "C" __global__ void saxpy(float a, const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}

// 32 x 32 tiles in shared memory, a thread an element; n is a multiple of 32.
extern "C" __global__ void matmul32(const float* a, const float* b, float* c, int n) {
  __shared__ float as[32][32], bs[32][32];
  int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 32 + y, col = blockIdx.x * 32 + x;
  float sum = 0;
  for (int t = 0; t < n / 32; ++t) {
    as[y][x] = a[row * n + t * 32 + x];
    bs[y][x] = b[(t * 32 + y) * n + col];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 32; ++k) sum += as[y][k] * bs[k][x];
    __syncthreads();
  }
  c[row * n + col] = sum;
}

// 64 x 64 tiles, 16 x 16 threads, 4 x 4 elements a thread.
extern "C" __global__ void matmul4x4(const float* a, const float* b, float* c, int n) {
  __shared__ float as[16][64], bs[16][64];
  int x = threadIdx.x, y = threadIdx.y, thread = y * 16 + x;
  int row = blockIdx.y * 64, col = blockIdx.x * 64;
  float sum[4][4] = {};
  for (int t = 0; t < n; t += 16) {
    for (int i = 0; i < 4; ++i) {
      int e = thread + i * 256;
      as[e % 16][e / 16] = a[(row + e / 16) * n + t + e % 16];
      bs[e / 64][e % 64] = b[(t + e / 64) * n + col + e % 64];
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 16; ++k) {
      float4 u = *reinterpret_cast<float4*>(&as[k][y * 4]), v = *reinterpret_cast<float4*>(&bs[k][x * 4]);
      float us[4] = {u.x, u.y, u.z, u.w}, vs[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) sum[i][j] += us[i] * vs[j];
    }
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i) {
    *reinterpret_cast<float4*>(&c[(row + y * 4 + i) * n + col + x * 4]) = make_float4(sum[i][0], sum[i][1], sum[i][2], sum[i][3]);
  }
}

// A block's sum: a tree in shared memory, the last warp by shuffles.
extern "C" __global__ void reduce(const float* x, float* y, int n) {
  __shared__ float s[256];
  int t = threadIdx.x, i = blockIdx.x * 512 + t;
  s[t] = (i < n ? x[i] : 0) + (i + 256 < n ? x[i + 256] : 0);
  __syncthreads();
  for (int o = 128; o >= 32; o >>= 1) {
    if (t < o) s[t] += s[t + o];
    __syncthreads();
  }
  if (t < 32) {
    float v = s[t];
    for (int o = 16; o; o >>= 1) v += __shfl_down_sync(~0u, v, o);
    if (t == 0) y[blockIdx.x] = v;
  }
}

extern "C" __global__ void histogram(const uint8_t* x, uint32_t* h, int n) {
  __shared__ uint32_t s[256];
  s[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&s[x[i]], 1u);
  __syncthreads();
  atomicAdd(&h[threadIdx.x], s[threadIdx.x]);
}

extern "C" __global__ void collatz(const uint32_t* x, uint32_t* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  uint32_t v = x[i], c = 0;
  while (v != 1) {
    v = v & 1 ? 3 * v + 1 : v / 2;
    ++c;
  }
  y[i] = c;
}

// The same with the halvings in a loop of their own: nested divergent loops.
extern "C" __global__ void collatz2(const uint32_t* x, uint32_t* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  uint32_t v = x[i], c = 0;
  while (v != 1) {
    while ((v & 1) == 0) {
      v /= 2;
      ++c;
    }
    if (v == 1) break;
    v = 3 * v + 1;
    ++c;
  }
  y[i] = c;
}

extern "C" __global__ void mandelbrot(uint32_t* y, int width, int height, int most) {
  int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
  if (px >= width || py >= height) return;
  float cx = -2.0f + 3.0f * px / width, cy = -1.0f + 2.0f * py / height, zx = 0, zy = 0;
  int i = 0;
  while (i < most && zx * zx + zy * zy < 4.0f) {
    float t = zx * zx - zy * zy + cx;
    zy = 2 * zx * zy + cy;
    zx = t;
    ++i;
  }
  y[py * width + px] = i;
}
