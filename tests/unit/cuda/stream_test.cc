// Streams do their work behind the program's back: what runs beside what, who waits for whom, and what must not be
// possible. Kernels here wait for a word that the host, or another kernel, writes.
#include "cuda/runtime/stream.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <string>
#include <thread>

#include "runtime.h"

namespace quern::cuda {
namespace {

constexpr const char* kPtx = R"(.version 7.0
.target sm_80
.address_size 64
.visible .entry wait(.param .u64 flag)
{
  .reg .pred %q;
  .reg .b32 %r<2>;
  .reg .b64 %d<2>;
  ld.param.u64 %d0, [flag];
again:
  ld.volatile.global.u32 %r0, [%d0];
  setp.eq.u32 %q, %r0, 0;
  @%q bra again;
  ret;
}
.visible .entry put(.param .u64 to, .param .u32 value)
{
  .reg .b32 %r<2>;
  .reg .b64 %d<2>;
  ld.param.u64 %d0, [to];
  ld.param.u32 %r0, [value];
  st.global.u32 [%d0], %r0;
  ret;
}
)";

Kernel* kernel(const char* name) {
  auto load = reinterpret_cast<Error (*)(Image**, const void*)>(find_export("cuModuleLoadData", kDriverVersion));
  auto get =
      reinterpret_cast<Error (*)(Kernel**, Image*, const char*)>(find_export("cuModuleGetFunction", kDriverVersion));
  static Image* const module = [&] {
    Image* out = nullptr;
    ok(load(&out, kPtx));
    return out;
  }();
  Kernel* out = nullptr;
  ok(get(&out, module, name));
  return out;
}

Error launch(const char* name, Stream* stream, void** arguments) {
  const Dim3 one = {1, 1, 1};
  return call("cudaLaunchKernel", static_cast<const void*>(kernel(name)), one, one, arguments, size_t{0}, stream);
}

Error wait_for(const unsigned* flag, Stream* stream) {
  void* arguments[] = {&flag};
  return launch("wait", stream, arguments);
}

Error put(unsigned* to, unsigned value, Stream* stream) {
  void* arguments[] = {&to, &value};
  return launch("put", stream, arguments);
}

// Words that host and device see.
struct Words {
  unsigned* at = nullptr;
  explicit Words(size_t count) {
    void* memory = nullptr;
    ok(call("cudaMallocHost", &memory, count * sizeof(unsigned)));
    at = static_cast<unsigned*>(memory);
  }
  unsigned get(size_t i) const { return __atomic_load_n(at + i, __ATOMIC_ACQUIRE); }
  void set(size_t i, unsigned value) const { __atomic_store_n(at + i, value, __ATOMIC_RELEASE); }
};

struct OwnStream {
  Stream* handle = nullptr;
  explicit OwnStream(unsigned flags = 0) { ok(call("cudaStreamCreateWithFlags", &handle, flags)); }
  ~OwnStream() { ok(call("cudaStreamDestroy", handle)); }
  operator Stream*() const { return handle; }
};

struct OwnEvent {
  Event* handle = nullptr;
  OwnEvent() { ok(call("cudaEventCreate", &handle)); }
  ~OwnEvent() { ok(call("cudaEventDestroy", handle)); }
  operator Event*() const { return handle; }
};

Error finish(Stream* s) { return call("cudaStreamSynchronize", s); }

// Long enough for what could go on to go on.
void a_while() { std::this_thread::sleep_for(std::chrono::milliseconds(60)); }

TEST(Streams, AKernelWaitsForTheHost) {
  Words flag(1);
  OwnStream s;
  OwnEvent first, last;
  ok(call("cudaEventRecord", first.handle, s.handle));
  ok(wait_for(flag.at, s));
  ok(call("cudaEventRecord", last.handle, s.handle));
  EXPECT_EQ(call("cudaStreamQuery", s.handle), Error::kNotReady);
  EXPECT_EQ(call("cudaEventQuery", last.handle), Error::kNotReady);
  float ms = 0;
  EXPECT_EQ(call("cudaEventElapsedTime", &ms, first.handle, last.handle), Error::kNotReady);
  a_while();
  flag.set(0, 1);
  ok(call("cudaEventSynchronize", last.handle));
  ok(call("cudaEventQuery", last.handle));
  ok(call("cudaEventElapsedTime", &ms, first.handle, last.handle));
  EXPECT_GE(ms, 50);
  ok(finish(s));
  ok(call("cudaStreamQuery", s.handle));
}

TEST(Streams, AKernelWaitsForAnotherStreams) {
  Words flag(1);
  OwnStream one, two;
  ok(wait_for(flag.at, one));
  ok(put(flag.at, 1, two));
  ok(call("cudaDeviceSynchronize"));
}

// Each of many kernels that stand waits for the next one's word.
TEST(Streams, AChainOfWaitingKernels) {
  constexpr size_t kCount = 20;
  Words flags(kCount);
  std::vector<std::unique_ptr<OwnStream>> streams;
  for (size_t i = 0; i < kCount; ++i) {
    streams.push_back(std::make_unique<OwnStream>(kStreamNonBlocking));
    ok(wait_for(flags.at + i, *streams[i]));
    if (i) ok(put(flags.at + i - 1, 1, *streams[i]));
  }
  EXPECT_EQ(call("cudaStreamQuery", streams[0]->handle), Error::kNotReady);
  flags.set(kCount - 1, 1);
  ok(call("cudaDeviceSynchronize"));
}

TEST(Streams, TheLegacyStreamWaitsForTheOthersAndTheyForIt) {
  Words words(4);
  OwnStream blocking, free(kStreamNonBlocking);
  ok(wait_for(words.at, blocking));
  ok(put(words.at + 1, 1, kNoStream));
  ok(put(words.at + 2, 1, blocking));
  ok(put(words.at + 3, 1, free));
  ok(finish(free));
  EXPECT_EQ(words.get(3), 1u);
  a_while();
  EXPECT_EQ(words.get(1), 0u);
  EXPECT_EQ(words.get(2), 0u);
  EXPECT_EQ(call("cudaStreamQuery", kNoStream), Error::kNotReady);
  words.set(0, 1);
  ok(finish(blocking));
  EXPECT_EQ(words.get(1), 1u);
  EXPECT_EQ(words.get(2), 1u);
}

TEST(Streams, TheStreamOfAThreadIsAnOrdinaryOne) {
  Words words(2);
  ok(wait_for(words.at, kPerThreadStream));
  std::thread([&] {
    ok(put(words.at + 1, 1, kPerThreadStream));
    ok(finish(kPerThreadStream));
  }).join();
  EXPECT_EQ(words.get(1), 1u);
  words.set(0, 1);
  ok(finish(kPerThreadStream));
}

TEST(Streams, AStreamWaitsForAnEvent) {
  Words words(3);
  OwnStream one(kStreamNonBlocking), two(kStreamNonBlocking);
  OwnEvent event;
  ok(call("cudaStreamWaitEvent", two.handle, event.handle, 0u));  // never recorded: nothing to wait for
  ok(put(words.at + 1, 1, two));
  ok(finish(two));
  ok(wait_for(words.at, one));
  ok(call("cudaEventRecord", event.handle, one.handle));
  ok(call("cudaStreamWaitEvent", two.handle, event.handle, 0u));
  // A later record is not what it waits for.
  ok(put(words.at + 2, 1, two));
  a_while();
  EXPECT_EQ(words.get(2), 0u);
  words.set(0, 1);
  ok(finish(two));
  EXPECT_EQ(words.get(2), 1u);
}

// Whatever streams wait for was recorded before, so a ring of them ends.
TEST(Streams, RingsOfWaitsEnd) {
  OwnStream a(kStreamNonBlocking), b(kStreamNonBlocking);
  OwnEvent of_a, of_b;
  for (int i = 0; i < 10; ++i) {
    ok(call("cudaEventRecord", of_a.handle, a.handle));
    ok(call("cudaEventRecord", of_b.handle, b.handle));
    ok(call("cudaStreamWaitEvent", a.handle, of_b.handle, 0u));
    ok(call("cudaStreamWaitEvent", b.handle, of_a.handle, 0u));
    ok(call("cudaStreamWaitEvent", a.handle, of_a.handle, 0u));
  }
  ok(call("cudaDeviceSynchronize"));
}

struct Gate {
  std::promise<void> opened;
  std::atomic<bool> passed = false;
};
void pass(void* data) {
  auto* gate = static_cast<Gate*>(data);
  gate->opened.get_future().wait();
  gate->passed = true;
}

TEST(Streams, AHostFunctionThatWaitsHoldsUpItsOwnStreamOnly) {
  Words words(2);
  OwnStream one, two;
  Gate gate;
  ok(call("cudaLaunchHostFunc", one.handle, &pass, static_cast<void*>(&gate)));
  ok(put(words.at, 1, one));
  ok(put(words.at + 1, 1, two));
  ok(finish(two));
  EXPECT_EQ(words.get(1), 1u);
  EXPECT_EQ(words.get(0), 0u);
  EXPECT_FALSE(gate.passed);
  gate.opened.set_value();
  ok(finish(one));
  EXPECT_TRUE(gate.passed);
  EXPECT_EQ(words.get(0), 1u);
}

struct Calls {
  Stream* stream;
  Event* event;
  std::thread::id thread;
  Error waited, asked, launched, freed, allocated, recorded;
};
void call_cuda(void* data) {
  auto& c = *static_cast<Calls*>(data);
  c.thread = std::this_thread::get_id();
  c.waited = finish(c.stream);
  c.asked = call("cudaStreamQuery", c.stream);
  Words none(1);
  c.launched = put(none.at, 1, c.stream);
  c.freed = call("cudaFree", static_cast<void*>(none.at));
  c.recorded = call("cudaEventRecord", c.event, c.stream);
  void* memory = nullptr;
  c.allocated = call("cudaMalloc", &memory, size_t{4});
}

TEST(Streams, HostFunctionsMayNotWaitForStreams) {
  OwnStream s;
  OwnEvent event;
  Calls c{s, event, {}, {}, {}, {}, {}, {}, {}};
  ok(call("cudaLaunchHostFunc", s.handle, &call_cuda, static_cast<void*>(&c)));
  ok(finish(s));
  EXPECT_NE(c.thread, std::this_thread::get_id());
  EXPECT_EQ(c.waited, Error::kNotPermitted);
  EXPECT_EQ(c.asked, Error::kNotReady);
  EXPECT_EQ(c.launched, Error::kNotPermitted);
  EXPECT_EQ(c.freed, Error::kNotPermitted);
  EXPECT_EQ(c.recorded, Error::kNotPermitted);
  EXPECT_EQ(c.allocated, Error::kSuccess);
  EXPECT_EQ(call("cudaLaunchHostFunc", s.handle, static_cast<HostFunction>(nullptr), static_cast<void*>(nullptr)),
            Error::kInvalidValue);
}

// Copies from memory that is not pinned have been done when the call returns; others wait in the stream.
TEST(Streams, WhenCopiesReturn) {
  Words words(3);
  OwnStream s(kStreamNonBlocking);
  auto* memory = device_array<unsigned>(1);
  unsigned mine = 5;
  ok(call("cudaMemcpyAsync", static_cast<void*>(memory), static_cast<const void*>(&mine), size_t{4},
          CopyKind::kHostToDevice, s.handle));
  mine = 6;
  ok(call("cudaMemcpyAsync", static_cast<void*>(words.at + 1), static_cast<const void*>(memory), size_t{4},
          CopyKind::kDeviceToHost, s.handle));
  ok(finish(s));
  EXPECT_EQ(words.get(1), 5u);
  ok(wait_for(words.at, s));
  words.set(2, 7);
  ok(call("cudaMemcpyAsync", static_cast<void*>(words.at + 1), static_cast<const void*>(words.at + 2), size_t{4},
          CopyKind::kDefault, s.handle));
  EXPECT_EQ(words.get(1), 5u);
  words.set(2, 8);
  words.set(0, 1);
  ok(finish(s));
  EXPECT_EQ(words.get(1), 8u);
  ok(call("cudaFree", static_cast<void*>(memory)));
}

TEST(Streams, WhatIsFreedInAStreamIsFreedInItsTurn) {
  Words flag(1);
  OwnStream s;
  void* memory = nullptr;
  unsigned out = 0;
  ok(call("cudaMallocAsync", &memory, size_t{4}, s.handle));
  ok(wait_for(flag.at, s));
  ok(put(static_cast<unsigned*>(memory), 9, s));
  ok(call("cudaMemcpyAsync", static_cast<void*>(flag.at), static_cast<const void*>(memory), size_t{4},
          CopyKind::kDefault, s.handle));
  ok(call("cudaFreeAsync", memory, s.handle));
  EXPECT_EQ(call("cudaFreeAsync", memory, s.handle), Error::kInvalidValue);
  flag.set(0, 1);
  EXPECT_EQ(call("cudaFree", memory), Error::kInvalidValue);  // after waiting for the stream
  EXPECT_EQ(flag.get(0), 9u);
  EXPECT_EQ(call("cudaFreeAsync", memory, s.handle), Error::kInvalidValue);
  EXPECT_EQ(copy(&out, static_cast<unsigned*>(memory), 1, CopyKind::kDeviceToHost), Error::kInvalidValue);
  call("cudaGetLastError");
}

// What was allocated in a stream and freed there makes room for the next.
TEST(Streams, ThereIsRoomForWhatComesAfter) {
  OwnStream s;
  PoolProps props{};
  props.allocation_type = 1;
  props.location = {LocationType::kDevice, 0};
  props.max_size = 1000;
  Pool* pool = nullptr;
  ok(call("cudaMemPoolCreate", &pool, static_cast<const PoolProps*>(&props)));
  void* memory = nullptr;
  for (int i = 0; i < 8; ++i) {
    ok(call("cudaMallocFromPoolAsync", &memory, size_t{600}, pool, s.handle));
    ok(call("cudaFreeAsync", memory, s.handle));
  }
  EXPECT_EQ(call("cudaMallocFromPoolAsync", &memory, size_t{1001}, pool, s.handle), Error::kMemoryAllocation);
  call("cudaGetLastError");
  ok(finish(s));
  ok(call("cudaMemPoolDestroy", pool));
}

TEST(Streams, AnExecutableGraphMayChangeWhileItRuns) {
  Words words(2);
  OwnStream s;
  Graph* graph = nullptr;
  GraphExec* exec = nullptr;
  Node* node = nullptr;
  ok(call("cudaGraphCreate", &graph, 0u));
  unsigned *to = words.at + 1, value = 3;
  void* arguments[] = {&to, &value};
  KernelNodeParams params{kernel("put"), {1, 1, 1}, {1, 1, 1}, 0, arguments, nullptr};
  ok(call("cudaGraphAddKernelNode", &node, graph, static_cast<Node* const*>(nullptr), size_t{0},
          static_cast<const KernelNodeParams*>(&params)));
  ok(call("cudaGraphInstantiate", &exec, graph, 0ull));
  ok(wait_for(words.at, s));
  ok(call("cudaGraphLaunch", exec, s.handle));
  value = 4;
  ok(call("cudaGraphExecKernelNodeSetParams", exec, node, static_cast<const KernelNodeParams*>(&params)));
  words.set(0, 1);
  ok(finish(s));
  EXPECT_EQ(words.get(1), 3u);
  ok(call("cudaGraphLaunch", exec, s.handle));
  ok(call("cudaGraphExecDestroy", exec));
  ok(call("cudaGraphDestroy", graph));
  ok(finish(s));
  EXPECT_EQ(words.get(1), 4u);
}

void count(void* data) { ++*static_cast<std::atomic<int>*>(data); }

TEST(Streams, ManyThreadsPutWorkIntoMany) {
  constexpr int kThreads = 8, kEach = 200;
  std::atomic<int> counted = 0;
  Words words(kThreads);
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      OwnStream s(t % 2 ? kStreamNonBlocking : 0);
      for (unsigned i = 1; i <= kEach; ++i) {
        ok(put(words.at + t, i, s));
        ok(call("cudaLaunchHostFunc", t % 3 ? s.handle : kNoStream, &count, static_cast<void*>(&counted)));
        if (i % 32 == 0) ok(finish(s));
      }
      ok(finish(s));
      EXPECT_EQ(words.get(t), kEach);
    });
  }
  for (auto& t : threads) t.join();
  ok(call("cudaDeviceSynchronize"));
  EXPECT_EQ(counted, kThreads * kEach);
}

// What is asked for beyond what can wait is waited for.
TEST(Streams, VeryMuchWork) {
  std::atomic<int> counted = 0;
  OwnStream s;
  for (int i = 0; i < 40000; ++i) ok(call("cudaLaunchHostFunc", s.handle, &count, static_cast<void*>(&counted)));
  ok(finish(s));
  EXPECT_EQ(counted, 40000);
}

}  // namespace
}  // namespace quern::cuda
