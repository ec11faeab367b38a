// Arrays, copies and objects by the driver's functions; argv[1] is the PTX of read_texture.cu.
#include <cuda.h>

#include <cstdio>
#include <vector>

#define CHECK(call)                                   \
  if (CUresult e = (call); e != CUDA_SUCCESS) {       \
    const char* name = "?";                           \
    cuGetErrorName(e, &name);                         \
    std::printf("line %d: %s\n", __LINE__, name);     \
    return 1;                                         \
  }

int main(int, char** argv) {
  CUcontext context;
  CUmodule module;
  CUfunction kernel;
  CHECK(cuInit(0));
  CHECK(cuDevicePrimaryCtxRetain(&context, 0));
  CHECK(cuCtxSetCurrent(context));
  CHECK(cuModuleLoad(&module, argv[1]));
  CHECK(cuModuleGetFunction(&kernel, module, "read_texture"));

  // Bytes of 6 by 5 elements into the middle of an array of 8 by 8, then into one of layers.
  std::vector<unsigned char> bytes(6 * 5);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(i * 8);
  CUDA_ARRAY_DESCRIPTOR flat = {8, 8, CU_AD_FORMAT_UNSIGNED_INT8, 1};
  CUarray array, layered;
  CHECK(cuArrayCreate(&array, &flat));
  CUDA_ARRAY3D_DESCRIPTOR deep = {8, 8, 2, CU_AD_FORMAT_UNSIGNED_INT8, 1, CUDA_ARRAY3D_LAYERED};
  CHECK(cuArray3DCreate(&layered, &deep));
  CUdeviceptr zeros;
  CHECK(cuMemAlloc(&zeros, 128));
  CHECK(cuMemsetD8(zeros, 0, 128));
  CUDA_MEMCPY2D whole = {};
  whole.srcMemoryType = CU_MEMORYTYPE_DEVICE, whole.srcDevice = zeros, whole.srcPitch = 8;
  whole.dstMemoryType = CU_MEMORYTYPE_ARRAY, whole.dstArray = array;
  whole.WidthInBytes = 8, whole.Height = 8;
  CHECK(cuMemcpy2D(&whole));
  CUDA_MEMCPY2D copy = {};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST, copy.srcHost = bytes.data(), copy.srcPitch = 6;
  copy.dstMemoryType = CU_MEMORYTYPE_ARRAY, copy.dstArray = array, copy.dstXInBytes = 1, copy.dstY = 2;
  copy.WidthInBytes = 6, copy.Height = 5;
  CHECK(cuMemcpy2D(&copy));
  CUDA_MEMCPY3D layer = {};
  layer.srcMemoryType = CU_MEMORYTYPE_ARRAY, layer.srcArray = array;
  layer.dstMemoryType = CU_MEMORYTYPE_ARRAY, layer.dstArray = layered, layer.dstZ = 1;
  layer.WidthInBytes = 8, layer.Height = 8, layer.Depth = 1;
  CHECK(cuMemcpy3D(&layer));
  CUDA_ARRAY3D_DESCRIPTOR told;
  CHECK(cuArray3DGetDescriptor(&told, layered));
  std::printf("%zu x %zu x %zu, format %d, %u channel, flags %u\n", told.Width, told.Height, told.Depth, told.Format,
              told.NumChannels, told.Flags);

  CUDA_RESOURCE_DESC resource = {};
  resource.resType = CU_RESOURCE_TYPE_ARRAY;
  resource.res.array.hArray = layered;
  CUDA_TEXTURE_DESC how = {};
  how.addressMode[0] = how.addressMode[1] = CU_TR_ADDRESS_MODE_CLAMP;
  how.filterMode = CU_TR_FILTER_MODE_LINEAR;
  CUtexObject texture;
  CHECK(cuTexObjectCreate(&texture, &resource, &how, nullptr));
  CUDA_TEXTURE_DESC back;
  CHECK(cuTexObjectGetTextureDesc(&back, texture));
  CHECK(cuTexObjectGetResourceDesc(&resource, texture));
  std::printf("filter %d, flags %u, same array %d\n", back.filterMode, back.flags, resource.res.array.hArray == layered);
  CUdeviceptr out;
  float host[2];
  CHECK(cuMemAlloc(&out, sizeof host));
  void* arguments[] = {&texture, &out};
  CHECK(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr));
  CHECK(cuMemcpyDtoH(host, out, sizeof host));
  std::printf("%g %g\n", host[0] * 255, host[1] * 255);

  // Rows of bytes in an array of one dimension.
  CUDA_ARRAY_DESCRIPTOR line = {30, 0, CU_AD_FORMAT_UNSIGNED_INT8, 1};
  CUarray row;
  unsigned char part[3];
  CHECK(cuArrayCreate(&row, &line));
  CHECK(cuMemcpyHtoA(row, 0, bytes.data(), 30));
  CHECK(cuMemcpyAtoH(part, row, 7, 3));
  std::printf("%d %d %d\n", part[0], part[1], part[2]);
  CHECK(cuTexObjectDestroy(texture));
  CHECK(cuArrayDestroy(array));
  CHECK(cuArrayDestroy(layered));
  std::printf("%s\n", cuArrayDestroy(array) == CUDA_SUCCESS ? "twice" : "once");
  return 0;
}
