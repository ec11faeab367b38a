#include "vgpu/plain.h"

namespace quern::bench {

void plain_saxpy(float a, const float* x, float* y, int n) {
  for (int i = 0; i < n; ++i) y[i] = a * x[i] + y[i];
}

void plain_matmul(const float* a, const float* b, float* c, int n) {
  for (int i0 = 0; i0 < n; i0 += 32) {
    for (int k0 = 0; k0 < n; k0 += 32) {
      for (int j0 = 0; j0 < n; j0 += 32) {
        for (int i = i0; i < i0 + 32; ++i) {
          for (int k = k0; k < k0 + 32; ++k) {
            float s = a[i * n + k];
            for (int j = j0; j < j0 + 32; ++j) c[i * n + j] += s * b[k * n + j];
          }
        }
      }
    }
  }
}

void plain_reduce(const float* x, float* y, int n) {
  for (int i = 0; i < n; i += 512) {
    float s[32] = {};
    for (int j = i; j < i + 512; j += 32) {
      for (int l = 0; l < 32; ++l) s[l] += x[j + l];
    }
    float sum = 0;
    for (float v : s) sum += v;
    y[i / 512] = sum;
  }
}

void plain_histogram(const uint8_t* x, uint32_t* h, int n) {
  for (int i = 0; i < n; ++i) ++h[x[i]];
}

void plain_collatz(const uint32_t* x, uint32_t* y, int n) {
  for (int i = 0; i < n; ++i) {
    uint32_t v = x[i], c = 0;
    while (v != 1) {
      v = v & 1 ? 3 * v + 1 : v / 2;
      ++c;
    }
    y[i] = c;
  }
}

void plain_mandelbrot(uint32_t* y, int width, int height, int most) {
  for (int py = 0; py < height; ++py) {
    for (int px = 0; px < width; ++px) {
      float cx = -2.0f + 3.0f * px / width, cy = -1.0f + 2.0f * py / height, zx = 0, zy = 0;
      int i = 0;
      while (i < most && zx * zx + zy * zy < 4.0f) {
        float t = zx * zx - zy * zy + cx;
        zy = 2 * zx * zy + cy;
        zx = t;
        ++i;
      }
      y[py * width + px] = static_cast<uint32_t>(i);
    }
  }
}

float plain_multiply_adds(int64_t count) {
  typedef float Vector __attribute__((vector_size(64)));
  Vector a0{}, a1{}, a2{}, a3{}, a4{}, a5{}, a6{}, a7{}, a8{}, a9{}, a10{}, a11{};
  Vector m = Vector{} + 0.999f, b = Vector{} + 1e-3f;
  for (int64_t i = 0; i < count; ++i) {
    a0 = a0 * m + b, a1 = a1 * m + b, a2 = a2 * m + b, a3 = a3 * m + b;
    a4 = a4 * m + b, a5 = a5 * m + b, a6 = a6 * m + b, a7 = a7 * m + b;
    a8 = a8 * m + b, a9 = a9 * m + b, a10 = a10 * m + b, a11 = a11 * m + b;
    asm volatile("" : "+x"(a0), "+x"(a1), "+x"(a2), "+x"(a3), "+x"(a4), "+x"(a5));
    asm volatile("" : "+x"(a6), "+x"(a7), "+x"(a8), "+x"(a9), "+x"(a10), "+x"(a11));
  }
  Vector all = a0 + a1 + a2 + a3 + a4 + a5 + a6 + a7 + a8 + a9 + a10 + a11;
  float sum = 0;
  for (int i = 0; i < 16; ++i) sum += all[i];
  return sum;
}

}  // namespace quern::bench
