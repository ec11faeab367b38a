// What a program leaves behind: its main function ends, and the device isn't done.
#include <cstdio>
#include <cstring>

__global__ void overrun(int *a) { a[threadIdx.x] = 1; }
__global__ void wait(volatile int *flag) {
  while (*flag == 0) {
  }
}
__global__ void say() { printf("said\n"); }

int main(int, char **argv) {
  int *memory = nullptr;
  cudaMallocHost(&memory, 4 * sizeof(int));
  memory[0] = 0;
  if (!strcmp(argv[1], "fault")) overrun<<<1, 32>>>(memory);
  if (!strcmp(argv[1], "print")) say<<<1, 1>>>();
  if (!strcmp(argv[1], "stuck")) wait<<<1, 1>>>(memory), say<<<1, 1>>>();
  // The host goes on meanwhile, also where it never waits for the device.
  if (!strcmp(argv[1], "latch")) {
    wait<<<1, 1>>>(memory);
    printf("host\n");
    fflush(stdout);
    *(volatile int *)memory = 1;
    say<<<1, 1>>>();
  }
  return 0;
}
