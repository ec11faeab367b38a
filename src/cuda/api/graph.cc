// Graphs as wholes: making, copying and destroying them, their edges, instantiation and launch.
#include "cuda/runtime/graph.h"

#include <algorithm>

#include "cuda/abi/graph_types.h"
#include "cuda/api/entry.h"
#include "cuda/api/graph_nodes.h"
#include "cuda/runtime/live.h"

namespace quern::cuda {
namespace {

Error cudaGraphCreate(Graph** out, unsigned flags) {
  return entry([&] {
    if (!out || flags) return Error::kInvalidValue;
    *out = Live<Graph>::all().add(std::make_shared<Graph>());
    return Error::kSuccess;
  });
}

Error cudaGraphDestroy(Graph* handle) {
  return entry([&] {
    auto graph = Live<Graph>::all().find(handle);
    if (!graph) return Error::kInvalidValue;
    for (auto& [function, data] : graph->at_end) function(data);
    forget_children(*graph);
    Live<Graph>::all().remove(handle);
    return Error::kSuccess;
  });
}

Error cudaGraphClone(Graph** out, Graph* handle) {
  return entry([&] {
    auto graph = Live<Graph>::all().find(handle);
    if (!graph || !out) return Error::kInvalidValue;
    *out = Live<Graph>::all().add(graph->copy());
    keep_children(**out);
    return Error::kSuccess;
  });
}

Error cudaGraphNodeFindInClone(Node** out, Node* node, Graph* handle) {
  return entry([&] {
    auto graph = Live<Graph>::all().find(handle);
    if (!graph || !out) return Error::kInvalidValue;
    for (const auto& n : graph->nodes) {
      if (n->origin == node) return *out = n.get(), Error::kSuccess;
    }
    return Error::kInvalidValue;
  });
}

// As many as fit go to `out`, where it is given; `count` becomes how many went there, or how many there are.
template <class T>
Error give(const std::vector<T>& all, T* out, size_t* count) {
  if (!count) return Error::kInvalidValue;
  if (!out) return *count = all.size(), Error::kSuccess;
  size_t fit = std::min(*count, all.size());
  std::ranges::copy_n(all.begin(), static_cast<std::ptrdiff_t>(fit), out);
  std::fill(out + fit, out + *count, T{});
  *count = fit;
  return Error::kSuccess;
}

Error cudaGraphGetNodes(Graph* handle, Node** out, size_t* count) {
  return entry([&] {
    auto graph = Live<Graph>::all().find(handle);
    if (!graph) return Error::kInvalidValue;
    std::vector<Node*> all;
    for (const auto& n : graph->nodes) all.push_back(n.get());
    return give(all, out, count);
  });
}

Error cudaGraphGetRootNodes(Graph* handle, Node** out, size_t* count) {
  return entry([&] {
    auto graph = Live<Graph>::all().find(handle);
    if (!graph) return Error::kInvalidValue;
    std::vector<Node*> all;
    for (const auto& n : graph->nodes) {
      if (n->after.empty()) all.push_back(n.get());
    }
    return give(all, out, count);
  });
}

Error edges(Graph* handle, Node** from, Node** to, EdgeData* data, size_t* count) {
  return entry([&] {
    auto graph = Live<Graph>::all().find(handle);
    if (!graph || !count || !from != !to) return Error::kInvalidValue;
    std::vector<Node*> first, second;
    for (const auto& n : graph->nodes) {
      for (Node* before : n->after) first.push_back(before), second.push_back(n.get());
    }
    size_t room = *count;
    if (Error e = give(first, from, count); e != Error::kSuccess) return e;
    if (data && from) std::fill_n(data, *count, EdgeData{});
    return give(second, to, from ? &room : count);
  });
}

Error dependencies(Node* node, Node** out, EdgeData* data, size_t* count) {
  return entry([&] {
    if (!graph_of(node)) return Error::kInvalidValue;
    Error e = give(node->after, out, count);
    if (e == Error::kSuccess && data && out) std::fill_n(data, *count, EdgeData{});
    return e;
  });
}

Error dependents(Node* node, Node** out, EdgeData* data, size_t* count) {
  return entry([&] {
    auto graph = graph_of(node);
    if (!graph) return Error::kInvalidValue;
    Error e = give(graph->dependents(node), out, count);
    if (e == Error::kSuccess && data && out) std::fill_n(data, *count, EdgeData{});
    return e;
  });
}

Error add_edges(Graph* handle, Node* const* from, Node* const* to, const EdgeData*, size_t count) {
  return entry([&] {
    auto graph = Live<Graph>::all().find(handle);
    if (!graph || (count && (!from || !to))) return Error::kInvalidValue;
    for (size_t i = 0; i < count; ++i) {
      bool known = graph->has(from[i]) && graph->has(to[i]) && from[i] != to[i];
      if (!known || std::ranges::find(to[i]->after, from[i]) != to[i]->after.end()) return Error::kInvalidValue;
      to[i]->after.push_back(from[i]);
    }
    return Error::kSuccess;
  });
}

Error remove_edges(Graph* handle, Node* const* from, Node* const* to, const EdgeData*, size_t count) {
  return entry([&] {
    auto graph = Live<Graph>::all().find(handle);
    if (!graph || (count && (!from || !to))) return Error::kInvalidValue;
    for (size_t i = 0; i < count; ++i) {
      if (!graph->has(to[i]) || !std::erase(to[i]->after, from[i])) return Error::kInvalidValue;
    }
    return Error::kSuccess;
  });
}

// CUDA 12 has the functions without data for edges too.
Error edges_12(Graph* g, Node** from, Node** to, size_t* count) { return edges(g, from, to, nullptr, count); }
Error dependencies_12(Node* n, Node** out, size_t* count) { return dependencies(n, out, nullptr, count); }
Error dependents_12(Node* n, Node** out, size_t* count) { return dependents(n, out, nullptr, count); }
Error add_edges_12(Graph* g, Node* const* from, Node* const* to, size_t count) {
  return add_edges(g, from, to, nullptr, count);
}
Error remove_edges_12(Graph* g, Node* const* from, Node* const* to, size_t count) {
  return remove_edges(g, from, to, nullptr, count);
}

Error cudaGraphDestroyNode(Node* node) {
  return entry([&] {
    auto graph = graph_of(node);
    if (!graph) return Error::kInvalidValue;
    graph->remove(node);
    return Error::kSuccess;
  });
}

Error cudaGraphInstantiate(GraphExec** out, Graph* handle, unsigned long long flags) {
  return entry([&] {
    auto graph = Live<Graph>::all().find(handle);
    if (!graph || !out) return Error::kInvalidValue;
    if (!graph->nodes.empty() && graph->order().empty()) return Error::kInvalidValue;  // a circle
    auto exec = std::make_shared<GraphExec>();
    exec->graph = graph->copy();
    exec->flags = flags;
    exec->device = thread_state().device;
    *out = Live<GraphExec>::all().add(std::move(exec));
    return Error::kSuccess;
  });
}

Error cudaGraphInstantiateWithFlags(GraphExec** out, Graph* handle, unsigned long long flags) {
  return cudaGraphInstantiate(out, handle, flags);
}

Error cudaGraphInstantiateWithParams(GraphExec** out, Graph* handle, InstantiateParams* params) {
  if (!params) return remember(Error::kInvalidValue);
  Error e = cudaGraphInstantiate(out, handle, params->flags);
  params->error_node = nullptr;
  params->result = e == Error::kSuccess ? 0 : 2;  // cudaGraphInstantiateInvalidStructure
  return e;
}

Error cudaGraphExecDestroy(GraphExec* handle) {
  return entry([&] { return Live<GraphExec>::all().remove(handle) ? Error::kSuccess : Error::kInvalidValue; });
}

Error cudaGraphExecGetFlags(GraphExec* handle, unsigned long long* out) {
  return entry([&] {
    auto exec = Live<GraphExec>::all().find(handle);
    if (!exec || !out) return Error::kInvalidValue;
    *out = exec->flags;
    return Error::kSuccess;
  });
}

Error cudaGraphLaunch(GraphExec* handle, Stream* stream) {
  return open_entry([&] {
    std::shared_ptr<GraphExec> exec;
    {
      Lock lock(Process::get().mutex);
      exec = Live<GraphExec>::all().find(handle);
    }
    return exec ? submit(stream, ChildGraph{exec->graph}) : Error::kInvalidValue;
  });
}

Error cudaGraphUpload(GraphExec* handle, Stream* stream) {
  return entry([&] {
    if (!find_stream(stream)) return Error::kInvalidResourceHandle;
    return Live<GraphExec>::all().find(handle) ? Error::kSuccess : Error::kInvalidValue;
  });
}

UpdateResult update(GraphExec& exec, const Graph& graph, UpdateResultInfo& info) {
  exec.own();
  auto old_order = exec.graph->order(), new_order = graph.order();
  if (old_order.size() != new_order.size()) return UpdateResult::kTopologyChanged;
  for (size_t i = 0; i < new_order.size(); ++i) {
    Node *mine = old_order[i], *from = new_order[i];
    info.node = mine->origin;
    info.from_node = from;
    if (mine->after.size() != from->after.size()) return UpdateResult::kTopologyChanged;
    if (mine->operation.index() != from->operation.index()) return UpdateResult::kNodeTypeChanged;
  }
  for (size_t i = 0; i < new_order.size(); ++i) {
    old_order[i]->operation = new_order[i]->operation;
    copy_inner_graphs(old_order[i]->operation);
  }
  info.node = info.from_node = nullptr;
  return UpdateResult::kSuccess;
}

Error cudaGraphExecUpdate(GraphExec* handle, Graph* graph_handle, UpdateResultInfo* out) {
  return entry([&] {
    auto exec = Live<GraphExec>::all().find(handle);
    auto graph = Live<Graph>::all().find(graph_handle);
    if (!exec || !graph || !out) return Error::kInvalidValue;
    *out = {};
    out->result = update(*exec, *graph, *out);
    return out->result == UpdateResult::kSuccess ? Error::kSuccess : Error::kGraphExecUpdateFailure;
  });
}

Error set_enabled(GraphExec* handle, Node* node, unsigned enabled) {
  return entry([&] {
    auto exec = Live<GraphExec>::all().find(handle);
    Node* mine = exec ? exec->find(node) : nullptr;
    if (!mine) return Error::kInvalidValue;
    mine->enabled = enabled != 0;
    return Error::kSuccess;
  });
}

Error get_enabled(GraphExec* handle, Node* node, unsigned* out) {
  return entry([&] {
    auto exec = Live<GraphExec>::all().find(handle);
    Node* mine = exec ? exec->find(node) : nullptr;
    if (!mine || !out) return Error::kInvalidValue;
    *out = mine->enabled;
    return Error::kSuccess;
  });
}

}  // namespace

std::span<const Export> graph_exports() {
  static const Export rows[] = {
      QUERN_EXPORT(cudaGraphCreate),
      QUERN_EXPORT(cudaGraphDestroy),
      QUERN_EXPORT(cudaGraphClone),
      QUERN_EXPORT(cudaGraphNodeFindInClone),
      QUERN_EXPORT(cudaGraphGetNodes),
      QUERN_EXPORT(cudaGraphGetRootNodes),
      QUERN_EXPORT_AS(cudaGraphGetEdges, edges, 13),
      QUERN_EXPORT_AS(cudaGraphGetEdges, edges_12, 12),
      QUERN_EXPORT_AS(cudaGraphGetEdges_v2, edges, 12),
      QUERN_EXPORT_AS(cudaGraphNodeGetDependencies, dependencies, 13),
      QUERN_EXPORT_AS(cudaGraphNodeGetDependencies, dependencies_12, 12),
      QUERN_EXPORT_AS(cudaGraphNodeGetDependencies_v2, dependencies, 12),
      QUERN_EXPORT_AS(cudaGraphNodeGetDependentNodes, dependents, 13),
      QUERN_EXPORT_AS(cudaGraphNodeGetDependentNodes, dependents_12, 12),
      QUERN_EXPORT_AS(cudaGraphNodeGetDependentNodes_v2, dependents, 12),
      QUERN_EXPORT_AS(cudaGraphAddDependencies, add_edges, 13),
      QUERN_EXPORT_AS(cudaGraphAddDependencies, add_edges_12, 12),
      QUERN_EXPORT_AS(cudaGraphAddDependencies_v2, add_edges, 12),
      QUERN_EXPORT_AS(cudaGraphRemoveDependencies, remove_edges, 13),
      QUERN_EXPORT_AS(cudaGraphRemoveDependencies, remove_edges_12, 12),
      QUERN_EXPORT_AS(cudaGraphRemoveDependencies_v2, remove_edges, 12),
      QUERN_EXPORT(cudaGraphDestroyNode),
      QUERN_EXPORT(cudaGraphInstantiate),
      QUERN_EXPORT(cudaGraphInstantiateWithFlags),
      QUERN_EXPORT_STREAM(cudaGraphInstantiateWithParams),
      QUERN_EXPORT(cudaGraphExecDestroy),
      QUERN_EXPORT(cudaGraphExecGetFlags),
      QUERN_EXPORT_STREAM(cudaGraphLaunch),
      QUERN_EXPORT_STREAM(cudaGraphUpload),
      QUERN_EXPORT(cudaGraphExecUpdate),
      QUERN_EXPORT_AS(cudaGraphNodeSetEnabled, set_enabled, 0),
      QUERN_EXPORT_AS(cudaGraphNodeGetEnabled, get_enabled, 0),
  };
  return rows;
}

}  // namespace quern::cuda
