#include "cli/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <string_view>

namespace quern::cli {
namespace {

// Handlers may touch only what is lock-free.
std::atomic<int> g_holds = 0;
std::atomic<bool> g_wanted = false;
std::atomic<bool> g_line = false;
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

[[noreturn]] void leave() {
  constexpr std::string_view kWipe = "\r\033[K";
  if (g_line) (void)!::write(STDERR_FILENO, kWipe.data(), kWipe.size());
  ::_exit(130);
}

extern "C" void on_interrupt(int) {
  if (g_holds == 0) leave();
  g_wanted = true;
}

}  // namespace

void watch_interrupts() {
  // A file over its limit is an error of write() like a full disk, not the end of the program.
  ::signal(SIGXFSZ, SIG_IGN);
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  ::sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    // What a parent such as nohup has switched off stays off.
    if (::sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_IGN) continue;
    ::sigaction(signal, &action, nullptr);
  }
}

void line_is_shown(bool shown) { g_line = shown; }

Uninterrupted::Uninterrupted() { ++g_holds; }

Uninterrupted::~Uninterrupted() {
  if (--g_holds == 0 && g_wanted) leave();
}

bool Uninterrupted::wanted() { return g_wanted; }

}  // namespace quern::cli
