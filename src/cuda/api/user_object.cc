// User objects: destructors of the program that run when the last graph that holds them is gone.
#include <algorithm>

#include "cuda/api/entry.h"
#include "cuda/runtime/graph.h"
#include "cuda/runtime/live.h"

namespace quern::cuda {
namespace {

struct UserObject {
  void* data;
  HostFunction destroy;
  unsigned count;
};

Error cudaUserObjectCreate(UserObject** out, void* data, HostFunction destroy, unsigned count, unsigned flags) {
  return entry([&] {
    constexpr unsigned kNoSync = 1;
    if (!out || !destroy || !count || flags != kNoSync) return Error::kInvalidValue;
    *out = Live<UserObject>::all().add(std::make_shared<UserObject>(data, destroy, count));
    return Error::kSuccess;
  });
}

Error cudaUserObjectRetain(UserObject* handle, unsigned count) {
  return entry([&] {
    auto object = Live<UserObject>::all().find(handle);
    if (!object || !count) return Error::kInvalidValue;
    object->count += count;
    return Error::kSuccess;
  });
}

void let_go(void* handle) {
  auto object = Live<UserObject>::all().find(handle);
  if (!object || --object->count) return;
  Live<UserObject>::all().remove(handle);
  object->destroy(object->data);
}

Error cudaUserObjectRelease(UserObject* handle, unsigned count) {
  return entry([&] {
    auto object = Live<UserObject>::all().find(handle);
    if (!object || !count || count > object->count) return Error::kInvalidValue;
    for (unsigned i = 0; i < count; ++i) let_go(handle);
    return Error::kSuccess;
  });
}

Error cudaGraphRetainUserObject(Graph* graph_handle, UserObject* handle, unsigned count, unsigned flags) {
  return entry([&] {
    constexpr unsigned kMove = 1;
    auto graph = Live<Graph>::all().find(graph_handle);
    auto object = Live<UserObject>::all().find(handle);
    if (!graph || !object || !count || flags > kMove) return Error::kInvalidValue;
    if (!(flags & kMove)) object->count += count;
    for (unsigned i = 0; i < count; ++i) graph->at_end.emplace_back(&let_go, handle);
    return Error::kSuccess;
  });
}

Error cudaGraphReleaseUserObject(Graph* graph_handle, UserObject* handle, unsigned count) {
  return entry([&] {
    auto graph = Live<Graph>::all().find(graph_handle);
    if (!graph) return Error::kInvalidValue;
    for (unsigned i = 0; i < count; ++i) {
      auto found = std::ranges::find(graph->at_end, std::pair<HostFunction, void*>(&let_go, handle));
      if (found == graph->at_end.end()) return Error::kInvalidValue;
      graph->at_end.erase(found);
      let_go(handle);
    }
    return Error::kSuccess;
  });
}

}  // namespace

std::span<const Export> user_object_exports() {
  static const Export rows[] = {
      QUERN_EXPORT(cudaUserObjectCreate),       QUERN_EXPORT(cudaUserObjectRetain),
      QUERN_EXPORT(cudaUserObjectRelease),      QUERN_EXPORT(cudaGraphRetainUserObject),
      QUERN_EXPORT(cudaGraphReleaseUserObject),
  };
  return rows;
}

}  // namespace quern::cuda
