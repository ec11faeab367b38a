// A kernel that NVRTC compiles to machine code of the device, as many programs ask it to; and one that the driver links
// from PTX, with a function in another piece.
#include <cuda.h>
#include <nvrtc.h>

#include <cstdio>
#include <string>
#include <vector>

#define CHECK(call)                                  \
  if (int e = static_cast<int>(call)) {              \
    std::printf("line %d: error %d\n", __LINE__, e); \
    return 1;                                        \
  }

std::string compiled(const char* source, const char* arch, bool machine_code) {
  nvrtcProgram program;
  const char* options[] = {arch, "-rdc=true"};
  nvrtcCreateProgram(&program, source, "source.cu", 0, nullptr, nullptr);
  if (nvrtcCompileProgram(program, machine_code ? 1 : 2, options)) return "";
  size_t bytes = 0;
  machine_code ? nvrtcGetCUBINSize(program, &bytes) : nvrtcGetPTXSize(program, &bytes);
  std::string out(bytes, '\0');
  machine_code ? nvrtcGetCUBIN(program, out.data()) : nvrtcGetPTX(program, out.data());
  return out;
}

int run(CUmodule module, const char* name) {
  CUfunction kernel;
  CUdeviceptr memory;
  int value = 0, grid = 0, block = 0;
  CHECK(cuModuleGetFunction(&kernel, module, name));
  CHECK(cuOccupancyMaxPotentialBlockSize(&grid, &block, kernel, nullptr, 0, 256));
  CHECK(cuMemAlloc(&memory, sizeof value));
  void* arguments[] = {&memory};
  CHECK(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr));
  CHECK(cuMemcpyDtoH(&value, memory, sizeof value));
  std::printf("%d, blocks of %d\n", value, block);
  return 0;
}

int main() {
  CUdevice device;
  CUcontext context;
  CUmodule module, linked;
  CUlinkState link;
  void* code = nullptr;
  CHECK(cuInit(0));
  CHECK(cuDeviceGet(&device, 0));
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  std::string image = compiled("extern \"C\" __global__ void k(int* p) { *p = 41; }", "-arch=sm_80", true);
  CHECK(cuModuleLoadData(&module, image.data()));
  CHECK(run(module, "k"));
  std::string one = compiled("extern __device__ int f(); extern \"C\" __global__ void k(int* p) { *p = f(); }",
                             "-arch=compute_80", false);
  std::string two = compiled("__device__ int f() { return 42; }", "-arch=compute_80", false);
  CHECK(cuLinkCreate(0, nullptr, nullptr, &link));
  CHECK(cuLinkAddData(link, CU_JIT_INPUT_PTX, one.data(), one.size(), "one", 0, nullptr, nullptr));
  CHECK(cuLinkAddData(link, CU_JIT_INPUT_PTX, two.data(), two.size(), "two", 0, nullptr, nullptr));
  CHECK(cuLinkComplete(link, &code, nullptr));
  CHECK(cuModuleLoadData(&linked, code));
  CHECK(cuLinkDestroy(link));
  CHECK(run(linked, "k"));
  return 0;
}
