#include "vgpu/children/children.h"

#include <algorithm>
#include <set>

#include "vgpu/children/family.h"
#include "vgpu/children/schedule.h"

namespace quern::vgpu {
namespace {

// Handles that name no stream of their own (driver_types.h, cuda_device_runtime_api.h).
constexpr uint64_t kDefault = 0, kLegacy = 1, kPerThread = 2, kTail = 3, kFireAndForget = 4;

}  // namespace

std::vector<size_t> Children::Stream::all() const {
  std::vector<size_t> out = waits;
  if (last) out.push_back(*last);
  return out;
}

Children::Stream* Children::find(const Caller& caller, uint64_t stream) {
  if (stream == kPerThread || (stream == kDefault && caller.per_thread))
    return &streams_[{Kind::kOfThread, caller.thread}];
  if (stream == kDefault || stream == kLegacy) return &streams_[{Kind::kOfBlock, caller.block}];
  auto found = streams_.find({Kind::kNamed, stream});
  return found == streams_.end() ? nullptr : &found->second;
}

DeviceError Children::add(Child child, const Caller& caller, uint64_t handle) {
  std::lock_guard lock(mutex_);
  child.block = caller.block;
  child.tail = handle == kTail;
  if (handle != kTail && handle != kFireAndForget) {
    Stream* stream = find(caller, handle);
    if (!stream) return DeviceError::kInvalidResourceHandle;
    child.after = stream->all();
    stream->waits.clear();
    stream->last = all_.size();
  }
  all_.push_back(std::move(child));
  return DeviceError::kSuccess;
}

uint64_t Children::make_stream() {
  uint64_t handle = family_.new_handle();
  std::lock_guard lock(mutex_);
  streams_[{Kind::kNamed, handle}];
  return handle;
}

// Work that is still to be done stays.
DeviceError Children::destroy_stream(uint64_t stream) {
  std::lock_guard lock(mutex_);
  return streams_.erase({Kind::kNamed, stream}) ? DeviceError::kSuccess : DeviceError::kInvalidResourceHandle;
}

uint64_t Children::make_event() {
  uint64_t handle = family_.new_handle();
  std::lock_guard lock(mutex_);
  events_[handle];
  return handle;
}

DeviceError Children::destroy_event(uint64_t event) {
  std::lock_guard lock(mutex_);
  return events_.erase(event) ? DeviceError::kSuccess : DeviceError::kInvalidResourceHandle;
}

DeviceError Children::record(uint64_t event, const Caller& caller, uint64_t handle) {
  std::lock_guard lock(mutex_);
  auto found = events_.find(event);
  Stream* stream = find(caller, handle);
  if (found == events_.end() || !stream) return DeviceError::kInvalidResourceHandle;
  found->second = stream->all();
  return DeviceError::kSuccess;
}

DeviceError Children::wait(const Caller& caller, uint64_t handle, uint64_t event) {
  std::lock_guard lock(mutex_);
  auto found = events_.find(event);
  Stream* stream = find(caller, handle);
  if (found == events_.end() || !stream) return DeviceError::kInvalidResourceHandle;
  stream->waits.insert(stream->waits.end(), found->second.begin(), found->second.end());
  return DeviceError::kSuccess;
}

DeviceError Children::last_error(uint64_t thread, bool forget) {
  std::lock_guard lock(mutex_);
  auto found = errors_.find(thread);
  if (found == errors_.end()) return DeviceError::kSuccess;
  DeviceError e = found->second;
  if (forget) errors_.erase(found);
  return e;
}

void Children::set_error(uint64_t thread, DeviceError error) {
  std::lock_guard lock(mutex_);
  errors_[thread] = error;
}

Result<std::optional<Fault>> Children::run_block(const Grid& grid, uint64_t block) {
  std::vector<size_t> which;
  {
    // A child waits only for earlier ones: one pass from the end finds all that are needed.
    std::lock_guard lock(mutex_);
    std::vector<bool> needed(all_.size());
    for (size_t i = all_.size(); i-- > 0;) {
      const Child& c = all_[i];
      if (c.done || c.tail || (c.block != block && !needed[i])) continue;
      for (size_t before : c.after) needed[before] = true;
      which.push_back(i);
    }
    std::reverse(which.begin(), which.end());
  }
  return run(grid, which, 1);
}

Result<std::optional<Fault>> Children::run_rest(const Grid& grid, int threads) {
  std::vector<size_t> which, last;
  for (size_t i = 0; i < all_.size(); ++i) {
    if (!all_[i].done) (all_[i].tail ? last : which).push_back(i);
  }
  auto by_block = [&](size_t a, size_t b) { return std::pair(all_[a].block, a) < std::pair(all_[b].block, b); };
  std::sort(which.begin(), which.end(), by_block);
  std::sort(last.begin(), last.end(), by_block);
  if (auto fault = run(grid, which, threads); !fault || *fault) return fault;
  for (size_t i : last) {
    if (auto fault = run(grid, {i}, threads); !fault || *fault) return fault;
  }
  return std::nullopt;
}

Result<std::optional<Fault>> Children::run(const Grid& grid, const std::vector<size_t>& which, int threads) {
  if (which.empty()) return std::nullopt;
  std::unordered_map<size_t, size_t> place;
  std::vector<Child> children;  // their own: the grid may still launch others
  std::vector<std::vector<size_t>> after(which.size());
  {
    std::lock_guard lock(mutex_);
    for (size_t i = 0; i < which.size(); ++i) {
      place[which[i]] = i;
      children.push_back(std::move(all_[which[i]]));
      all_[which[i]].done = true;
    }
  }
  for (size_t i = 0; i < which.size(); ++i) {
    for (size_t before : children[i].after) {
      if (auto found = place.find(before); found != place.end()) after[i].push_back(found->second);
    }
  }
  auto run_one = [&](size_t i, int share) {
    Chain chain{&grid, children[i].place, up_};
    return family_.run_child(children[i], depth_ + 1, share, &chain);
  };
  return run_in_order(after, threads, family_.settings().order, run_one);
}

}  // namespace quern::vgpu
