// Vector accesses, static and dynamic shared memory, local arrays, constants, initial values with addresses in them.
struct Entry {
  const int* where;
  short weight;
};
__constant__ float kWeights[5] = {1.0f, -2.5f, 3.25f, 4.0f, 1e-30f};
__device__ int first = 7, second[3] = {1, 2, 3};
__device__ Entry entries[2] = {{&first, 1}, {second + 2, -2}};
__device__ double mixed[2] = {0.5, -1e300};

extern "C" __global__ void transpose(const float4* in, float4* out) {
  __shared__ float4 tile[8][9];
  int x = threadIdx.x, y = threadIdx.y;
  tile[y][x] = in[y * 8 + x];
  __syncthreads();
  out[y * 8 + x] = tile[x][y];
}

extern "C" __global__ void gather(const unsigned char* bytes, const short2* pairs, int* out, int n) {
  extern __shared__ double scratch[];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int local[16];
  for (int k = 0; k < 16; ++k) local[k] = bytes[(i + k) % n];
  scratch[threadIdx.x] = kWeights[i % 5] + mixed[i & 1];
  __syncthreads();
  short2 p = pairs[i];
  const Entry& e = entries[i & 1];
  out[i] = local[p.x & 15] + p.y + *e.where * e.weight + static_cast<int>(scratch[threadIdx.x ^ 1]);
}
