// Capture of streams into graphs.
#include "cuda/abi/graph_types.h"
#include "cuda/api/entry.h"
#include "cuda/runtime/graph.h"
#include "cuda/runtime/live.h"

namespace quern::cuda {
namespace {

Error cudaStreamBeginCapture(Stream* stream, int mode) {
  return entry([&] { return begin_capture(stream, std::make_shared<Graph>(), {}, mode); });
}

Error cudaStreamBeginCaptureToGraph(Stream* stream, Graph* handle, Node* const* after, const EdgeData*, size_t count,
                                    int mode) {
  return entry([&] {
    auto graph = Live<Graph>::all().find(handle);
    if (!graph || (count && !after)) return Error::kInvalidValue;
    std::vector<Node*> nodes(after, after + count);
    for (Node* n : nodes) {
      if (!graph->has(n)) return Error::kInvalidValue;
    }
    return begin_capture(stream, graph, std::move(nodes), mode);
  });
}

Error cudaStreamEndCapture(Stream* stream, Graph** out) {
  return entry([&] {
    auto found = find_stream(stream);
    // A graph that the program has already needn't be given to it.
    bool known = found && found->capture && Live<Graph>::all().find(found->capture->graph.get());
    if (!out && !known) return Error::kInvalidValue;
    if (out) *out = nullptr;
    std::shared_ptr<Graph> graph;
    if (Error e = end_capture(stream, graph); e != Error::kSuccess) return e;
    if (!known) Live<Graph>::all().add(graph);
    if (out) *out = graph.get();
    return Error::kSuccess;
  });
}

CaptureStatus status_of(const Stream& stream) {
  if (!stream.capture) return CaptureStatus::kNone;
  return stream.capture->invalid ? CaptureStatus::kInvalidated : CaptureStatus::kActive;
}

Error cudaStreamIsCapturing(Stream* handle, CaptureStatus* out) {
  return entry([&] {
    auto stream = find_stream(handle);
    if (!stream) return Error::kInvalidResourceHandle;
    if (!out) return Error::kInvalidValue;
    *out = status_of(*stream);
    return Error::kSuccess;
  });
}

Error capture_info(Stream* handle, CaptureStatus* status, unsigned long long* id, Graph** graph, Node*** after,
                   const EdgeData** edges, size_t* count) {
  return entry([&] {
    auto stream = find_stream(handle);
    if (!stream) return Error::kInvalidResourceHandle;
    if (!status) return Error::kInvalidValue;
    *status = status_of(*stream);
    if (*status != CaptureStatus::kActive) return Error::kSuccess;
    if (id) *id = stream->capture->id;
    if (graph) *graph = Live<Graph>::all().add(stream->capture->graph);
    if (after) *after = stream->after.data();
    if (edges) *edges = nullptr;
    if (count) *count = stream->after.size();
    return Error::kSuccess;
  });
}

Error capture_info_v2(Stream* stream, CaptureStatus* status, unsigned long long* id, Graph** graph, Node*** after,
                      size_t* count) {
  return capture_info(stream, status, id, graph, after, nullptr, count);
}

Error capture_info_v1(Stream* stream, CaptureStatus* status, unsigned long long* id) {
  return capture_info(stream, status, id, nullptr, nullptr, nullptr, nullptr);
}

Error update_dependencies(Stream* handle, Node** after, const EdgeData*, size_t count, unsigned flags) {
  return entry([&] {
    constexpr unsigned kSet = 1;
    auto stream = find_stream(handle);
    if (!stream) return Error::kInvalidResourceHandle;
    if (!stream->capture) return Error::kIllegalState;
    if (flags > kSet || (count && !after)) return Error::kInvalidValue;
    for (size_t i = 0; i < count; ++i) {
      if (!stream->capture->graph->has(after[i])) return Error::kInvalidValue;
    }
    if (flags == kSet) stream->after.clear();
    stream->after.insert(stream->after.end(), after, after + count);
    return Error::kSuccess;
  });
}

Error update_dependencies_12(Stream* stream, Node** after, size_t count, unsigned flags) {
  return update_dependencies(stream, after, nullptr, count, flags);
}

Error cudaThreadExchangeStreamCaptureMode(int* mode) {
  return entry([&] {
    if (!mode || *mode < 0 || *mode > 2) return Error::kInvalidValue;
    std::swap(*mode, thread_state().capture_mode);
    return Error::kSuccess;
  });
}

}  // namespace

std::span<const Export> capture_exports() {
  static const Export rows[] = {
      QUERN_EXPORT_STREAM(cudaStreamBeginCapture),
      QUERN_EXPORT_STREAM(cudaStreamBeginCaptureToGraph),
      QUERN_EXPORT_STREAM(cudaStreamEndCapture),
      QUERN_EXPORT_STREAM(cudaStreamIsCapturing),
      QUERN_EXPORT_AS(cudaStreamGetCaptureInfo, capture_info, 13),
      QUERN_EXPORT_AS(cudaStreamGetCaptureInfo_ptsz, PerThread<capture_info>::call, 13),
      QUERN_EXPORT_AS(cudaStreamGetCaptureInfo, capture_info_v1, 12),
      QUERN_EXPORT_AS(cudaStreamGetCaptureInfo_ptsz, PerThread<capture_info_v1>::call, 12),
      QUERN_EXPORT_AS(cudaStreamGetCaptureInfo_v2, capture_info_v2, 12),
      QUERN_EXPORT_AS(cudaStreamGetCaptureInfo_v2_ptsz, PerThread<capture_info_v2>::call, 12),
      QUERN_EXPORT_AS(cudaStreamGetCaptureInfo_v3, capture_info, 12),
      QUERN_EXPORT_AS(cudaStreamGetCaptureInfo_v3_ptsz, PerThread<capture_info>::call, 12),
      QUERN_EXPORT_AS(cudaStreamUpdateCaptureDependencies, update_dependencies, 13),
      QUERN_EXPORT_AS(cudaStreamUpdateCaptureDependencies_ptsz, PerThread<update_dependencies>::call, 13),
      QUERN_EXPORT_AS(cudaStreamUpdateCaptureDependencies, update_dependencies_12, 12),
      QUERN_EXPORT_AS(cudaStreamUpdateCaptureDependencies_ptsz, PerThread<update_dependencies_12>::call, 12),
      QUERN_EXPORT_AS(cudaStreamUpdateCaptureDependencies_v2, update_dependencies, 12),
      QUERN_EXPORT_AS(cudaStreamUpdateCaptureDependencies_v2_ptsz, PerThread<update_dependencies>::call, 12),
      QUERN_EXPORT(cudaThreadExchangeStreamCaptureMode),
  };
  return rows;
}

}  // namespace quern::cuda
