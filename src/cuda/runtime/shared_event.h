// The part of an event that several processes see: how often it was recorded, and up to which of these its work is
// done. It lies in memory of the device, which is how other processes get at it; kernels can't write there.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "cuda/runtime/shared_memory.h"

namespace quern::cuda {

class SharedEvent {
 public:
  // Null: there is no memory for it.
  static std::shared_ptr<SharedEvent> make(int device);
  static Error open(const SharedHandle& handle, int device, std::shared_ptr<SharedEvent>& out);
  ~SharedEvent();

  Error export_to(SharedHandle& out) const;
  // The number of a record that is asked for now.
  uint64_t record() { return ++state().recorded; }
  uint64_t recorded() const { return state().recorded; }
  void happened(uint64_t record);
  bool has_happened(uint64_t record) const { return state().done >= record; }

 private:
  struct State {
    std::atomic<uint64_t> recorded, done;
  };
  static_assert(std::atomic<uint64_t>::is_always_lock_free);
  explicit SharedEvent(uint64_t address) : address_(address) {}
  State& state() const { return *reinterpret_cast<State*>(address_); }

  uint64_t address_;
};

}  // namespace quern::cuda
