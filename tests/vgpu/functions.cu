// functions.def as kernels: element i of up to three arrays to element i of the result. functions.ptx beside it is what
// `nvcc -std=c++17 -arch=sm_90 -fmad=false -ptx` made of it.
#include "device_seldom.cuh"

using namespace quern::oracle;

#define INDEX blockIdx.x* blockDim.x + threadIdx.x
#define FUNCTION1(name, R, A, value)                         \
  extern "C" __global__ void name(const A* x, R* r, u32 n) { \
    u32 i = INDEX;                                           \
    if (i >= n) return;                                      \
    A a = x[i];                                              \
    r[i] = value;                                            \
  }
#define FUNCTION2(name, R, A, B, value)                                  \
  extern "C" __global__ void name(const A* x, const B* y, R* r, u32 n) { \
    u32 i = INDEX;                                                       \
    if (i >= n) return;                                                  \
    A a = x[i];                                                          \
    B b = y[i];                                                          \
    r[i] = value;                                                        \
  }
#define FUNCTION3(name, R, A, B, C, value)                                           \
  extern "C" __global__ void name(const A* x, const B* y, const C* z, R* r, u32 n) { \
    u32 i = INDEX;                                                                   \
    if (i >= n) return;                                                              \
    A a = x[i];                                                                      \
    B b = y[i];                                                                      \
    C c = z[i];                                                                      \
    r[i] = value;                                                                    \
  }
#include "functions.def"
