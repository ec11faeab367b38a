// The kernels that bench/virtual_gpu.cc runs; kernels.ptx beside it is what `nvcc -arch=sm_80 -lineinfo -ptx` made of
// them.
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
    *reinterpret_cast<float4*>(&c[(row + y * 4 + i) * n + col + x * 4]) =
        make_float4(sum[i][0], sum[i][1], sum[i][2], sum[i][3]);
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

// Products of f16 on tensor cores: 128 x 128 tiles in steps of 32, four warps of 64 x 64, copies of the next step under
// way; c is f32, b is given by columns. Rows of a tile are 64 bytes, their pieces of 16 exchanged so that eight rows
// hit different banks. n is a multiple of 128.
extern "C" __global__ void __launch_bounds__(128) matmul_mma(const uint16_t* a, const uint16_t* b, float* c, int n) {
  __shared__ __align__(128) uint16_t as[2][128 * 32], bs[2][128 * 32];
  int thread = threadIdx.x, lane = thread & 31, warp = thread >> 5;
  int row = blockIdx.y * 128, col = blockIdx.x * 128, first_row = warp / 2 * 64, first_col = warp % 2 * 64;
  float sum[4][8][4] = {};
  auto place = [](int r, int piece) { return r * 64 + ((piece ^ (r >> 1)) & 3) * 16; };
  auto fetch = [&](int step, int stage) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      int r = (thread >> 2) + i * 32, piece = thread & 3;
      unsigned to_a = static_cast<unsigned>(__cvta_generic_to_shared(as[stage])) + place(r, piece);
      unsigned to_b = static_cast<unsigned>(__cvta_generic_to_shared(bs[stage])) + place(r, piece);
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to_a),
                   "l"(a + (row + r) * n + step * 32 + piece * 8));
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to_b),
                   "l"(b + (col + r) * n + step * 32 + piece * 8));
    }
    asm volatile("cp.async.commit_group;");
  };
  fetch(0, 0);
  for (int step = 0; step < n / 32; ++step) {
    if (step + 1 < n / 32) {
      fetch(step + 1, (step + 1) & 1);
      asm volatile("cp.async.wait_group 1;");
    } else {
      asm volatile("cp.async.wait_group 0;");
    }
    __syncthreads();
    unsigned at_a = static_cast<unsigned>(__cvta_generic_to_shared(as[step & 1]));
    unsigned at_b = static_cast<unsigned>(__cvta_generic_to_shared(bs[step & 1]));
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      unsigned x[4][4], y[8][2];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        unsigned from = at_a + place(first_row + i * 16 + (lane & 15), half * 2 + (lane >> 4));
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(x[i][0]), "=r"(x[i][1]), "=r"(x[i][2]), "=r"(x[i][3])
                     : "r"(from));
      }
#pragma unroll
      for (int j = 0; j < 8; j += 2) {
        unsigned from = at_b + place(first_col + j * 8 + (lane & 7) + (lane >> 4) * 8, half * 2 + (lane >> 3 & 1));
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(y[j][0]), "=r"(y[j][1]), "=r"(y[j + 1][0]), "=r"(y[j + 1][1])
                     : "r"(from));
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int j = 0; j < 8; ++j) {
          float* d = sum[i][j];
          asm volatile(
              "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
              "{%0, %1, %2, %3};"
              : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
              : "r"(x[i][0]), "r"(x[i][1]), "r"(x[i][2]), "r"(x[i][3]), "r"(y[j][0]), "r"(y[j][1]));
        }
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      float* to = c + (row + first_row + i * 16 + lane / 4) * n + col + first_col + j * 8 + lane % 4 * 2;
      to[0] = sum[i][j][0], to[1] = sum[i][j][1];
      to[8 * n] = sum[i][j][2], to[8 * n + 1] = sum[i][j][3];
    }
  }
}
