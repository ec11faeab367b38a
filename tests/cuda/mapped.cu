// Memory and addresses apart: a piece at two places, its bounds, its access, and what is refused.
#include <cuda.h>

#include <cstdio>
#include <cstring>

__global__ void put(int *a, int value) { *a = value; }
__global__ void get(const int *a, int *out) { *out = *a; }

void say(const char *what, CUresult e) {
  const char *name;
  cuGetErrorName(e, &name);
  std::printf("%s: %s\n", what, name);
}

int main(int, char **argv) {
  cudaFree(nullptr);
  CUmemAllocationProp prop = {};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CUmemAccessDesc access = {};
  access.location = prop.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  size_t grain = 0;
  cuMemGetAllocationGranularity(&grain, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
  CUdeviceptr at;
  CUmemGenericAllocationHandle piece, wrong = 12345;
  int *pinned;
  cudaMallocHost(&pinned, sizeof *pinned);
  cuMemAddressReserve(&at, 4 * grain, 0, 0, 0);
  cuMemCreate(&piece, grain, &prop, 0);
  cuMemMap(at, grain, 0, piece, 0);
  cuMemMap(at + grain, grain, 0, piece, 0);
  auto *first = reinterpret_cast<int *>(at), *second = reinterpret_cast<int *>(at + grain);
  if (!std::strcmp(argv[1], "closed")) put<<<1, 1>>>(first, 1);
  cuMemSetAccess(at, 2 * grain, &access, 1);
  if (!std::strcmp(argv[1], "behind")) put<<<1, 1>>>(first + 2 * grain / sizeof(int), 1);
  if (!std::strcmp(argv[1], "readonly")) {
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
    cuMemSetAccess(at, 2 * grain, &access, 1);
    put<<<1, 1>>>(first, 1);
  }
  put<<<1, 1>>>(first, 42);
  get<<<1, 1>>>(second, pinned);
  cudaDeviceSynchronize();
  std::printf("%d\n", *pinned);
  say("free what is mapped", cuMemAddressFree(at, 4 * grain));
  say("map twice", cuMemMap(at, grain, 0, piece, 0));
  say("map outside", cuMemMap(at + 4 * grain, grain, 0, piece, 0));
  say("map too much", cuMemMap(at + 2 * grain, 2 * grain, 0, piece, 0));
  say("map half", cuMemMap(at + 2 * grain, grain / 2, 0, piece, 0));
  say("map nothing", cuMemMap(at + 2 * grain, grain, 0, wrong, 0));
  say("unmap half", cuMemUnmap(at, grain / 2));
  say("cuMemFree", cuMemFree(at));
  int descriptor;
  say("export", cuMemExportToShareableHandle(&descriptor, piece, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  say("import", cuMemImportFromShareableHandle(&wrong, nullptr, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
  say("release", cuMemRelease(piece));
  say("release twice", cuMemRelease(piece));
  say("unmap", cuMemUnmap(at, 2 * grain));
  say("unmap twice", cuMemUnmap(at, 2 * grain));
  say("free", cuMemAddressFree(at, 4 * grain));
  say("free twice", cuMemAddressFree(at, 4 * grain));
  return 0;
}
