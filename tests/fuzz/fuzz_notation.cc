// Any bytes as a file of the notation. Loading it ends, with messages that name a place; what could be read prints and
// reads back as the same; a good kernel, checked, is a kernel again that checks to the same.
#include <cstdio>
#include <cstdlib>

#include "expr/print.h"
#include "expr/program.h"
#include "lang/load.h"
#include "lang/parse.h"

namespace {

using namespace quern;

void require(bool good, const char* law, const std::string& text) {
  if (good) return;
  std::fprintf(stderr, "%s\n%s\n", law, text.c_str());
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string text(reinterpret_cast<const char*>(data), size);
  // Files beside the current folder are none of the input's business.
  if (text.find("import") != std::string::npos) return -1;
  lang::Unit unit = lang::load(Source::make("fuzz.qn", text));
  for (const Diagnostic& d : unit.errors) {
    require(d.span.source != nullptr, "a message without a place", d.message);
    require(!d.message.empty() && !render(d).empty(), "an empty message", text);
  }
  lang::Parsed parsed = lang::parse(Source::make("fuzz.qn", text));
  if (parsed.errors.empty()) {
    std::string printed = expr::print(parsed.module);
    lang::Parsed again = lang::parse(Source::make("printed.qn", printed));
    require(again.errors.empty(), render(again.errors).c_str(), printed);
    require(expr::equal(parsed.module, again.module), "printing changed it", printed);
    require(expr::print(again.module) == printed, "printing again changed it", printed);
  }
  for (const lang::CheckedKernel& k : unit.kernels) {
    if (!k.program) continue;
    std::string kernel = expr::print(expr::to_kernel(*k.program));
    lang::Unit again = lang::load(Source::make("kernel.qn", kernel));
    require(again.errors.empty() && again.kernels.size() == 1, render(again.errors).c_str(), kernel);
    require(expr::print(expr::to_kernel(*again.kernels[0].program)) == kernel, "checking changed it", kernel);
  }
  return 0;
}
