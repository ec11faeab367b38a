#include "vgpu/wild_store.h"

#include <csetjmp>
#include <csignal>
#include <mutex>

namespace quern::vgpu {
namespace {

struct Guarded {
  uint64_t first = 0, bytes = 0;
  volatile uint64_t address = 0;
  sigjmp_buf back = {};
};
thread_local Guarded* guarded = nullptr;

struct sigaction before = {};

void on_fault(int signal, siginfo_t* info, void* context) {
  auto address = reinterpret_cast<uint64_t>(info->si_addr);
  if (guarded && address - guarded->first < guarded->bytes) {
    guarded->address = address;
    siglongjmp(guarded->back, 1);
  }
  // Not ours: as if this handler weren't there.
  if (before.sa_flags & SA_SIGINFO) return before.sa_sigaction(signal, info, context);
  if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) return before.sa_handler(signal);
  ::sigaction(signal, &before, nullptr);
}

void install() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction mine = {};
    mine.sa_sigaction = on_fault;
    mine.sa_flags = SA_SIGINFO | SA_ONSTACK;
    ::sigemptyset(&mine.sa_mask);
    ::sigaction(SIGSEGV, &mine, &before);
  });
}

}  // namespace

std::optional<uint64_t> stopped_by_wild_store(const AddressSpace& space, const std::function<void()>& function) {
  install();
  Guarded mine;
  mine.first = space.first - space.guard, mine.bytes = space.bytes + 2 * space.guard;
  Guarded* outer = guarded;
  guarded = &mine;
  if (sigsetjmp(mine.back, 1) == 0) {
    function();
    guarded = outer;
    return std::nullopt;
  }
  guarded = outer;
  return mine.address;
}

}  // namespace quern::vgpu
