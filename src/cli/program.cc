#include "cli/program.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/report.h"

namespace quern::cli {
namespace {

bool wants_color(const std::string& when, int file) {
  if (when != "auto") return when == "always";
  const char* no_color = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  return !(no_color && *no_color) && !(terminal && std::strcmp(terminal, "dumb") == 0) && ::isatty(file);
}

int run(int argc, char** argv) {
  auto line = parse_command_line(argc, argv);
  Report report;
  if (!line) {
    report.add(std::move(line.error()));
    return show(report, wants_color("auto", STDERR_FILENO));
  }
  report.json = line->json;
  if (line->command.empty()) {
    report.out = line->text;
  } else {
    find_command(line->command)->run(*line, report);
  }
  return show(report, wants_color(line->color, STDERR_FILENO));
}

}  // namespace

int guarded(const std::function<int()>& body) {
  std::string what;
  try {
    return body();
  } catch (const std::bad_alloc&) {
    what = "out of memory";
  } catch (const std::exception& e) {
    what = e.what();
  } catch (...) {
    what = "an unknown exception";
  }
  write_all(STDERR_FILENO, render(diagnose(Code::B001, {}, {{"what", what}})));
  return 70;
}

int run_program(int argc, char** argv) {
  watch_interrupts();
  return guarded([&] { return run(argc, argv); });
}

}  // namespace quern::cli
