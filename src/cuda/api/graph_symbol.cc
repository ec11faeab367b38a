// Nodes of graphs that copy to and from variables.
#include "cuda/api/entry.h"
#include "cuda/api/graph_nodes.h"
#include "cuda/runtime/live.h"

namespace quern::cuda {
namespace {

struct Place {
  const void* symbol;
  void* outside;
  size_t bytes, offset;
  CopyKind kind;
  bool in;
};

Error copy_of(const Place& p, Copy3D& out) {
  return symbol_copy(p.symbol, p.outside, p.bytes, p.offset, p.kind, p.in, out);
}

Error add(Node** out, Graph* handle, Node* const* after, size_t count, const Place& place) {
  return entry([&] {
    auto graph = Live<Graph>::all().find(handle);
    if (!graph || !out || (count && !after)) return Error::kInvalidValue;
    Copy3D copy;
    if (Error e = copy_of(place, copy); e != Error::kSuccess) return e;
    *out = graph->add(copy, std::vector<Node*>(after, after + count));
    return *out ? Error::kSuccess : Error::kInvalidValue;
  });
}

Error set(Node* node, const Place& place) {
  auto* copy = node ? std::get_if<Copy3D>(&node->operation) : nullptr;
  return copy ? copy_of(place, *copy) : Error::kInvalidValue;
}

Error set_in_graph(Node* node, const Place& place) {
  return entry([&] { return graph_of(node) ? set(node, place) : Error::kInvalidValue; });
}

Error set_in_exec(GraphExec* handle, Node* node, const Place& place) {
  return entry([&] {
    auto exec = Live<GraphExec>::all().find(handle);
    return exec ? set(exec->find(node), place) : Error::kInvalidValue;
  });
}

Error cudaGraphAddMemcpyNodeToSymbol(Node** out, Graph* graph, Node* const* after, size_t count, const void* symbol,
                                     const void* from, size_t bytes, size_t offset, CopyKind kind) {
  return add(out, graph, after, count, {symbol, const_cast<void*>(from), bytes, offset, kind, true});
}
Error cudaGraphAddMemcpyNodeFromSymbol(Node** out, Graph* graph, Node* const* after, size_t count, void* to,
                                       const void* symbol, size_t bytes, size_t offset, CopyKind kind) {
  return add(out, graph, after, count, {symbol, to, bytes, offset, kind, false});
}
Error cudaGraphMemcpyNodeSetParamsToSymbol(Node* node, const void* symbol, const void* from, size_t bytes,
                                           size_t offset, CopyKind kind) {
  return set_in_graph(node, {symbol, const_cast<void*>(from), bytes, offset, kind, true});
}
Error cudaGraphMemcpyNodeSetParamsFromSymbol(Node* node, void* to, const void* symbol, size_t bytes, size_t offset,
                                             CopyKind kind) {
  return set_in_graph(node, {symbol, to, bytes, offset, kind, false});
}
Error cudaGraphExecMemcpyNodeSetParamsToSymbol(GraphExec* exec, Node* node, const void* symbol, const void* from,
                                               size_t bytes, size_t offset, CopyKind kind) {
  return set_in_exec(exec, node, {symbol, const_cast<void*>(from), bytes, offset, kind, true});
}
Error cudaGraphExecMemcpyNodeSetParamsFromSymbol(GraphExec* exec, Node* node, void* to, const void* symbol,
                                                 size_t bytes, size_t offset, CopyKind kind) {
  return set_in_exec(exec, node, {symbol, to, bytes, offset, kind, false});
}

}  // namespace

std::span<const Export> graph_symbol_exports() {
  static const Export rows[] = {
      QUERN_EXPORT(cudaGraphAddMemcpyNodeToSymbol),           QUERN_EXPORT(cudaGraphAddMemcpyNodeFromSymbol),
      QUERN_EXPORT(cudaGraphMemcpyNodeSetParamsToSymbol),     QUERN_EXPORT(cudaGraphMemcpyNodeSetParamsFromSymbol),
      QUERN_EXPORT(cudaGraphExecMemcpyNodeSetParamsToSymbol), QUERN_EXPORT(cudaGraphExecMemcpyNodeSetParamsFromSymbol),
  };
  return rows;
}

}  // namespace quern::cuda
