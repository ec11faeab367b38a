// What a kernel may not do with textures and surfaces, one thing a run: argv[1] names it.
#include <cuda_runtime.h>

#include <cstring>

__global__ void write(cudaSurfaceObject_t s) { surf2Dwrite(1.0f, s, static_cast<int>(threadIdx.x) * 4, 1); }
__global__ void read(cudaTextureObject_t t, float* out) {
  out[threadIdx.x] = tex2D<float>(t, threadIdx.x + 0.5f, 0.5f);
}

int main(int, char** argv) {
  cudaChannelFormatDesc channel = cudaCreateChannelDesc<float>();
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  cudaArray_t& array = resource.res.array.array;
  cudaMallocArray(&array, &channel, 8, 4, cudaArraySurfaceLoadStore);
  cudaSurfaceObject_t surface;
  cudaTextureObject_t texture;
  cudaTextureDesc how = {};
  cudaCreateSurfaceObject(&surface, &resource);
  cudaCreateTextureObject(&texture, &resource, &how, nullptr);
  float* out;
  cudaMalloc(&out, 32 * 4);
  if (!std::strcmp(argv[1], "outside")) write<<<1, 10>>>(surface);
  if (!std::strcmp(argv[1], "unwritten")) read<<<1, 8>>>(texture, out);
  if (!std::strcmp(argv[1], "freed")) {
    write<<<1, 8>>>(surface);
    cudaFreeArray(array);
    read<<<1, 8>>>(texture, out);
  }
  if (!std::strcmp(argv[1], "destroyed")) {
    cudaDestroyTextureObject(texture);
    read<<<1, 8>>>(texture, out);
  }
  return cudaDeviceSynchronize() != cudaSuccess;
}
