// What can't be put in place: recursion, pointers to functions, virtual functions. calls.ptx is what
// `nvcc -arch=sm_80 -lineinfo -ptx` made of this file.
extern "C" {

__device__ __noinline__ unsigned fibonacci(unsigned n) {
  if (n < 2) return n;
  return fibonacci(n - 1) + fibonacci(n - 2);
}

__global__ void recursion(unsigned* out) { out[threadIdx.x] = fibonacci(threadIdx.x % 12); }

// Each level has an array of its own, of which the next one gets the address.
__device__ __noinline__ int gather(const int* above, int depth, int seed) {
  int own[4];
  for (int i = 0; i < 4; ++i) own[i] = seed * (i + 1) + depth;
  if (depth == 0) return above ? above[seed & 3] : -1;
  int below = gather(own, depth - 1, seed + 1);
  int sum = below;
  for (int i = 0; i < 4; ++i) sum += own[i] * (i + 1);
  return sum + (above ? above[depth & 3] : 0);
}

__global__ void frames(int* out, int depth) {
  out[threadIdx.x] = gather(nullptr, depth + threadIdx.x % 4, threadIdx.x);
}

__device__ bool is_odd(unsigned n);
__device__ __noinline__ bool is_even(unsigned n) { return n == 0 ? true : is_odd(n - 1); }
__device__ __noinline__ bool is_odd(unsigned n) { return n == 0 ? false : is_even(n - 1); }

__global__ void mutual(int* out) { out[threadIdx.x] = is_even(threadIdx.x); }

typedef float (*Function)(float);
__device__ __noinline__ float twice(float x) { return 2 * x; }
__device__ __noinline__ float square(float x) { return x * x; }
__device__ __noinline__ float next(float x) { return x + 1; }
__device__ Function table[3] = {twice, square, next};

__global__ void pointers(const float* in, float* out) {
  unsigned t = threadIdx.x;
  out[t] = table[t % 3](in[t]) + table[t / 8 % 3](in[t]);
}

__global__ void no_function(float* out) {
  Function f = (Function)(unsigned long long)0x1234567;
  out[threadIdx.x] = f(1.0f);
}

}  // extern "C"

struct Shape {
  float a;
  __device__ Shape(float x) : a(x) {}
  __device__ virtual float area() const = 0;
  __device__ virtual float with(const Shape* other, int depth) const = 0;
};
struct Square : Shape {
  __device__ Square(float x) : Shape(x) {}
  __device__ float area() const override { return a * a; }
  __device__ float with(const Shape* other, int depth) const override {
    return depth ? area() + other->with(this, depth - 1) : 1;
  }
};
struct Line : Shape {
  __device__ Line(float x) : Shape(x) {}
  __device__ float area() const override { return a; }
  __device__ float with(const Shape* other, int depth) const override {
    return depth ? 2 * other->with(this, depth - 1) - area() : 3;
  }
};

extern "C" __global__ void virtuals(float* out) {
  unsigned t = threadIdx.x;
  Shape* s = t % 2 ? (Shape*)new Square(t) : (Shape*)new Line(t);
  Shape* o = t % 3 ? (Shape*)new Square(1) : (Shape*)new Line(2);
  out[t] = s->area() + s->with(o, t % 5);
  delete s;
  delete o;
}
