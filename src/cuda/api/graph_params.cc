// The parameters of nodes: asked for, and changed in graphs and in executable ones.
#include "cuda/api/entry.h"
#include "cuda/api/graph_nodes.h"
#include "cuda/runtime/copy.h"
#include "cuda/runtime/live.h"

namespace quern::cuda {
namespace {

template <class T, class F>
Error ask(Node* node, F give) {
  return entry([&] {
    if (!graph_of(node)) return Error::kInvalidValue;
    auto* operation = std::get_if<T>(&node->operation);
    return operation ? give(*operation) : Error::kInvalidValue;
  });
}

// A node's operation may become another of the same kind.
template <class P>
Error set(Node* node, P* params) {
  if (!node || !params) return Error::kInvalidValue;
  Operation operation;
  if (Error e = operation_of(*params, operation); e != Error::kSuccess) return e;
  if (operation.index() != node->operation.index()) return Error::kInvalidValue;
  node->operation = std::move(operation);
  return Error::kSuccess;
}

template <class P>
Error set_in_graph(Node* node, P* params) {
  return entry([&] { return graph_of(node) ? set(node, params) : Error::kInvalidValue; });
}

template <class P>
Error set_in_exec(GraphExec* handle, Node* node, P* params) {
  return entry([&] {
    auto exec = Live<GraphExec>::all().find(handle);
    return exec ? set(exec->find(node), params) : Error::kInvalidValue;
  });
}

Error cudaGraphNodeGetType(Node* node, NodeType* out) {
  return entry([&] {
    if (!graph_of(node) || !out) return Error::kInvalidValue;
    struct TypeOf {
      NodeType operator()(const Nothing&) { return NodeType::kEmpty; }
      NodeType operator()(const KernelCall&) { return NodeType::kKernel; }
      NodeType operator()(const Copy3D&) { return NodeType::kMemcpy; }
      NodeType operator()(const MemsetParams&) { return NodeType::kMemset; }
      NodeType operator()(const HostCall&) { return NodeType::kHost; }
      NodeType operator()(const CallbackCall&) { return NodeType::kHost; }
      NodeType operator()(const EventRecord&) { return NodeType::kEventRecord; }
      NodeType operator()(const EventWait&) { return NodeType::kWaitEvent; }
      NodeType operator()(const AllocCall&) { return NodeType::kMemAlloc; }
      NodeType operator()(const FreeCall&) { return NodeType::kMemFree; }
      NodeType operator()(const ChildGraph&) { return NodeType::kGraph; }
      NodeType operator()(const Conditional&) { return NodeType::kConditional; }
      NodeType operator()(const LibraryCall&) { return NodeType::kKernel; }
      NodeType operator()(const ReleaseCall&) { return NodeType::kMemFree; }
    };
    *out = std::visit(TypeOf{}, node->operation);
    return Error::kSuccess;
  });
}

Error cudaGraphKernelNodeGetParams(Node* node, KernelNodeParams* out) {
  return ask<KernelCall>(node, [&](KernelCall& call) {
    if (!out) return Error::kInvalidValue;
    // Pointers to the arguments, which live as long as the node.
    call.pointers.clear();
    for (int64_t offset : call.offsets) call.pointers.push_back(call.arguments.data() + offset);
    *out = {const_cast<void*>(call.function),
            call.grid,
            call.block,
            static_cast<uint32_t>(call.shared_bytes),
            call.pointers.data(),
            nullptr};
    return Error::kSuccess;
  });
}

template <class T>
Error plain(Node* node, T* out) {
  return ask<T>(node, [&](const T& operation) {
    if (!out) return Error::kInvalidValue;
    *out = operation;
    return Error::kSuccess;
  });
}

Error cudaGraphMemcpyNodeGetParams(Node* node, Copy3D* out) { return plain(node, out); }
Error cudaGraphMemsetNodeGetParams(Node* node, MemsetParams* out) { return plain(node, out); }

Error cudaGraphHostNodeGetParams(Node* node, HostNodeParams* out) {
  return ask<HostCall>(node, [&](const HostCall& call) {
    if (!out) return Error::kInvalidValue;
    *out = {call.function, call.data};
    return Error::kSuccess;
  });
}

Error cudaGraphMemAllocNodeGetParams(Node* node, AllocNodeParams* out) {
  return ask<AllocCall>(node, [&](const AllocCall& call) {
    if (!out) return Error::kInvalidValue;
    *out = {call.props, nullptr, 0, call.bytes, call.address};
    return Error::kSuccess;
  });
}

Error cudaGraphMemFreeNodeGetParams(Node* node, void** out) {
  return ask<FreeCall>(node, [&](const FreeCall& call) {
    if (!out) return Error::kInvalidValue;
    *out = call.address;
    return Error::kSuccess;
  });
}

Error cudaGraphChildGraphNodeGetGraph(Node* node, Graph** out) {
  return ask<ChildGraph>(node, [&](const ChildGraph& child) {
    if (!out) return Error::kInvalidValue;
    *out = child.graph.get();
    return Error::kSuccess;
  });
}

template <class T>
Error get_event(Node* node, Event** out) {
  return ask<T>(node, [&](const T& operation) {
    if (!out) return Error::kInvalidValue;
    *out = operation.event.get();
    return Error::kSuccess;
  });
}

template <class T>
Error set_event(Node* node, Event* handle) {
  auto event = Live<Event>::all().find(handle);
  auto* operation = node ? std::get_if<T>(&node->operation) : nullptr;
  if (!event || !operation) return Error::kInvalidValue;
  operation->event = std::move(event);
  return Error::kSuccess;
}

template <class T>
Error set_event_in_graph(Node* node, Event* event) {
  return entry([&] { return graph_of(node) ? set_event<T>(node, event) : Error::kInvalidValue; });
}

template <class T>
Error set_event_in_exec(GraphExec* handle, Node* node, Event* event) {
  return entry([&] {
    auto exec = Live<GraphExec>::all().find(handle);
    return exec ? set_event<T>(exec->find(node), event) : Error::kInvalidValue;
  });
}

Error copy_1d_in_graph(Node* node, void* to, const void* from, size_t bytes, CopyKind kind) {
  Copy3D copy = linear_copy(to, from, bytes, kind);
  return set_in_graph(node, &copy);
}

Error copy_1d_in_exec(GraphExec* exec, Node* node, void* to, const void* from, size_t bytes, CopyKind kind) {
  Copy3D copy = linear_copy(to, from, bytes, kind);
  return set_in_exec(exec, node, &copy);
}

Error cudaGraphExecChildGraphNodeSetParams(GraphExec* handle, Node* node, Graph* graph_handle) {
  return entry([&] {
    auto exec = Live<GraphExec>::all().find(handle);
    auto graph = Live<Graph>::all().find(graph_handle);
    Node* mine = exec ? exec->find(node) : nullptr;
    auto* child = mine ? std::get_if<ChildGraph>(&mine->operation) : nullptr;
    if (!child || !graph) return Error::kInvalidValue;
    child->graph = graph->copy();
    return Error::kSuccess;
  });
}

// What the attributes of kernel nodes steer has no effect here, but for clusters and cooperation.
Error cudaGraphKernelNodeSetAttribute(Node* node, LaunchAttributeId id, const LaunchAttributeValue* value) {
  return ask<KernelCall>(node, [&](KernelCall& call) {
    if (!value) return Error::kInvalidValue;
    if (id == LaunchAttributeId::kCooperative) call.cooperative = value->cooperative != 0;
    if (id == LaunchAttributeId::kClusterDimension)
      call.cluster = {value->cluster.x, value->cluster.y, value->cluster.z};
    return Error::kSuccess;
  });
}

Error cudaGraphKernelNodeGetAttribute(Node* node, LaunchAttributeId id, LaunchAttributeValue* value) {
  return ask<KernelCall>(node, [&](const KernelCall& call) {
    if (!value) return Error::kInvalidValue;
    *value = {};
    if (id == LaunchAttributeId::kCooperative) value->cooperative = call.cooperative;
    if (id == LaunchAttributeId::kClusterDimension)
      value->cluster = {call.cluster[0], call.cluster[1], call.cluster[2]};
    return Error::kSuccess;
  });
}

Error cudaGraphKernelNodeCopyAttributes(Node* to, Node* from) {
  return ask<KernelCall>(to, [&](KernelCall& call) {
    auto* other = graph_of(from) ? std::get_if<KernelCall>(&from->operation) : nullptr;
    if (!other) return Error::kInvalidValue;
    call.cooperative = other->cooperative;
    call.cluster = other->cluster;
    return Error::kSuccess;
  });
}

}  // namespace

std::span<const Export> graph_param_exports() {
  static const Export rows[] = {
      QUERN_EXPORT(cudaGraphNodeGetType),
      QUERN_EXPORT(cudaGraphKernelNodeGetParams),
      QUERN_EXPORT_AS(cudaGraphKernelNodeSetParams, set_in_graph<const KernelNodeParams>, 0),
      QUERN_EXPORT_AS(cudaGraphExecKernelNodeSetParams, set_in_exec<const KernelNodeParams>, 0),
      QUERN_EXPORT(cudaGraphMemcpyNodeGetParams),
      QUERN_EXPORT_AS(cudaGraphMemcpyNodeSetParams, set_in_graph<const Copy3D>, 0),
      QUERN_EXPORT_AS(cudaGraphExecMemcpyNodeSetParams, set_in_exec<const Copy3D>, 0),
      QUERN_EXPORT_AS(cudaGraphMemcpyNodeSetParams1D, copy_1d_in_graph, 0),
      QUERN_EXPORT_AS(cudaGraphExecMemcpyNodeSetParams1D, copy_1d_in_exec, 0),
      QUERN_EXPORT(cudaGraphMemsetNodeGetParams),
      QUERN_EXPORT_AS(cudaGraphMemsetNodeSetParams, set_in_graph<const MemsetParams>, 0),
      QUERN_EXPORT_AS(cudaGraphExecMemsetNodeSetParams, set_in_exec<const MemsetParams>, 0),
      QUERN_EXPORT(cudaGraphHostNodeGetParams),
      QUERN_EXPORT_AS(cudaGraphHostNodeSetParams, set_in_graph<const HostNodeParams>, 0),
      QUERN_EXPORT_AS(cudaGraphExecHostNodeSetParams, set_in_exec<const HostNodeParams>, 0),
      QUERN_EXPORT_AS(cudaGraphNodeSetParams, set_in_graph<GraphNodeParams>, 0),
      QUERN_EXPORT_AS(cudaGraphExecNodeSetParams, set_in_exec<GraphNodeParams>, 0),
      QUERN_EXPORT(cudaGraphMemAllocNodeGetParams),
      QUERN_EXPORT(cudaGraphMemFreeNodeGetParams),
      QUERN_EXPORT(cudaGraphChildGraphNodeGetGraph),
      QUERN_EXPORT(cudaGraphExecChildGraphNodeSetParams),
      QUERN_EXPORT_AS(cudaGraphEventRecordNodeGetEvent, get_event<EventRecord>, 0),
      QUERN_EXPORT_AS(cudaGraphEventRecordNodeSetEvent, set_event_in_graph<EventRecord>, 0),
      QUERN_EXPORT_AS(cudaGraphExecEventRecordNodeSetEvent, set_event_in_exec<EventRecord>, 0),
      QUERN_EXPORT_AS(cudaGraphEventWaitNodeGetEvent, get_event<EventWait>, 0),
      QUERN_EXPORT_AS(cudaGraphEventWaitNodeSetEvent, set_event_in_graph<EventWait>, 0),
      QUERN_EXPORT_AS(cudaGraphExecEventWaitNodeSetEvent, set_event_in_exec<EventWait>, 0),
      QUERN_EXPORT(cudaGraphKernelNodeSetAttribute),
      QUERN_EXPORT(cudaGraphKernelNodeGetAttribute),
      QUERN_EXPORT(cudaGraphKernelNodeCopyAttributes),
  };
  return rows;
}

}  // namespace quern::cuda
