#include "cuda/runtime/graph.h"

#include <algorithm>
#include <atomic>
#include <map>

#include "cuda/runtime/device_memory.h"
#include "cuda/runtime/live.h"
#include "cuda/runtime/process.h"
#include "cuda/runtime/stream.h"

namespace quern::cuda {
namespace {

std::atomic<uint64_t> capture_count = 0;

// All nodes that must have run before these have, and these.
std::set<const Node*> history(const std::vector<Node*>& nodes) {
  std::set<const Node*> out;
  std::vector<const Node*> open(nodes.begin(), nodes.end());
  while (!open.empty()) {
    const Node* n = open.back();
    open.pop_back();
    if (!out.insert(n).second) continue;
    open.insert(open.end(), n->after.begin(), n->after.end());
  }
  return out;
}

}  // namespace

bool Graph::has(const Node* node) const {
  return std::ranges::any_of(nodes, [&](const auto& n) { return n.get() == node; });
}

Node* Graph::add(Operation operation, const std::vector<Node*>& after) {
  if (!std::ranges::all_of(after, [&](Node* n) { return has(n); })) return nullptr;
  auto node = std::make_unique<Node>();
  node->graph = this;
  node->operation = std::move(operation);
  node->after = after;
  nodes.push_back(std::move(node));
  return nodes.back().get();
}

void Graph::remove(Node* node) {
  for (auto& n : nodes) std::erase(n->after, node);
  std::erase_if(nodes, [&](const auto& n) { return n.get() == node; });
}

std::vector<Node*> Graph::order() const {
  std::map<const Node*, size_t> waits;
  std::map<const Node*, std::vector<Node*>> next;
  std::vector<Node*> out;
  for (const auto& n : nodes) {
    waits[n.get()] = n->after.size();
    for (const Node* before : n->after) next[before].push_back(n.get());
    if (n->after.empty()) out.push_back(n.get());
  }
  for (size_t i = 0; i < out.size(); ++i) {
    for (Node* n : next[out[i]]) {
      if (--waits[n] == 0) out.push_back(n);
    }
  }
  if (out.size() != nodes.size()) out.clear();
  return out;
}

std::vector<Node*> Graph::dependents(const Node* node) const {
  std::vector<Node*> out;
  for (const auto& n : nodes) {
    if (std::ranges::find(n->after, node) != n->after.end()) out.push_back(n.get());
  }
  return out;
}

std::shared_ptr<Graph> Graph::copy() const {
  auto out = std::make_shared<Graph>();
  out->conditions = conditions;
  std::map<const Node*, Node*> made;
  for (const auto& n : nodes) {
    Node* node = out->add(n->operation, {});
    node->origin = n.get();
    node->enabled = n->enabled;
    copy_inner_graphs(node->operation);
    made[n.get()] = node;
  }
  for (const auto& n : nodes) {
    for (const Node* before : n->after) made[n.get()]->after.push_back(made[before]);
  }
  return out;
}

void GraphExec::own() {
  if (graph.use_count() == 1) return;
  auto mine = graph->copy();
  for (size_t i = 0; i < mine->nodes.size(); ++i) mine->nodes[i]->origin = graph->nodes[i]->origin;
  graph = std::move(mine);
}

Node* GraphExec::find(const Node* origin) {
  own();
  for (const auto& n : graph->nodes) {
    if (n->origin == origin) return n.get();
  }
  return nullptr;
}

std::vector<std::shared_ptr<Graph>*> inner_graphs(Operation& operation) {
  std::vector<std::shared_ptr<Graph>*> out;
  if (auto* child = std::get_if<ChildGraph>(&operation)) out.push_back(&child->graph);
  if (auto* conditional = std::get_if<Conditional>(&operation)) {
    for (auto& body : conditional->bodies) out.push_back(&body);
  }
  return out;
}

void copy_inner_graphs(Operation& operation) {
  for (auto* inner : inner_graphs(operation)) *inner = (*inner)->copy();
}

Condition::~Condition() { release(reinterpret_cast<void*>(address)); }

std::shared_ptr<Graph> graph_of(const Node* node) {
  std::shared_ptr<Graph> out;
  Live<Graph>::all().each([&](Graph& g) {
    if (g.has(node)) out = Live<Graph>::all().find(&g);
  });
  return out;
}

Error begin_capture(Stream* handle, std::shared_ptr<Graph> graph, std::vector<Node*> after, int mode) {
  auto stream = find_stream(handle);
  if (!stream) return Error::kInvalidResourceHandle;
  if (stream->legacy) return Error::kStreamCaptureUnsupported;
  if (stream->capture) return Error::kIllegalState;
  if (mode < 0 || mode > 2) return Error::kInvalidValue;
  auto capture = std::make_shared<Capture>();
  capture->id = ++capture_count;
  capture->graph = std::move(graph);
  capture->origin = stream.get();
  capture->mode = mode;
  capture->members = {stream.get()};
  stream->capture = std::move(capture);
  stream->after = std::move(after);
  return Error::kSuccess;
}

Error end_capture(Stream* handle, std::shared_ptr<Graph>& out) {
  auto stream = find_stream(handle);
  if (!stream) return Error::kInvalidResourceHandle;
  auto capture = stream->capture;
  if (!capture) return Error::kIllegalState;
  if (capture->origin != stream.get()) return Error::kStreamCaptureUnmatched;
  auto joined = history(stream->after);
  bool complete = std::ranges::all_of(capture->left, [&](const Node* n) { return joined.contains(n); });
  for (Stream* member : capture->members) {
    for (const Node* n : member->after) complete = complete && joined.contains(n);
    member->after.clear();
    member->capture = nullptr;
  }
  if (capture->invalid) return Error::kStreamCaptureInvalidated;
  if (!complete) return Error::kStreamCaptureUnjoined;
  out = capture->graph;
  return Error::kSuccess;
}

bool capture_forbids_waiting() {
  bool found = false;
  int mode = thread_state().capture_mode;
  if (mode == 2) return false;
  Live<Stream>::all().each([&](Stream& s) {
    if (!s.capture || s.capture->mode == 2) return;
    s.capture->invalid = true;
    found = true;
  });
  return found;
}

}  // namespace quern::cuda
