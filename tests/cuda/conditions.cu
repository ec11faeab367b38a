// Nodes of a graph whose bodies run as kernels decide: if and else, while, one of several; and a handle that is none.
#include <cstdio>

__global__ void decide(cudaGraphConditionalHandle h, unsigned value) { cudaGraphSetConditional(h, value); }
__global__ void count(int *n, int by) { *n += by; }
__global__ void countdown(cudaGraphConditionalHandle h, int *n) { cudaGraphSetConditional(h, --*n > 0); }

template <class... A>
cudaGraphNode_t kernel(cudaGraph_t graph, cudaGraphNode_t after, void (*f)(A...), A... a) {
  void *arguments[] = {&a...};
  cudaKernelNodeParams p = {};
  p.func = reinterpret_cast<void *>(f);
  p.gridDim = p.blockDim = dim3(1);
  p.kernelParams = arguments;
  cudaGraphNode_t node;
  cudaGraphAddKernelNode(&node, graph, &after, after != nullptr, &p);
  return node;
}

cudaGraphNode_t conditional(cudaGraph_t graph, cudaGraphNode_t after, cudaGraphConditionalHandle h,
                            cudaGraphConditionalNodeType type, unsigned size, cudaGraph_t **bodies) {
  cudaGraphNodeParams p = {cudaGraphNodeTypeConditional};
  p.conditional.handle = h;
  p.conditional.type = type;
  p.conditional.size = size;
  cudaGraphNode_t node = nullptr;
  cudaError_t e = cudaGraphAddNode(&node, graph, &after, nullptr, after != nullptr, &p);
  if (e != cudaSuccess) std::printf("%s\n", cudaGetErrorName(e));
  *bodies = p.conditional.phGraph_out;
  return node;
}

int main(int argc, char **) {
  cudaGraph_t graph, *either, *loop, *one, *none;
  cudaGraphExec_t exec;
  cudaGraphConditionalHandle a, b, c;
  int *n, host[3] = {0, 0, 5};
  cudaMalloc(&n, sizeof host);
  cudaMemcpy(n, host, sizeof host, cudaMemcpyHostToDevice);
  if (argc > 1) {
    decide<<<1, 1>>>(12345, 1);
    return cudaDeviceSynchronize();
  }
  cudaGraphCreate(&graph, 0);
  cudaGraphConditionalHandleCreate(&a, graph, 0, cudaGraphCondAssignDefault);
  cudaGraphConditionalHandleCreate(&b, graph, 1, cudaGraphCondAssignDefault);
  cudaGraphConditionalHandleCreate(&c, graph);
  conditional(graph, nullptr, 0, cudaGraphCondTypeIf, 1, &none);
  conditional(graph, nullptr, a, cudaGraphCondTypeWhile, 2, &none);
  auto first = conditional(graph, nullptr, a, cudaGraphCondTypeIf, 2, &either);
  kernel(either[0], nullptr, &count, n, 1000);
  kernel(either[1], nullptr, &count, n, 1);
  auto second = conditional(graph, first, b, cudaGraphCondTypeWhile, 1, &loop);
  auto body = kernel(loop[0], nullptr, &count, n + 1, 1);
  kernel(loop[0], body, &countdown, b, n + 2);
  auto third = kernel(graph, second, &decide, c, 2u);
  conditional(graph, third, c, cudaGraphCondTypeSwitch, 3, &one);
  for (int i = 0; i < 3; ++i) kernel(one[i], nullptr, &count, n, 10 * i);
  cudaGetLastError();
  cudaGraphInstantiate(&exec, graph, 0);
  cudaGraphLaunch(exec, 0);
  cudaGraphExecDestroy(exec);
  cudaGraphDestroy(graph);
  cudaMemcpy(host, n, sizeof host, cudaMemcpyDeviceToHost);
  std::printf("%d %d %d, %s\n", host[0], host[1], host[2], cudaGetErrorName(cudaGetLastError()));
  return 0;
}
