// cuBLAS and cuRAND beside a kernel, as a program has them: random numbers, a product of matrices in a stream, a norm.
#include <cublas_v2.h>
#include <cuda_fp16.h>
#include <curand.h>

#include <cmath>
#include <cstdio>
#include <vector>

__global__ void halve(float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] /= 2;
}

int main() {
  constexpr int kSize = 96, kCount = kSize * kSize;
  float *a, *b, *c;
  cudaMalloc(&a, kCount * sizeof(float));
  cudaMalloc(&b, kCount * sizeof(float));
  cudaMalloc(&c, kCount * sizeof(float));
  curandGenerator_t generator;
  curandCreateGenerator(&generator, CURAND_RNG_PSEUDO_PHILOX4_32_10);
  curandSetPseudoRandomGeneratorSeed(generator, 7);
  curandGenerateUniform(generator, a, kCount);
  curandGenerateNormal(generator, b, kCount, 0, 1);
  curandDestroyGenerator(generator);
  halve<<<(kCount + 255) / 256, 256>>>(a, kCount);

  cublasHandle_t handle;
  cublasCreate(&handle);
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cublasSetStream(handle, stream);
  const float one = 1, zero = 0;
  cublasStatus_t status =
      cublasSgemm(handle, CUBLAS_OP_T, CUBLAS_OP_N, kSize, kSize, kSize, &one, a, kSize, b, kSize, &zero, c, kSize);
  cudaStreamSynchronize(stream);
  std::vector<float> x(kCount), y(kCount), z(kCount);
  cublasGetMatrix(kSize, kSize, sizeof(float), a, kSize, x.data(), kSize);
  cublasGetMatrix(kSize, kSize, sizeof(float), b, kSize, y.data(), kSize);
  cublasGetMatrix(kSize, kSize, sizeof(float), c, kSize, z.data(), kSize);
  double worst = 0, squares = 0, mean = 0;
  for (int j = 0; j < kSize; ++j) {
    for (int i = 0; i < kSize; ++i) {
      double sum = 0;
      for (int k = 0; k < kSize; ++k) sum += double(x[i * kSize + k]) * y[j * kSize + k];
      worst = std::fmax(worst, std::fabs(sum - z[i + j * kSize]));
      squares += sum * sum;
      mean += x[i + j * kSize] / kCount;
    }
  }
  float norm;
  cublasSnrm2(handle, kCount, c, 1, &norm);
  printf("%s: product %s, norm %s, mean %s\n", cublasGetStatusName(status), worst < 1e-4 ? "right" : "wrong",
         std::fabs(norm - std::sqrt(squares)) < 1e-3 * norm ? "right" : "wrong",
         std::fabs(mean - 0.25) < 0.01 ? "right" : "wrong");

  std::vector<__half> halves(kCount, __float2half(0.5f));
  __half* h;
  cudaMalloc(&h, kCount * sizeof(__half));
  cublasSetVector(kCount, sizeof(__half), halves.data(), 1, h, 1);
  status = cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, kSize, kSize, kSize, &one, h, CUDA_R_16F, kSize, h,
                        CUDA_R_16F, kSize, &zero, c, CUDA_R_32F, kSize, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
  float* sum;
  cudaMallocManaged(&sum, sizeof(float));
  cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE);
  cublasSasum(handle, kCount, c, 1, sum);
  cudaDeviceSynchronize();
  printf("%s: sum %.0f\n", cublasGetStatusName(status), *sum);
  return cublasDestroy(handle);
}
