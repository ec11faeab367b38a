// How a function of cuRAND begins and ends: the handle is looked up, nothing is thrown into the program.
#pragma once

#include <exception>
#include <new>

#include "cuda/curand/generator.h"
#include "cuda/runtime/live.h"

namespace quern::cuda {

template <class F>
RandomStatus random_guard(F&& body) {
  try {
    return Process::get().sticky == Error::kSuccess ? body() : RandomStatus::kPreexistingFailure;
  } catch (const std::bad_alloc&) {
    return RandomStatus::kAllocationFailed;
  } catch (const std::exception& e) {
    end_with({diagnose(Code::B001, {}, {{"what", e.what()}})});
  }
}

// Calls body(std::shared_ptr<Generator>).
template <class F>
RandomStatus random_call(const Generator* handle, F&& body) {
  return random_guard([&] {
    std::shared_ptr<Generator> found;
    {
      Lock lock(Process::get().mutex);
      found = Live<Generator>::all().find(handle);
    }
    return found ? body(found) : RandomStatus::kNotInitialized;
  });
}

}  // namespace quern::cuda
