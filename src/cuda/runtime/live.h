// Objects that a program knows by handles: the handle is the address, and what isn't in the table is no handle of ours.
// Whoever uses one holds the process's lock.
#pragma once

#include <memory>
#include <unordered_map>

namespace quern::cuda {

template <class T>
class Live {
 public:
  static Live& all() {
    static Live& only = *new Live;
    return only;
  }

  T* add(std::shared_ptr<T> object) {
    T* handle = object.get();
    objects_[handle] = std::move(object);
    return handle;
  }
  // Null: unknown, or destroyed.
  std::shared_ptr<T> find(const void* handle) const {
    auto found = objects_.find(handle);
    return found == objects_.end() ? nullptr : found->second;
  }
  bool remove(const void* handle) { return objects_.erase(handle) > 0; }
  size_t size() const { return objects_.size(); }
  template <class F>
  void each(F f) const {
    for (const auto& [handle, object] : objects_) f(*object);
  }

 private:
  std::unordered_map<const void*, std::shared_ptr<T>> objects_;
};

}  // namespace quern::cuda
