// Streams, events and graphs: what is captured runs when the graph is launched, in the order of its edges, as often as
// that happens; captures that would be wrong are refused.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime.h"

namespace quern::cuda {
namespace {

std::string order;
void say_a(void*) { order += 'a'; }
void say_b(void*) { order += 'b'; }
void say_c(void*) { order += 'c'; }

Stream* stream() {
  Stream* out = nullptr;
  ok(call("cudaStreamCreate", &out));
  return out;
}

Event* event() {
  Event* out = nullptr;
  ok(call("cudaEventCreate", &out));
  return out;
}

Error host(Stream* s, HostFunction f) { return call("cudaLaunchHostFunc", s, f, static_cast<void*>(nullptr)); }

TEST(Streams, WorkHasHappenedAndEventsTellTheTime) {
  Stream* s = stream();
  Event *first = event(), *last = event();
  order.clear();
  ok(call("cudaEventRecord", first, s));
  ok(host(s, say_a));
  ok(call("cudaEventRecord", last, s));
  ok(call("cudaStreamSynchronize", s));
  EXPECT_EQ(order, "a");
  float ms = -1;
  ok(call("cudaEventElapsedTime", &ms, first, last));
  EXPECT_GE(ms, 0);
  ok(call("cudaEventQuery", last));
  ok(call("cudaEventDestroy", first));
  EXPECT_EQ(call("cudaEventQuery", first), Error::kInvalidResourceHandle);
  EXPECT_EQ(call("cudaEventElapsedTime", &ms, event(), last), Error::kInvalidResourceHandle);
  ok(call("cudaStreamDestroy", s));
  EXPECT_EQ(call("cudaStreamSynchronize", s), Error::kInvalidResourceHandle);
}

TEST(Graphs, ACaptureRunsWhenItIsLaunched) {
  Stream *s = stream(), *other = stream();
  Event *fork = event(), *join = event();
  int* a = device_array<int>(4);
  std::vector<int> in = {1, 2, 3, 4}, out(4);
  order.clear();
  ok(call("cudaStreamBeginCapture", s, 0));
  ok(call("cudaMemcpyAsync", static_cast<void*>(a), static_cast<const void*>(in.data()), size_t{16},
          CopyKind::kHostToDevice, s));
  ok(call("cudaEventRecord", fork, s));
  ok(call("cudaStreamWaitEvent", other, fork, 0u));
  ok(host(other, say_a));
  ok(call("cudaEventRecord", join, other));
  ok(host(s, say_b));
  ok(call("cudaStreamWaitEvent", s, join, 0u));
  ok(host(s, say_c));
  Graph* graph = nullptr;
  ok(call("cudaStreamEndCapture", s, &graph));
  EXPECT_EQ(order, "");
  size_t nodes = 0, edges = 0;
  ok(call("cudaGraphGetNodes", graph, static_cast<Node**>(nullptr), &nodes));
  EXPECT_EQ(nodes, 4u);
  ok(call("cudaGraphGetEdges", graph, static_cast<Node**>(nullptr), static_cast<Node**>(nullptr),
          static_cast<EdgeData*>(nullptr), &edges));
  EXPECT_EQ(edges, 4u);
  GraphExec* exec = nullptr;
  ok(call("cudaGraphInstantiate", &exec, graph, 0ull));
  ok(call("cudaGraphDestroy", graph));
  in = {5, 6, 7, 8};
  ok(call("cudaGraphLaunch", exec, s));
  ok(call("cudaGraphLaunch", exec, s));
  ok(call("cudaStreamSynchronize", s));
  EXPECT_EQ(order.size(), 6u);
  EXPECT_EQ(order[2], 'c');
  ok(copy(out.data(), a, 4, CopyKind::kDeviceToHost));
  EXPECT_EQ(out, in);
  ok(call("cudaGraphExecDestroy", exec));
}

TEST(Graphs, CapturesThatAreWrongAreRefused) {
  Stream *s = stream(), *other = stream();
  Event* fork = event();
  Graph* graph = nullptr;
  EXPECT_EQ(call("cudaStreamBeginCapture", kNoStream, 0), Error::kStreamCaptureUnsupported);
  EXPECT_EQ(call("cudaStreamEndCapture", s, &graph), Error::kIllegalState);
  // Waiting for what hasn't run.
  ok(call("cudaStreamBeginCapture", s, 0));
  EXPECT_EQ(call("cudaStreamSynchronize", s), Error::kStreamCaptureUnsupported);
  EXPECT_EQ(call("cudaStreamEndCapture", s, &graph), Error::kStreamCaptureInvalidated);
  // Work in the legacy stream, which would wait for the captured one.
  ok(call("cudaStreamBeginCapture", s, 0));
  EXPECT_EQ(host(kNoStream, say_a), Error::kStreamCaptureImplicit);
  EXPECT_EQ(call("cudaStreamEndCapture", s, &graph), Error::kStreamCaptureInvalidated);
  // A stream that never comes back.
  ok(call("cudaStreamBeginCapture", s, 0));
  ok(call("cudaEventRecord", fork, s));
  ok(call("cudaStreamWaitEvent", other, fork, 0u));
  ok(host(other, say_a));
  EXPECT_EQ(call("cudaStreamEndCapture", other, &graph), Error::kStreamCaptureUnmatched);
  EXPECT_EQ(call("cudaEventQuery", fork), Error::kCapturedEvent);
  EXPECT_EQ(call("cudaStreamEndCapture", s, &graph), Error::kStreamCaptureUnjoined);
  ok(call("cudaStreamSynchronize", s));
  while (call("cudaGetLastError") != Error::kSuccess) {
  }
}

TEST(Graphs, NodesAndTheirParameters) {
  Graph* graph = nullptr;
  ok(call("cudaGraphCreate", &graph, 0u));
  Node *first = nullptr, *second = nullptr, *third = nullptr;
  HostNodeParams a{say_a, nullptr}, b{say_b, nullptr};
  Node* const none = nullptr;
  ok(call("cudaGraphAddHostNode", &first, graph, &none, size_t{0}, static_cast<const HostNodeParams*>(&a)));
  ok(call("cudaGraphAddHostNode", &second, graph, static_cast<Node* const*>(&first), size_t{1},
          static_cast<const HostNodeParams*>(&b)));
  int* memory = device_array<int>(4);
  MemsetParams fill{memory, 0, 9, 4, 4, 1};
  ok(call("cudaGraphAddMemsetNode", &third, graph, static_cast<Node* const*>(&second), size_t{1},
          static_cast<const MemsetParams*>(&fill)));
  // A circle can't be run.
  GraphExec* exec = nullptr;
  ok(call("cudaGraphAddDependencies", graph, static_cast<Node* const*>(&third), static_cast<Node* const*>(&first),
          static_cast<const EdgeData*>(nullptr), size_t{1}));
  EXPECT_EQ(call("cudaGraphInstantiate", &exec, graph, 0ull), Error::kInvalidValue);
  ok(call("cudaGraphRemoveDependencies", graph, static_cast<Node* const*>(&third), static_cast<Node* const*>(&first),
          static_cast<const EdgeData*>(nullptr), size_t{1}));
  ok(call("cudaGraphInstantiate", &exec, graph, 0ull));
  order.clear();
  ok(call("cudaGraphLaunch", exec, kNoStream));
  ok(call("cudaStreamSynchronize", kNoStream));
  EXPECT_EQ(order, "ab");
  // Changed in the executable graph alone.
  HostNodeParams c{say_c, nullptr}, now{};
  ok(call("cudaGraphExecHostNodeSetParams", exec, second, static_cast<const HostNodeParams*>(&c)));
  ok(call("cudaGraphHostNodeGetParams", second, &now));
  EXPECT_EQ(now.function, say_b);
  ok(call("cudaGraphNodeSetEnabled", exec, first, 0u));
  ok(call("cudaGraphLaunch", exec, kNoStream));
  ok(call("cudaStreamSynchronize", kNoStream));
  EXPECT_EQ(order, "abc");
  int out[4] = {};
  ok(copy(out, memory, 4, CopyKind::kDeviceToHost));
  EXPECT_EQ(out[3], 9);
  NodeType type{};
  ok(call("cudaGraphNodeGetType", third, &type));
  EXPECT_EQ(type, NodeType::kMemset);
  EXPECT_EQ(call("cudaGraphMemcpyNodeGetParams", third, static_cast<Copy3D*>(nullptr)), Error::kInvalidValue);
  // Updated from a graph of the same shape, and refused from another.
  UpdateResultInfo info{};
  ok(call("cudaGraphExecUpdate", exec, graph, &info));
  ok(call("cudaGraphDestroyNode", third));
  EXPECT_EQ(call("cudaGraphExecUpdate", exec, graph, &info), Error::kGraphExecUpdateFailure);
  EXPECT_EQ(info.result, UpdateResult::kTopologyChanged);
  ok(call("cudaGraphDestroy", graph));
  EXPECT_EQ(call("cudaGraphNodeGetType", first, &type), Error::kInvalidValue);
  while (call("cudaGetLastError") != Error::kSuccess) {
  }
}

}  // namespace
}  // namespace quern::cuda
