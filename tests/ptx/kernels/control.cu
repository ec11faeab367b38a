// Loops, a switch (brx.idx), divergent exits, recursion, a function pointer, a virtual call.
struct Shape {
  __device__ virtual float area() const = 0;
};
struct Square : Shape {
  float side;
  __device__ float area() const override { return side * side; }
};
struct Circle : Shape {
  float radius;
  __device__ float area() const override { return 3.0f * radius * radius; }
};

__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
__device__ __noinline__ int twice(int x) { return 2 * x; }
__device__ __noinline__ int square(int x) { return x * x; }
__device__ int (*const kTable[])(int) = {twice, square, fibonacci};

extern "C" __global__ void control(const int* in, int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int x = in[i], steps = 0;
  for (unsigned c = x; c > 1; ++steps) c = c % 2 ? 3 * c + 1 : c / 2;
  switch (x & 7) {
    case 0: steps += fibonacci(x & 15); break;
    case 1: steps -= 3; break;
    case 2: steps ^= x; break;
    case 3: steps *= x; break;
    case 4: steps = in[(i * 7) % n]; break;
    case 5: steps <<= 2; break;
    default: steps = kTable[x % 3](steps);
  }
  out[i] = steps;
}

extern "C" __global__ void shapes(float* out, int n) {
  int i = threadIdx.x;
  Square square;
  Circle circle;
  square.side = i;
  circle.radius = i;
  const Shape* shape = i & 1 ? static_cast<const Shape*>(&square) : &circle;
  if (i < n) out[i] = shape->area();
}
