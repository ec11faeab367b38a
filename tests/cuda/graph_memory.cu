// Memory that a graph allocates and the program frees, launch after launch, then another graph; and a stream that is
// destroyed while the capture that it was joined to goes on.
#include <cstdio>

__global__ void fill(int* p) { p[threadIdx.x] = 7; }

int main() {
  cudaGraph_t graph, other, captured;
  cudaGraphExec_t exec, free_exec, captured_exec;
  cudaGraphNode_t alloc, kernel, gone;
  cudaStream_t stream, second;
  cudaEvent_t event;
  cudaStreamCreate(&stream);
  cudaGraphCreate(&graph, 0);
  cudaMemAllocNodeParams memory = {};
  memory.poolProps.allocType = cudaMemAllocationTypePinned;
  memory.poolProps.location.type = cudaMemLocationTypeDevice;
  memory.bytesize = 128;
  cudaGraphAddMemAllocNode(&alloc, graph, nullptr, 0, &memory);
  void* arguments[] = {&memory.dptr};
  cudaKernelNodeParams launch = {};
  launch.func = reinterpret_cast<void*>(&fill);
  launch.gridDim = dim3(1);
  launch.blockDim = dim3(32);
  launch.kernelParams = arguments;
  cudaGraphAddKernelNode(&kernel, graph, &alloc, 1, &launch);
  cudaGraphInstantiate(&exec, graph, 0);
  int host[32] = {}, sum = 0;
  for (int i = 0; i < 2; ++i) {
    cudaGraphLaunch(exec, stream);
    cudaMemcpy(host, memory.dptr, sizeof host, cudaMemcpyDeviceToHost);
    for (int x : host) sum += x;
    i ? cudaFreeAsync(memory.dptr, stream) : cudaFree(memory.dptr);
  }
  cudaGraphCreate(&other, 0);
  cudaGraphAddMemFreeNode(&gone, other, nullptr, 0, memory.dptr);
  cudaGraphInstantiate(&free_exec, other, 0);
  cudaGraphLaunch(exec, stream);
  cudaGraphLaunch(free_exec, stream);
  cudaStreamCreate(&second);
  cudaEventCreate(&event);
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  cudaEventRecord(event, stream);
  cudaStreamWaitEvent(second, event, 0);
  cudaMemsetAsync(memory.dptr, 0, 4, second);
  cudaEventRecord(event, second);
  cudaStreamWaitEvent(stream, event, 0);
  cudaStreamDestroy(second);
  cudaStreamEndCapture(stream, &captured);
  cudaGraphInstantiate(&captured_exec, captured, 0);
  std::printf("sum %d, %s\n", sum, cudaGetErrorName(cudaGetLastError()));
  return 0;
}
