// A kernel that is loaded and launched by the driver's functions: argv[1] is its PTX.
#include <cuda.h>

#include <cstdio>

#define CHECK(call)                                                       \
  if (CUresult e = (call); e != CUDA_SUCCESS) {                           \
    const char* name = "?";                                               \
    cuGetErrorName(e, &name);                                             \
    std::printf("line %d: %s\n", __LINE__, name);                         \
    return 1;                                                             \
  }

int main(int, char** argv) {
  CUdevice device;
  CUcontext context;
  CUmodule module;
  CUfunction kernel;
  CUdeviceptr memory;
  CHECK(cuInit(0));
  CHECK(cuDeviceGet(&device, 0));
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  CHECK(cuModuleLoad(&module, argv[1]));
  CHECK(cuModuleGetFunction(&kernel, module, "fill"));
  CHECK(cuMemAlloc(&memory, 64 * sizeof(int)));
  int n = 64, value = 7, host[64] = {};
  void* arguments[] = {&memory, &n, &value};
  CHECK(cuLaunchKernel(kernel, 2, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr));
  CHECK(cuCtxSynchronize());
  CHECK(cuMemcpyDtoH(host, memory, sizeof host));
  int sum = 0;
  for (int x : host) sum += x;
  std::printf("sum %d\n", sum);
  CHECK(cuMemFree(memory));
  CHECK(cuModuleUnload(module));
  return 0;
}
