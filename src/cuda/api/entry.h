// How each function that programs call begins and ends: the fault that already ended all is returned, the process's
// lock is held (but for functions that run work of the program), nothing is thrown into the program, and what went
// wrong is remembered for cudaGetLastError.
#pragma once

#include <exception>
#include <new>
#include <utility>

#include "cuda/api/exports.h"
#include "cuda/runtime/process.h"
#include "cuda/runtime/stream.h"
#include "cuda/runtime/workers.h"

namespace quern::cuda {

inline Error remember(Error e) {
  if (e != Error::kSuccess) thread_state().last = e;
  return e;
}

// Without the lock.
template <class F>
Error open_entry(F&& body) {
  try {
    Process& p = Process::get();
    Error e = p.sticky == Error::kSuccess ? std::forward<F>(body)() : p.sticky.load();
    if (e != Error::kSuccess && e == p.sticky) p.told = true;
    return remember(e);
  } catch (const std::bad_alloc&) {
    return remember(Error::kMemoryAllocation);
  } catch (const std::exception& e) {
    end_with({diagnose(Code::B001, {}, {{"what", e.what()}})});
  }
}

template <class F>
Error entry(F&& body) {
  return open_entry([&] {
    Lock lock(Process::get().mutex);
    return body();
  });
}

// The variant of a function for programs whose default stream is the one of the thread: that stream in place of 0.
template <auto kFunction>
struct PerThread;
template <class... A, Error (*kFunction)(A...)>
struct PerThread<kFunction> {
  static Error call(A... arguments) { return kFunction(of_thread(arguments)...); }

 private:
  static Stream* of_thread(Stream* stream) { return stream ? stream : kPerThreadStream; }
  template <class T>
  static T of_thread(T argument) {
    return argument;
  }
};

// For what takes away something that work may use: all of it has been done.
template <class F>
Error entry_when_done(F&& body) {
  return open_entry([&] {
    if (in_host_function()) return Error::kNotPermitted;
    finish_all();
    Lock lock(Process::get().mutex);
    return body();
  });
}

// For allocations: where there is no memory left, what is freed in streams comes first.
template <class F>
Error allocating_entry(F&& body) {
  return open_entry([&] {
    for (bool again : {true, false}) {
      {
        Lock lock(Process::get().mutex);
        Error e = body();
        if (e != Error::kMemoryAllocation || !again) return e;
      }
      finish_all();
    }
    return Error::kMemoryAllocation;
  });
}

}  // namespace quern::cuda

// Rows of a table of exports: a function; one with its variant for streams of the thread; one whose variant does the
// same, since it takes no stream.
#define QUERN_EXPORT(name) \
  quern::cuda::Export { #name, reinterpret_cast < void*>(&name) }
#define QUERN_EXPORT_STREAM(name)                                                  \
  QUERN_EXPORT(name), quern::cuda::Export {                                        \
#name "_ptsz", reinterpret_cast < void*>(&quern::cuda::PerThread <name>::call) \
  }
#define QUERN_EXPORT_THREAD(name) \
  QUERN_EXPORT(name), quern::cuda::Export { #name "_ptds", reinterpret_cast < void*>(&name) }
// A function under another name, for programs of one version of CUDA (0: of each).
#define QUERN_EXPORT_AS(name, function, version) \
  quern::cuda::Export { #name, reinterpret_cast < void*>(&function), version }
