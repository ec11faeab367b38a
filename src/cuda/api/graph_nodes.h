// Nodes of graphs: from the parameters that programs pass to operations, and back.
#pragma once

#include "cuda/abi/graph_types.h"
#include "cuda/runtime/graph.h"

namespace quern::cuda {

// Handles of the graphs inside a graph's nodes: programs may ask for them.
void keep_children(Graph& graph);
void keep_children(Operation& operation);
void forget_children(Graph& graph);

// A copy between memory and a variable, from a byte of it on (api/symbol.cc). kInvalidSymbol, kInvalidValue.
Error symbol_copy(const void* symbol, void* outside, size_t bytes, size_t offset, CopyKind kind, bool in, Copy3D& out);

Error operation_of(const KernelNodeParams& params, Operation& out);
Error operation_of(const Copy3D& params, Operation& out);
Error operation_of(const MemsetParams& params, Operation& out);
Error operation_of(const HostNodeParams& params, Operation& out);
Error operation_of(GraphNodeParams& params, Operation& out);

}  // namespace quern::cuda
