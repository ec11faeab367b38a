// The algorithms of kernels.cu as plain C++ for one core, compiled with -O3 -march=native: what the virtual GPU's time
// is held against.
#pragma once

#include <cstdint>

namespace quern::bench {

void plain_saxpy(float a, const float* x, float* y, int n);
void plain_matmul(const float* a, const float* b, float* c, int n);  // c is zero
void plain_reduce(const float* x, float* y, int n);                  // sums of 512
void plain_histogram(const uint8_t* x, uint32_t* h, int n);          // h is zero
void plain_collatz(const uint32_t* x, uint32_t* y, int n);
void plain_mandelbrot(uint32_t* y, int width, int height, int most);

// The most multiply-adds of f32 that a core does a second: `count` times 12 vectors of 64 bytes, in registers. The sum
// keeps them from being left out.
float plain_multiply_adds(int64_t count);

}  // namespace quern::bench
