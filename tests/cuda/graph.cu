// A stream captured into a graph that is launched three times, and events around it.
#include <cstdio>

__global__ void add_one(int* p) { p[threadIdx.x] += 1; }

int main() {
  int *p, host[32];
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaEvent_t first, last;
  cudaStreamCreate(&stream);
  cudaEventCreate(&first);
  cudaEventCreate(&last);
  cudaMalloc(&p, sizeof host);
  cudaMemset(p, 0, sizeof host);
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  add_one<<<1, 32, 0, stream>>>(p);
  add_one<<<1, 32, 0, stream>>>(p);
  cudaStreamEndCapture(stream, &graph);
  cudaGraphInstantiate(&exec, graph, 0);
  cudaEventRecord(first, stream);
  for (int i = 0; i < 3; ++i) cudaGraphLaunch(exec, stream);
  cudaEventRecord(last, stream);
  cudaStreamSynchronize(stream);
  cudaMemcpy(host, p, sizeof host, cudaMemcpyDeviceToHost);
  float ms = -1;
  cudaEventElapsedTime(&ms, first, last);
  std::printf("%d %d %s %s\n", host[0], host[31], ms >= 0 ? "timed" : "not timed", cudaGetErrorName(cudaGetLastError()));
  return 0;
}
