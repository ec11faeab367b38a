// The order that oneTBB makes between who starts a loop and who runs its bodies, for ThreadSanitizer: it doesn't see
// into the library, which isn't instrumented, and would call everything that is handed over a race. Nothing in other
// builds.
#pragma once

#ifdef __SANITIZE_THREAD__
extern "C" void __tsan_acquire(void* address);
extern "C" void __tsan_release(void* address);
#endif

namespace quern::device::cpu {

// What came before a hand_over, in any thread, has happened for who takes over after it.
#ifdef __SANITIZE_THREAD__
inline char handed;
inline void hand_over() { __tsan_release(&handed); }
inline void take_over() { __tsan_acquire(&handed); }
#else
inline void hand_over() {}
inline void take_over() {}
#endif

}  // namespace quern::device::cpu
