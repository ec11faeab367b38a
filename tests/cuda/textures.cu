// Textures and surfaces against the formulas of the CUDA C++ programming guide (texture fetching), computed here:
// addressing modes, both filters, formats, layers, cubes, levels, gathers, and surface writes that a texture reads.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                              \
  if (cudaError_t e = (call); e != cudaSuccess) {                                \
    std::printf("line %d: %s\n", __LINE__, cudaGetErrorName(e));                 \
    std::exit(1);                                                                \
  }

template <class T>
T* on_device(const std::vector<T>& v) {
  T* p;
  CHECK(cudaMalloc(&p, v.size() * sizeof(T)));
  CHECK(cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
  return p;
}

template <class T>
std::vector<T> from_device(const T* p, size_t n) {
  std::vector<T> v(n);
  CHECK(cudaMemcpy(v.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost));
  return v;
}

int failures = 0;

void expect(const char* what, size_t i, float got, float want, float most = 0) {
  if (std::fabs(got - want) <= most || got == want) return;
  if (++failures < 20) std::printf("%s %zu: %.9g, not %.9g\n", what, i, got, want);
}

float random_float(float low, float high) { return low + (high - low) * (std::rand() / static_cast<float>(RAND_MAX)); }

// --- the formulas ---

int host_index(long i, int n, cudaTextureAddressMode mode) {
  if (i >= 0 && i < n) return static_cast<int>(i);
  if (mode == cudaAddressModeBorder) return -1;
  if (mode == cudaAddressModeWrap) return static_cast<int>((i % n + n) % n);
  return i < 0 ? 0 : n - 1;
}

float host_scaled(float x, int n, cudaTextureAddressMode mode, bool normalized) {
  if (!normalized) return x;
  float whole = std::floor(x);
  if (mode == cudaAddressModeWrap) x -= whole;
  if (mode == cudaAddressModeMirror) x = std::fmod(whole, 2.0f) == 0 ? x - whole : 1 - (x - whole);
  return x * n;
}

struct Image {
  int width, height;
  std::vector<float> texels;
  float border;

  float at(int x, int y) const { return x < 0 || y < 0 ? border : texels[static_cast<size_t>(y * width + x)]; }
};

float host_fetch(const Image& t, float x, float y, cudaTextureAddressMode mode, bool normalized, bool linear) {
  if (!normalized && mode != cudaAddressModeBorder) mode = cudaAddressModeClamp;
  x = host_scaled(x, t.width, mode, normalized);
  y = host_scaled(y, t.height, mode, normalized);
  if (!linear) {
    return t.at(host_index(static_cast<long>(std::floor(x)), t.width, mode),
                host_index(static_cast<long>(std::floor(y)), t.height, mode));
  }
  auto split = [](double v, long& i) {  // a fraction of eight bits
    double fixed = std::floor((v - 0.5) * 256 + 0.5) / 256;
    i = static_cast<long>(std::floor(fixed));
    return fixed - static_cast<double>(i);
  };
  long i, j;
  double a = split(x, i), b = split(y, j);
  int x0 = host_index(i, t.width, mode), x1 = host_index(i + 1, t.width, mode);
  int y0 = host_index(j, t.height, mode), y1 = host_index(j + 1, t.height, mode);
  return static_cast<float>((1 - a) * (1 - b) * t.at(x0, y0) + a * (1 - b) * t.at(x1, y0) + (1 - a) * b * t.at(x0, y1) +
                            a * b * t.at(x1, y1));
}

// --- two dimensions ---

__global__ void fetch(cudaTextureObject_t t, const float2* at, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = tex2D<float>(t, at[i].x, at[i].y);
}

__global__ void fetch_colour(cudaTextureObject_t t, const float2* at, float4* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = tex2D<float4>(t, at[i].x, at[i].y);
}

void two_dimensions() {
  Image image{37, 21, {}, 0.625f};
  for (int i = 0; i < image.width * image.height; ++i) image.texels.push_back(random_float(-2, 2));
  std::vector<float2> at;
  cudaChannelFormatDesc channel = cudaCreateChannelDesc<float>();
  cudaArray_t array;
  CHECK(cudaMallocArray(&array, &channel, image.width, image.height));
  CHECK(cudaMemcpy2DToArray(array, 0, 0, image.texels.data(), image.width * 4, image.width * 4, image.height,
                            cudaMemcpyHostToDevice));
  float* rows;
  size_t pitch;
  CHECK(cudaMallocPitch(&rows, &pitch, image.width * 4, image.height));
  CHECK(cudaMemcpy2D(rows, pitch, image.texels.data(), image.width * 4, image.width * 4, image.height,
                     cudaMemcpyHostToDevice));
  for (bool pitched : {false, true}) {
    cudaResourceDesc resource = {};
    resource.resType = pitched ? cudaResourceTypePitch2D : cudaResourceTypeArray;
    if (pitched) {
      resource.res.pitch2D = {rows, channel, static_cast<size_t>(image.width), static_cast<size_t>(image.height), pitch};
    } else {
      resource.res.array.array = array;
    }
    for (auto mode : {cudaAddressModeWrap, cudaAddressModeClamp, cudaAddressModeMirror, cudaAddressModeBorder}) {
      for (bool normalized : {false, true}) {
        for (bool linear : {false, true}) {
          constexpr int kCount = 1000;
          at.clear();
          for (int i = 0; i < kCount; ++i) {
            at.push_back(normalized ? make_float2(random_float(-3, 3), random_float(-3, 3))
                                    : make_float2(random_float(-20, 60), random_float(-20, 50)));
          }
          cudaTextureDesc how = {};
          how.addressMode[0] = how.addressMode[1] = mode;
          how.filterMode = linear ? cudaFilterModeLinear : cudaFilterModePoint;
          how.normalizedCoords = normalized;
          how.borderColor[0] = image.border;
          cudaTextureObject_t t;
          CHECK(cudaCreateTextureObject(&t, &resource, &how, nullptr));
          float2* from = on_device(at);
          float* to = on_device(std::vector<float>(kCount));
          fetch<<<(kCount + 127) / 128, 128>>>(t, from, to, kCount);
          CHECK(cudaDeviceSynchronize());
          std::vector<float> got = from_device(to, kCount);
          for (size_t i = 0; i < kCount; ++i) {
            expect("2d", i, got[i], host_fetch(image, at[i].x, at[i].y, mode, normalized, linear), 1e-6f);
          }
          CHECK(cudaDestroyTextureObject(t));
          CHECK(cudaFree(from));
          CHECK(cudaFree(to));
        }
      }
    }
  }
  CHECK(cudaFree(rows));
  CHECK(cudaFreeArray(array));
}

void colours() {
  constexpr int kSize = 16;
  std::vector<uchar4> texels;
  Image channels[4];
  for (Image& c : channels) c = {kSize, kSize, {}, 0};
  for (int i = 0; i < kSize * kSize; ++i) {
    unsigned char v[4];
    for (int c = 0; c < 4; ++c) {
      v[c] = static_cast<unsigned char>(std::rand());
      channels[c].texels.push_back(v[c] / 255.0f);
    }
    texels.push_back(make_uchar4(v[0], v[1], v[2], v[3]));
  }
  cudaChannelFormatDesc channel = cudaCreateChannelDesc<uchar4>();
  cudaArray_t array;
  CHECK(cudaMallocArray(&array, &channel, kSize, kSize));
  CHECK(cudaMemcpy2DToArray(array, 0, 0, texels.data(), kSize * 4, kSize * 4, kSize, cudaMemcpyHostToDevice));
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaTextureDesc how = {};
  how.filterMode = cudaFilterModeLinear;
  how.readMode = cudaReadModeNormalizedFloat;
  how.addressMode[0] = how.addressMode[1] = cudaAddressModeClamp;
  cudaTextureObject_t t;
  CHECK(cudaCreateTextureObject(&t, &resource, &how, nullptr));
  std::vector<float2> at;
  for (int i = 0; i < 500; ++i) at.push_back(make_float2(random_float(-2, 18), random_float(-2, 18)));
  float4* to = on_device(std::vector<float4>(at.size()));
  fetch_colour<<<4, 128>>>(t, on_device(at), to, static_cast<int>(at.size()));
  std::vector<float4> got = from_device(to, at.size());
  for (size_t i = 0; i < at.size(); ++i) {
    const float v[4] = {got[i].x, got[i].y, got[i].z, got[i].w};
    for (int c = 0; c < 4; ++c) {
      expect("colour", i, v[c], host_fetch(channels[c], at[i].x, at[i].y, cudaAddressModeClamp, false, true), 1e-6f);
    }
  }
  // Filters are for floats.
  how.readMode = cudaReadModeElementType;
  if (cudaCreateTextureObject(&t, &resource, &how, nullptr) == cudaSuccess) ++failures;
  (void)cudaGetLastError();
}

// --- linear memory ---

__global__ void fetch_linear(cudaTextureObject_t t, int* out, int n) {
  int i = static_cast<int>(threadIdx.x) - 2;
  if (threadIdx.x < n + 4) out[threadIdx.x] = tex1Dfetch<short2>(t, i).x;
}

void linear_memory() {
  std::vector<short2> v;
  for (int i = 0; i < 20; ++i) v.push_back(make_short2(static_cast<short>(i * 1000 - 9000), 1));
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear = {on_device(v), cudaCreateChannelDesc<short2>(), v.size() * sizeof(short2)};
  cudaTextureDesc how = {};
  cudaTextureObject_t t;
  CHECK(cudaCreateTextureObject(&t, &resource, &how, nullptr));
  int* to = on_device(std::vector<int>(24));
  fetch_linear<<<1, 32>>>(t, to, 20);
  std::vector<int> got = from_device(to, 24);
  for (int i = 0; i < 24; ++i) {
    bool inside = i >= 2 && i < 22;
    expect("linear memory", static_cast<size_t>(i), static_cast<float>(got[static_cast<size_t>(i)]),
           inside ? static_cast<float>((i - 2) * 1000 - 9000) : 0);
  }
}

// --- surfaces, three dimensions, layers ---

__global__ void write_volume(cudaSurfaceObject_t s, int width, int height) {
  int x = threadIdx.x, y = threadIdx.y, z = blockIdx.x;
  if (x < width && y < height) surf3Dwrite(static_cast<float>(x + 10 * y + 100 * z), s, x * 4, y, z);
}

__global__ void read_volume(cudaTextureObject_t t, cudaSurfaceObject_t s, float4* out) {
  int x = threadIdx.x, y = threadIdx.y, z = blockIdx.x;
  float direct;
  surf3Dread(&direct, s, x * 4, y, z);
  float outside;
  surf3Dread(&outside, s, 100, y, z, cudaBoundaryModeZero);
  out[(z * blockDim.y + y) * blockDim.x + x] =
      make_float4(tex3D<float>(t, x + 0.5f, y + 0.5f, z + 0.5f), tex3D<float>(t, x + 1.0f, y + 0.5f, z + 0.5f), direct,
                  outside);
}

void volume() {
  cudaChannelFormatDesc channel = cudaCreateChannelDesc<float>();
  cudaArray_t array;
  CHECK(cudaMalloc3DArray(&array, &channel, make_cudaExtent(5, 4, 3), cudaArraySurfaceLoadStore));
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaSurfaceObject_t s;
  CHECK(cudaCreateSurfaceObject(&s, &resource));
  write_volume<<<3, dim3(8, 8)>>>(s, 5, 4);
  cudaTextureDesc how = {};
  how.filterMode = cudaFilterModeLinear;
  for (auto& mode : how.addressMode) mode = cudaAddressModeClamp;
  cudaTextureObject_t t;
  CHECK(cudaCreateTextureObject(&t, &resource, &how, nullptr));
  float4* to = on_device(std::vector<float4>(60));
  read_volume<<<3, dim3(5, 4)>>>(t, s, to);
  std::vector<float4> got = from_device(to, 60);
  for (int i = 0; i < 60; ++i) {
    int x = i % 5, y = i / 5 % 4, z = i / 20;
    auto here = static_cast<float>(x + 10 * y + 100 * z);
    const float4& v = got[static_cast<size_t>(i)];
    expect("volume", static_cast<size_t>(i), v.x, here);
    expect("volume between", static_cast<size_t>(i), v.y, x < 4 ? here + 0.5f : here);
    expect("surface", static_cast<size_t>(i), v.z, here);
    expect("surface outside", static_cast<size_t>(i), v.w, 0);
  }
  CHECK(cudaDestroySurfaceObject(s));
  CHECK(cudaDestroyTextureObject(t));
  CHECK(cudaFreeArray(array));
}

__global__ void read_layers(cudaTextureObject_t t, float* out) {
  out[threadIdx.x] = tex2DLayered<float>(t, 1.5f, 0.5f, static_cast<int>(threadIdx.x));
}

void layers() {
  std::vector<float> v;
  for (int i = 0; i < 3 * 2 * 4; ++i) v.push_back(static_cast<float>(i));
  cudaChannelFormatDesc channel = cudaCreateChannelDesc<float>();
  cudaArray_t array;
  CHECK(cudaMalloc3DArray(&array, &channel, make_cudaExtent(3, 2, 4), cudaArrayLayered));
  cudaMemcpy3DParms copy = {};
  copy.srcPtr = make_cudaPitchedPtr(v.data(), 12, 3, 2);
  copy.dstArray = array;
  copy.extent = make_cudaExtent(3, 2, 4);
  copy.kind = cudaMemcpyHostToDevice;
  CHECK(cudaMemcpy3D(&copy));
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaTextureDesc how = {};
  cudaTextureObject_t t;
  CHECK(cudaCreateTextureObject(&t, &resource, &how, nullptr));
  float* to = on_device(std::vector<float>(4));
  read_layers<<<1, 4>>>(t, to);
  std::vector<float> got = from_device(to, 4);
  for (size_t i = 0; i < 4; ++i) expect("layer", i, got[i], static_cast<float>(6 * i + 1));
}

// --- cubes ---

__global__ void write_cube(cudaSurfaceObject_t s, int size) {
  int x = threadIdx.x, y = threadIdx.y, face = blockIdx.x;
  surfCubemapwrite(static_cast<float>(face * size * size + y * size + x), s, x * 4, y, face);
}

__global__ void read_cube(cudaTextureObject_t t, float* out, int size) {
  int x = threadIdx.x, y = threadIdx.y, face = blockIdx.x;
  float u = (x + 0.5f) / size * 2 - 1, v = (y + 0.5f) / size * 2 - 1;
  float3 d;
  switch (face) {
    case 0: d = make_float3(1, -v, -u); break;
    case 1: d = make_float3(-1, -v, u); break;
    case 2: d = make_float3(u, 1, v); break;
    case 3: d = make_float3(u, -1, -v); break;
    case 4: d = make_float3(u, -v, 1); break;
    default: d = make_float3(-u, -v, -1); break;
  }
  out[(face * size + y) * size + x] = texCubemap<float>(t, d.x, d.y, d.z);
}

void cube() {
  constexpr int kSize = 8;
  cudaChannelFormatDesc channel = cudaCreateChannelDesc<float>();
  cudaArray_t array;
  CHECK(cudaMalloc3DArray(&array, &channel, make_cudaExtent(kSize, kSize, 6),
                          cudaArrayCubemap | cudaArraySurfaceLoadStore));
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaSurfaceObject_t s;
  CHECK(cudaCreateSurfaceObject(&s, &resource));
  write_cube<<<6, dim3(kSize, kSize)>>>(s, kSize);
  cudaTextureDesc how = {};
  how.normalizedCoords = 1;
  how.filterMode = cudaFilterModeLinear;
  for (auto& mode : how.addressMode) mode = cudaAddressModeClamp;
  cudaTextureObject_t t;
  CHECK(cudaCreateTextureObject(&t, &resource, &how, nullptr));
  float* to = on_device(std::vector<float>(6 * kSize * kSize));
  read_cube<<<6, dim3(kSize, kSize)>>>(t, to, kSize);
  std::vector<float> got = from_device(to, 6 * kSize * kSize);
  for (size_t i = 0; i < got.size(); ++i) expect("cube", i, got[i], static_cast<float>(i));
}

// --- levels, gathers ---

__global__ void write_level(cudaSurfaceObject_t s, float value) {
  surf2Dwrite(value, s, static_cast<int>(threadIdx.x) * 4, static_cast<int>(threadIdx.y));
}

__global__ void read_levels(cudaTextureObject_t t, float* out) {
  out[threadIdx.x] = tex2DLod<float>(t, 0.5f, 0.5f, threadIdx.x * 0.5f);
}

void levels() {
  constexpr int kSize = 8, kLevels = 4;
  cudaChannelFormatDesc channel = cudaCreateChannelDesc<float>();
  cudaMipmappedArray_t chain;
  CHECK(cudaMallocMipmappedArray(&chain, &channel, make_cudaExtent(kSize, kSize, 0), kLevels,
                                 cudaArraySurfaceLoadStore));
  for (int i = 0; i < kLevels; ++i) {
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    CHECK(cudaGetMipmappedArrayLevel(&resource.res.array.array, chain, i));
    cudaSurfaceObject_t s;
    CHECK(cudaCreateSurfaceObject(&s, &resource));
    write_level<<<1, dim3(kSize >> i, kSize >> i)>>>(s, static_cast<float>(i));
    CHECK(cudaDestroySurfaceObject(s));
  }
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeMipmappedArray;
  resource.res.mipmap.mipmap = chain;
  cudaTextureDesc how = {};
  how.normalizedCoords = 1;
  how.filterMode = cudaFilterModeLinear;
  how.mipmapFilterMode = cudaFilterModeLinear;
  how.maxMipmapLevelClamp = kLevels - 1;
  cudaTextureObject_t t;
  CHECK(cudaCreateTextureObject(&t, &resource, &how, nullptr));
  float* to = on_device(std::vector<float>(8));
  read_levels<<<1, 8>>>(t, to);
  std::vector<float> got = from_device(to, 8);
  for (size_t i = 0; i < 8; ++i) expect("level", i, got[i], i < 6 ? static_cast<float>(i) / 2 : 3);
}

__global__ void gather(cudaTextureObject_t t, float4* out) { out[0] = tex2Dgather<float4>(t, 2.0f, 1.0f, 1); }

void gathers() {
  std::vector<float2> v;
  for (int i = 0; i < 12; ++i) v.push_back(make_float2(0, static_cast<float>(i)));
  cudaChannelFormatDesc channel = cudaCreateChannelDesc<float2>();
  cudaArray_t array;
  CHECK(cudaMallocArray(&array, &channel, 4, 3, cudaArrayTextureGather));
  CHECK(cudaMemcpy2DToArray(array, 0, 0, v.data(), 32, 32, 3, cudaMemcpyHostToDevice));
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaTextureDesc how = {};
  cudaTextureObject_t t;
  CHECK(cudaCreateTextureObject(&t, &resource, &how, nullptr));
  float4* to = on_device(std::vector<float4>(1));
  gather<<<1, 1>>>(t, to);
  float4 got = from_device(to, 1)[0];
  expect("gather", 0, got.x, 5);
  expect("gather", 1, got.y, 6);
  expect("gather", 2, got.z, 2);
  expect("gather", 3, got.w, 1);
}

int main() {
  two_dimensions();
  colours();
  linear_memory();
  volume();
  layers();
  cube();
  levels();
  gathers();
  CHECK(cudaDeviceSynchronize());
  std::printf("%d failures\n", failures);
  return failures != 0;
}
