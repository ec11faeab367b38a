// What programs pass to cuBLAS, and what it returns.
#pragma once

#include <cstdint>

namespace quern::cuda {

enum class BlasStatus : int {  // cublasStatus_t
#define QUERN_BLAS_STATUS(name, number, real_name, text) k##name = number,
#include "cuda/abi/cublas_status.def"
#undef QUERN_BLAS_STATUS
};

enum class BlasOperation : int { kN = 0, kT = 1, kC = 2, kConjugate = 3 };  // cublasOperation_t
enum class BlasFill : int { kLower = 0, kUpper = 1, kFull = 2 };            // cublasFillMode_t
enum class BlasDiagonal : int { kNonUnit = 0, kUnit = 1 };                  // cublasDiagType_t
enum class BlasSide : int { kLeft = 0, kRight = 1 };                        // cublasSideMode_t
enum class BlasPointerMode : int { kHost = 0, kDevice = 1 };                // cublasPointerMode_t
enum class BlasAtomics : int { kNotAllowed = 0, kAllowed = 1 };             // cublasAtomicsMode_t

enum class BlasCompute : int {  // cublasComputeType_t
  k16F = 64,
  k16FPedantic = 65,
  k32F = 68,
  k32FPedantic = 69,
  k64F = 70,
  k64FPedantic = 71,
  k32I = 72,
  k32IPedantic = 73,
  k32FFast16F = 74,
  k32FFast16BF = 75,
  k32FFastTF32 = 77,
  k32FEmulated16BFX9 = 78,
  k64FEmulatedFixedPoint = 79,
};

enum class DataType : int {  // cudaDataType_t
  kR32F = 0,
  kR64F = 1,
  kR16F = 2,
  kR8I = 3,
  kC32F = 4,
  kC64F = 5,
  kR32I = 10,
  kR16BF = 14,
};

}  // namespace quern::cuda
