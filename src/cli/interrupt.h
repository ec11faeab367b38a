// Ctrl-C. It ends the program at once with exit code 130, because a run may be deep in a computation; but not while
// files are put in place, which is the only thing that could be left half done.
#pragma once

namespace quern::cli {

// Installs the handlers of SIGINT, SIGTERM and SIGHUP.
void watch_interrupts();

// True while a progress line stands on the terminal: the handler wipes it.
void line_is_shown(bool shown);

// While one lives, an interrupt waits: it is kept until the last of them is gone and then ends the program.
class Uninterrupted {
 public:
  Uninterrupted();
  ~Uninterrupted();
  Uninterrupted(const Uninterrupted&) = delete;
  Uninterrupted& operator=(const Uninterrupted&) = delete;

  static bool wanted();  // an interrupt is waiting
};

}  // namespace quern::cli
