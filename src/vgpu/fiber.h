// A warp's own stack, so that it can wait in the middle of its code and go on later. Switching costs some twenty
// cycles: the registers that the calling convention keeps are pushed, the stack pointer is exchanged, and the way back
// is a jump and not a return, which would make the processor mispredict every return that follows.
#pragma once

#include <cstddef>
#include <cstdint>

namespace quern::vgpu {

class Fiber {
 public:
  Fiber();
  ~Fiber();
  Fiber(Fiber&&) noexcept;
  Fiber& operator=(Fiber&&) = delete;

  bool usable() const { return memory_ != nullptr; }  // false: the system gave no stack
  // Prepares a run of body(argument) on this stack.
  void start(void (*body)(void*), void* argument);
  // Goes on with the fiber; returns when it calls leave() or its body ends.
  void enter();
  // From within: back to who entered.
  void leave();
  // From within: to another fiber that rests, which goes back to the same place when it leaves.
  void pass_to(Fiber& other);

  static constexpr size_t kStack = size_t{1} << 22;

 private:
  static void first(Fiber* self);
  void* memory_ = nullptr;  // from a store of stacks that ended fibers leave behind
  void* here_ = nullptr;    // the fiber's stack pointer while it rests
  void* there_ = nullptr;   // of who entered
  void (*body_)(void*) = nullptr;
  void* argument_ = nullptr;
};

}  // namespace quern::vgpu
