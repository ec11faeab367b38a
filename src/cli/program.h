// The whole of `quern` but for the process: reads the command line, runs the subcommand, prints its report.
#pragma once

#include <functional>

namespace quern::cli {

// The exit code: 0 fine, 1 found while running, 2 wrong use or input, 3 unsupported, 70 internal, 130 interrupted.
int run_program(int argc, char** argv);

// Runs `body`; an exception that leaves it is a bug (B001) of ours, in one line and with exit code 70.
int guarded(const std::function<int()>& body);

}  // namespace quern::cli
