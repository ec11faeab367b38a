#include "cli/exec_kernel.h"

#include <fmt/format.h>

#include <optional>

#include "array/files.h"
#include "array/npy.h"
#include "backend/open_gpu.h"
#include "base/text.h"
#include "cli/compile_cuda.h"
#include "cli/interrupt.h"
#include "cli/settings.h"

namespace quern::cli {
namespace {

constexpr std::string_view kInOut = "inout:";

struct Given {
  std::optional<array::Array> array;
  std::string path;  // of an array that is written back
  std::string word;
};

bool is_array(const std::string& word) {
  for (const char* ending : {".npy", ".npz", ".safetensors"}) {
    if (word.find(ending) != std::string::npos) return true;
  }
  return false;
}

Result<Given> read_word(const std::string& word) {
  Given out;
  out.word = word;
  bool written = word.starts_with(kInOut);
  std::string path = written ? word.substr(kInOut.size()) : word;
  if (!written && !is_array(path)) return out;
  // archive.npz:member
  size_t colon = path.ends_with(".npy") ? std::string::npos : path.rfind(':');
  std::string member = colon == std::string::npos ? "" : path.substr(colon + 1);
  if (written && !path.ends_with(".npy")) {
    return fail(usage_error("exec", word + ": only a .npy file can be written back"));
  }
  auto read = array::read_array(path.substr(0, colon), member);
  if (!read) return fail(std::move(read.error()));
  // The kernel may write to what it gets, and the file's own pages must not change.
  auto own = array::clone(*read);
  if (!own) return fail(std::move(own.error()));
  out.array = *std::move(own);
  if (written) out.path = path;
  return out;
}

Result<void> write_back(const std::vector<Given>& given, Report& report) {
  Uninterrupted hold;
  for (const Given& g : given) {
    if (g.path.empty()) continue;
    if (auto written = array::write_npy(g.path, *g.array); !written) return written;
    if (!report.json) report.out += fmt::format("{}: {}\n", g.path, array::type_text(g.array->type, g.array->shape));
  }
  return {};
}

}  // namespace

Result<void> exec_kernel(const CommandLine& line, const GpuOptions& options, Report& report) {
  if (line.arguments.empty()) return fail(usage_error("exec", "KERNEL is missing: the name of the kernel to run"));
  auto text = ptx_of(line.targets[0], options.settings.chip);
  if (!text) return fail(std::move(text.error()));
  backend::KernelRun run;
  run.ptx = *text;
  run.file = line.targets[0];
  run.kernel = line.arguments[0];
  if (auto good = parse_extent("--grid", line.grid, run.grid); !good) return good;
  if (auto good = parse_extent("--block", line.block, run.block); !good) return good;
  auto shared = parse_count(line, "--shared", line.shared, 0, INT32_MAX);
  if (!shared) return fail(std::move(shared.error()));
  run.shared_bytes = static_cast<int64_t>(shared->value_or(0));
  std::vector<Given> given;
  for (size_t i = 1; i < line.arguments.size(); ++i) {
    auto one = read_word(line.arguments[i]);
    if (!one) return fail(std::move(one.error()));
    given.push_back(*std::move(one));
  }
  for (Given& g : given) {
    backend::KernelArgument a;
    a.name = g.word;
    if (g.array) {
      a.data = g.array->mutable_data();
      a.bytes = g.array->byte_size();
      a.written = !g.path.empty();
    } else {
      a.text = g.word;
    }
    run.arguments.push_back(std::move(a));
  }
  auto gpu = backend::open_gpu();
  if (!gpu) return fail(std::move(gpu.error()));
  auto done = (*gpu)->run(run, options.settings);
  if (!done) return fail(std::move(done.error()));
  if (!done->fault.empty()) {
    report.found = options.json ? done->fault_json : done->fault;
    return {};
  }
  return write_back(given, report);
}

}  // namespace quern::cli
