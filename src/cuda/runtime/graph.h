// Graphs: operations and what each waits for. They come from explicit nodes or from the capture of streams; an
// executable graph is a copy that is launched, node by node in an order that respects the edges.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <vector>

#include "cuda/runtime/operation.h"

namespace quern::cuda {

struct Node {
  Graph* graph = nullptr;
  Operation operation;
  std::vector<Node*> after;  // of this graph
  Node* origin = nullptr;    // in a copy: the node that it was copied from
  bool enabled = true;
};

struct Graph {
  std::vector<std::unique_ptr<Node>> nodes;
  std::vector<std::pair<HostFunction, void*>> at_end;  // of user objects
  std::vector<std::shared_ptr<Condition>> conditions;

  // Null where a dependency is none of this graph's nodes.
  Node* add(Operation operation, const std::vector<Node*>& after);
  bool has(const Node* node) const;
  void remove(Node* node);
  // Nodes so that each comes behind those it waits for; empty where edges form a circle.
  std::vector<Node*> order() const;
  // Before which other nodes must `node` run?
  std::vector<Node*> dependents(const Node* node) const;
  std::shared_ptr<Graph> copy() const;
};

struct GraphExec {
  std::shared_ptr<Graph> graph;  // a copy
  unsigned long long flags = 0;
  int device = 0;
  // Before a change: launches that are under way keep what they have.
  void own();
  Node* find(const Node* origin);  // the copy of a node, that may be changed; null
};

enum class CaptureStatus : int { kNone = 0, kActive = 1, kInvalidated = 2 };

struct Capture {
  uint64_t id = 0;
  std::shared_ptr<Graph> graph;
  Stream* origin = nullptr;
  int mode = 0;  // 0 global, 1 of the thread, 2 relaxed
  bool invalid = false;
  std::set<Stream*> members;
  std::vector<Node*> left;  // the last nodes of streams that were destroyed meanwhile
};

// The graphs inside of an operation.
std::vector<std::shared_ptr<Graph>*> inner_graphs(Operation& operation);
// In their place copies of them, for what is a copy of the node.
void copy_inner_graphs(Operation& operation);

// The graph of a node that a program names; null: no such node.
std::shared_ptr<Graph> graph_of(const Node* node);

Error begin_capture(Stream* handle, std::shared_ptr<Graph> graph, std::vector<Node*> after, int mode);
Error end_capture(Stream* handle, std::shared_ptr<Graph>& out);
// Whether a call that would wait for the device is forbidden, since a stream is being captured.
bool capture_forbids_waiting();

}  // namespace quern::cuda
