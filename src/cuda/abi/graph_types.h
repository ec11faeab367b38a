// What programs pass to CUDA's graph functions.
#pragma once

#include "cuda/abi/types.h"

namespace quern::cuda {

struct Graph;
struct GraphExec;
struct Node;

struct KernelNodeParams {  // cudaKernelNodeParams
  void* function;
  Dim3 grid, block;
  uint32_t shared_bytes;
  void** arguments;
  void** extra;
};

struct MemcpyNodeParams {  // cudaMemcpyNodeParams
  int flags;
  int reserved[3];
  Copy3D copy;
};

struct HostNodeParams {  // cudaHostNodeParams
  HostFunction function;
  void* data;
};

struct AllocNodeParams {  // cudaMemAllocNodeParams
  PoolProps props;
  const AccessDesc* access;
  size_t access_count;
  size_t bytes;
  void* pointer;
};

struct FreeNodeParams {  // cudaMemFreeNodeParams
  void* pointer;
};

struct ChildGraphNodeParams {  // cudaChildGraphNodeParams
  Graph* graph;
  int ownership;
};

struct EventNodeParams {  // cudaEventRecordNodeParams, cudaEventWaitNodeParams
  Event* event;
};

enum class ConditionalKind : int;

struct ConditionalNodeParams {  // cudaConditionalNodeParams
  uint64_t handle;
  ConditionalKind kind;
  unsigned size;
  Graph** bodies;
  void* context;
};

enum class NodeType : int {
  kKernel = 0,
  kMemcpy = 1,
  kMemset = 2,
  kHost = 3,
  kGraph = 4,
  kEmpty = 5,
  kWaitEvent = 6,
  kEventRecord = 7,
  kMemAlloc = 10,
  kMemFree = 11,
  kConditional = 13,
};

struct GraphNodeParams {  // cudaGraphNodeParams
  NodeType type;
  int reserved[3];
  union {
    long long size[29];
    KernelNodeParams kernel;
    MemcpyNodeParams memcpy;
    MemsetParams memset;
    HostNodeParams host;
    ChildGraphNodeParams graph;
    EventNodeParams event;
    AllocNodeParams alloc;
    FreeNodeParams free;
    ConditionalNodeParams conditional;
  };
  long long reserved2;
};

struct EdgeData {  // cudaGraphEdgeData
  unsigned char from_port, to_port, type, reserved[5];
};

enum class UpdateResult : int {
  kSuccess = 0,
  kError = 1,
  kTopologyChanged = 2,
  kNodeTypeChanged = 3,
  kFunctionChanged = 4,
  kParametersChanged = 5,
  kNotSupported = 6,
};

struct UpdateResultInfo {  // cudaGraphExecUpdateResultInfo
  UpdateResult result;
  Node* node;
  Node* from_node;
};

struct InstantiateParams {  // cudaGraphInstantiateParams
  unsigned long long flags;
  Stream* upload_stream;
  Node* error_node;
  int result;
};

}  // namespace quern::cuda
