// Texture and surface references by the driver's functions, for a module from before CUDA 12: argv[1] is its PTX.
#include <cuda.h>

#include <cstdio>

#define CHECK(call)                                   \
  if (CUresult e = (call); e != CUDA_SUCCESS) {       \
    const char* name = "?";                           \
    cuGetErrorName(e, &name);                         \
    std::printf("line %d: %s\n", __LINE__, name);     \
    return 1;                                         \
  }

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

int main(int, char** argv) {
  CUcontext context;
  CUmodule module;
  CUfunction kernel;
  CHECK(cuInit(0));
  CHECK(cuDevicePrimaryCtxRetain(&context, 0));
  CHECK(cuCtxSetCurrent(context));
  CHECK(cuModuleLoad(&module, argv[1]));
  CHECK(cuModuleGetFunction(&kernel, module, "draw"));
  CUtexref image, none;
  CUsurfref canvas;
  CHECK(cuModuleGetTexRef(&image, module, "image"));
  CHECK(cuModuleGetSurfRef(&canvas, module, "canvas"));
  CHECK(cuModuleGetTexRef(&none, module, "image"));
  std::printf("%d ", none == image);
  std::printf("%d\n", cuModuleGetTexRef(&none, module, "canvas") == CUDA_ERROR_NOT_FOUND);

  float row[4] = {1, 3, 9, 27}, out = 0, drawn[2];
  CUDA_ARRAY_DESCRIPTOR line = {4, 0, CU_AD_FORMAT_FLOAT, 1};
  CUDA_ARRAY3D_DESCRIPTOR writable = {2, 2, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_SURFACE_LDST};
  CUarray array, to;
  CUdeviceptr memory, result;
  CHECK(cuArrayCreate(&array, &line));
  CHECK(cuArray3DCreate(&to, &writable));
  CHECK(cuMemcpyHtoA(array, 0, row, sizeof row));
  CHECK(cuMemAlloc(&memory, sizeof row));
  CHECK(cuMemAlloc(&result, sizeof out));
  CHECK(cuMemcpyHtoD(memory, row, sizeof row));
  CHECK(cuSurfRefSetArray(canvas, to, 0));
  void* arguments[] = {&result};
  auto draw = [&] {
    CHECK(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr));
    CHECK(cuMemcpyDtoH(&out, result, sizeof out));
    std::printf("%g\n", out);
    return 0;
  };
  CHECK(cuTexRefSetArray(image, array, CU_TRSA_OVERRIDE_FORMAT));
  draw();
  CHECK(cuTexRefSetFilterMode(image, CU_TR_FILTER_MODE_LINEAR));
  draw();
  CHECK(cuTexRefSetFlags(image, CU_TRSF_NORMALIZED_COORDINATES));
  CHECK(cuTexRefSetAddressMode(image, 0, CU_TR_ADDRESS_MODE_WRAP));
  draw();
  size_t offset = 1;
  CHECK(cuTexRefSetFormat(image, CU_AD_FORMAT_UNSIGNED_INT32, 1));
  CHECK(cuTexRefSetFlags(image, 0));
  CHECK(cuTexRefSetAddress(&offset, image, memory + 8, 8));
  CHECK(cuTexRefSetFormat(image, CU_AD_FORMAT_FLOAT, 1));
  draw();
  CUDA_MEMCPY2D copy = {};
  copy.srcMemoryType = CU_MEMORYTYPE_ARRAY, copy.srcArray = to, copy.srcXInBytes = 4;
  copy.dstMemoryType = CU_MEMORYTYPE_HOST, copy.dstHost = drawn;
  copy.WidthInBytes = 4, copy.Height = 1;
  CHECK(cuMemcpy2D(&copy));
  std::printf("drawn %g, offset %zu\n", drawn[0], offset);
  CHECK(cuModuleUnload(module));
  std::printf("%d\n", cuTexRefSetArray(image, array, 0) == CUDA_SUCCESS);
  return 0;
}
