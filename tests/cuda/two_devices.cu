// What a program sees of its devices.
#include <cstdio>

int main() {
  int count = 0;
  cudaGetDeviceCount(&count);
  for (int i = 0; i < count; ++i) {
    cudaDeviceProp p;
    cudaGetDeviceProperties(&p, i);
    int peer = 0;
    if (i) cudaDeviceCanAccessPeer(&peer, i, 0);
    std::printf("%d: sm_%d%d, %d multiprocessors, peer %d\n", i, p.major, p.minor, p.multiProcessorCount, peer);
  }
  return 0;
}
