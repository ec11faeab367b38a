#include "cuda/api/graph_nodes.h"

#include "cuda/api/entry.h"
#include "cuda/runtime/copy.h"
#include "cuda/runtime/device_memory.h"
#include "cuda/runtime/launch.h"
#include "cuda/runtime/live.h"
#include "cuda/runtime/registry.h"

namespace quern::cuda {

void keep_children(Graph& graph) {
  for (auto& n : graph.nodes) keep_children(n->operation);
}

void keep_children(Operation& operation) {
  for (auto* inner : inner_graphs(operation)) {
    Live<Graph>::all().add(*inner);
    keep_children(**inner);
  }
}

void forget_children(Graph& graph) {
  for (auto& n : graph.nodes) {
    for (auto* inner : inner_graphs(n->operation)) {
      forget_children(**inner);
      Live<Graph>::all().remove(inner->get());
    }
  }
}

Error operation_of(const KernelNodeParams& params, Operation& out) {
  LaunchRequest r;
  r.function = params.function;
  r.grid = params.grid;
  r.block = params.block;
  r.shared_bytes = params.shared_bytes;
  r.arguments = params.arguments;
  if (params.extra) {
    if (Error e = read_extra(params.extra, r); e != Error::kSuccess) return e;
  }
  KernelCall call;
  Error e = prepare(r, thread_state().device, call);
  if (e == Error::kSuccess) e = make_ready(call, thread_state().device);
  out = std::move(call);
  return e;
}

Error operation_of(const HostNodeParams& p, Operation& out) {
  out = HostCall{p.function, p.data};
  return p.function ? Error::kSuccess : Error::kInvalidValue;
}

Error operation_of(const Copy3D& p, Operation& out) {
  out = p;
  return check_copy(p);
}

Error operation_of(const MemsetParams& p, Operation& out) {
  out = p;
  return check_fill(p);
}

namespace {

Error child_of(Graph* handle, Operation& out) {
  auto graph = Live<Graph>::all().find(handle);
  if (!graph) return Error::kInvalidValue;
  out = ChildGraph{graph->copy()};
  return Error::kSuccess;
}

Error operation_of(AllocNodeParams& p, Operation& out) {
  if (!p.bytes || p.bytes > INT64_MAX) return Error::kInvalidValue;
  p.pointer = allocate(static_cast<int64_t>(p.bytes), vgpu::Holds::kGlobal, kNameAsync, thread_state().device);
  if (!p.pointer) return Error::kMemoryAllocation;
  out = AllocCall{p.props, p.bytes, p.pointer};
  return Error::kSuccess;
}

Error operation_of(ConditionalNodeParams& p, Operation& out) {
  Conditional made;
  Live<Graph>::all().each([&](const Graph& g) {
    for (const auto& c : g.conditions) {
      if (c->address == p.handle) made.condition = c;
    }
  });
  bool fits = p.size >= 1 && (p.kind == ConditionalKind::kSwitch || (p.kind == ConditionalKind::kIf && p.size <= 2) ||
                              (p.kind == ConditionalKind::kWhile && p.size == 1));
  constexpr unsigned kMostBodies = 1 << 16;
  if (!made.condition || !fits || p.size > kMostBodies) return Error::kInvalidValue;
  made.kind = p.kind;
  made.handles = std::make_shared<std::vector<Graph*>>();
  for (unsigned i = 0; i < p.size; ++i) {
    made.bodies.push_back(std::make_shared<Graph>());
    made.handles->push_back(made.bodies.back().get());
  }
  p.bodies = made.handles->data();
  out = std::move(made);
  return Error::kSuccess;
}

Error cudaGraphConditionalHandleCreate(uint64_t* out, Graph* handle, unsigned at_launch, unsigned flags) {
  return entry([&] {
    constexpr unsigned kAssignDefault = 1;
    auto graph = Live<Graph>::all().find(handle);
    if (!graph || !out || flags > kAssignDefault) return Error::kInvalidValue;
    constexpr int64_t kWord = 4;
    void* word = allocate(kWord, vgpu::Holds::kGlobal, "cudaGraphConditionalHandleCreate", thread_state().device);
    if (!word) return Error::kMemoryAllocation;
    *out = reinterpret_cast<uint64_t>(word);
    Process::get().memory->mark_written(*out, kWord);
    graph->conditions.push_back(std::make_shared<Condition>(*out, at_launch, flags == kAssignDefault));
    return Error::kSuccess;
  });
}

Error event_of(Event* handle, bool wait, Operation& out) {
  auto event = Live<Event>::all().find(handle);
  if (!event) return Error::kInvalidResourceHandle;
  out = wait ? Operation(EventWait{event, true}) : Operation(EventRecord{event, true});
  return Error::kSuccess;
}

// A node behind those that it depends on.
template <class F>
Error add(Node** out, Graph* handle, Node* const* after, size_t count, F make) {
  return entry([&] {
    auto graph = Live<Graph>::all().find(handle);
    if (!graph || !out || (count && !after)) return Error::kInvalidValue;
    Operation operation;
    if (Error e = make(operation); e != Error::kSuccess) return e;
    Node* node = graph->add(std::move(operation), std::vector<Node*>(after, after + count));
    if (!node) return Error::kInvalidValue;
    keep_children(node->operation);
    *out = node;
    return Error::kSuccess;
  });
}

#define QUERN_ADD_NODE(name, type)                                                             \
  Error name(Node** out, Graph* graph, Node* const* after, size_t count, const type* params) { \
    return add(out, graph, after, count, [&](Operation& operation) {                           \
      return params ? quern::cuda::operation_of(*params, operation) : Error::kInvalidValue;    \
    });                                                                                        \
  }
QUERN_ADD_NODE(cudaGraphAddKernelNode, KernelNodeParams)
QUERN_ADD_NODE(cudaGraphAddMemcpyNode, Copy3D)
QUERN_ADD_NODE(cudaGraphAddMemsetNode, MemsetParams)
QUERN_ADD_NODE(cudaGraphAddHostNode, HostNodeParams)
#undef QUERN_ADD_NODE

Error cudaGraphAddEmptyNode(Node** out, Graph* graph, Node* const* after, size_t count) {
  return add(out, graph, after, count, [](Operation&) { return Error::kSuccess; });
}

Error cudaGraphAddChildGraphNode(Node** out, Graph* graph, Node* const* after, size_t count, Graph* child) {
  return add(out, graph, after, count, [&](Operation& operation) { return child_of(child, operation); });
}

Error cudaGraphAddEventRecordNode(Node** out, Graph* graph, Node* const* after, size_t count, Event* event) {
  return add(out, graph, after, count, [&](Operation& operation) { return event_of(event, false, operation); });
}

Error cudaGraphAddEventWaitNode(Node** out, Graph* graph, Node* const* after, size_t count, Event* event) {
  return add(out, graph, after, count, [&](Operation& operation) { return event_of(event, true, operation); });
}

Error cudaGraphAddMemAllocNode(Node** out, Graph* graph, Node* const* after, size_t count, AllocNodeParams* params) {
  return add(out, graph, after, count,
             [&](Operation& operation) { return params ? operation_of(*params, operation) : Error::kInvalidValue; });
}

Error cudaGraphAddMemFreeNode(Node** out, Graph* graph, Node* const* after, size_t count, void* pointer) {
  return add(out, graph, after, count, [&](Operation& operation) {
    operation = FreeCall{pointer};
    // It may be free for now: the graph that allocates it runs before this one does.
    auto address = reinterpret_cast<uint64_t>(pointer);
    auto found = is_device_address(pointer) ? Process::get().memory->find(address) : nullptr;
    return found && found->address == address ? Error::kSuccess : Error::kInvalidValue;
  });
}

Error cudaGraphAddMemcpyNode1D(Node** out, Graph* graph, Node* const* after, size_t count, void* to, const void* from,
                               size_t bytes, CopyKind kind) {
  Copy3D copy = linear_copy(to, from, bytes, kind);
  return cudaGraphAddMemcpyNode(out, graph, after, count, &copy);
}

Error add_node(Node** out, Graph* graph, Node* const* after, const EdgeData*, size_t count, GraphNodeParams* params) {
  return add(out, graph, after, count, [&](Operation& operation) {
    return params ? quern::cuda::operation_of(*params, operation) : Error::kInvalidValue;
  });
}

Error add_node_12(Node** out, Graph* graph, Node* const* after, size_t count, GraphNodeParams* params) {
  return add_node(out, graph, after, nullptr, count, params);
}

}  // namespace

Error operation_of(GraphNodeParams& p, Operation& out) {
  switch (p.type) {
    case NodeType::kKernel: return quern::cuda::operation_of(p.kernel, out);
    case NodeType::kMemcpy: return operation_of(p.memcpy.copy, out);
    case NodeType::kMemset: return operation_of(p.memset, out);
    case NodeType::kHost: return operation_of(p.host, out);
    case NodeType::kGraph: return child_of(p.graph.graph, out);
    case NodeType::kEmpty: out = Nothing{}; return Error::kSuccess;
    case NodeType::kWaitEvent: return event_of(p.event.event, true, out);
    case NodeType::kEventRecord: return event_of(p.event.event, false, out);
    case NodeType::kMemAlloc: return operation_of(p.alloc, out);
    case NodeType::kMemFree: out = FreeCall{p.free.pointer}; return Error::kSuccess;
    case NodeType::kConditional: return operation_of(p.conditional, out);
    default: return Error::kNotSupported;
  }
}

std::span<const Export> graph_node_exports() {
  static const Export rows[] = {
      QUERN_EXPORT(cudaGraphAddKernelNode),
      QUERN_EXPORT(cudaGraphConditionalHandleCreate),
      QUERN_EXPORT(cudaGraphAddMemcpyNode),
      QUERN_EXPORT(cudaGraphAddMemcpyNode1D),
      QUERN_EXPORT(cudaGraphAddMemsetNode),
      QUERN_EXPORT(cudaGraphAddHostNode),
      QUERN_EXPORT(cudaGraphAddEmptyNode),
      QUERN_EXPORT(cudaGraphAddChildGraphNode),
      QUERN_EXPORT(cudaGraphAddEventRecordNode),
      QUERN_EXPORT(cudaGraphAddEventWaitNode),
      QUERN_EXPORT(cudaGraphAddMemAllocNode),
      QUERN_EXPORT(cudaGraphAddMemFreeNode),
      QUERN_EXPORT_AS(cudaGraphAddNode, add_node, 13),
      QUERN_EXPORT_AS(cudaGraphAddNode, add_node_12, 12),
      QUERN_EXPORT_AS(cudaGraphAddNode_v2, add_node, 12),
  };
  return rows;
}

}  // namespace quern::cuda
