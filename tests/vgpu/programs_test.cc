// The second oracle: random programs (program_text.h), compiled once to this machine's code by LLVM's library and once
// to PTX by its llc, leave the same results and the same memory, in whole warps and partial ones, in every order, with
// checks and without. Half of the PTX is optimised first, by opt, which brings what compilers make of such programs:
// registers in place of memory, selects, switches, unrolled loops.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "jit/jit.h"
#include "program_text.h"
#include "scale.h"
#include "unit/vgpu/device.h"
#include "values.h"

namespace quern::oracle {
namespace {

namespace fs = std::filesystem;

struct Data {
  std::vector<u64> inputs, memories, results;  // 8, 8 and 1 a thread
};

Data random_data(Random& random, u32 n) {
  Data d{.inputs = {}, .memories = {}, .results = std::vector<u64>(n)};
  bool alike = below(random, 3) == 0;  // most lanes then go one way
  for (u32 i = 0; i < n; ++i) {
    for (u32 k = 0; k < 8; ++k) {
      u64 v = k < 3 ? code_of(random_value<u32>(random)) : k < 5 ? random_value<u64>(random) : 0;
      if (k == 5 || k == 6) v = code_of(random_value<f32>(random));
      if (k == 7) v = code_of(random_value<f64>(random));
      if (alike && i % 32 && below(random, 16)) v = d.inputs[(i - 1) * 8 + k];
      d.inputs.push_back(v);
    }
    for (u32 k = 0; k < 8; ++k) d.memories.push_back(random());
  }
  return d;
}

// Text through a program of LLVM's.
std::string through(const std::string& tool, const std::string& options, const std::string& text) {
  fs::path folder = fs::path(testing::TempDir());
  std::string from = folder / fmt::format("quern_oracle_{}.ll", ::getpid());
  std::string to = folder / fmt::format("quern_oracle_{}.out", ::getpid());
  std::ofstream(from) << text;
  std::string command = fmt::format("'{}' {} '{}' -o '{}'", tool, options, from, to);
  int rc = std::system(command.c_str());
  std::stringstream out;
  if (rc == 0) out << std::ifstream(to).rdbuf();
  fs::remove(from), fs::remove(to);
  return out.str();
}

using Host = void (*)(const void* inputs, void* memories, void* results, u32 n);

// Random inputs through both. False where they differ.
bool same_results(vgpu::Device& device, Host host, const std::string& program, u32 block, Random& random) {
  u32 n = below(random, 2) ? block * static_cast<u32>(1 + below(random, 2)) : static_cast<u32>(1 + below(random, 256));
  Data given = random_data(random, n), right = given;
  host(right.inputs.data(), right.memories.data(), right.results.data(), n);
  uint64_t memories = device.copy(given.memories), results = device.copy(given.results);
  device.settings.order = below(random, 3) ? random() : 0;
  auto fault = device.run("all", {(n + block - 1) / block, 1, 1}, {block, 1, 1},
                          vgpu::Device::pack(device.copy(given.inputs), memories, results, n));
  std::string where = fmt::format("{}, {} threads in blocks of {}, order {}, checks {}", program, n, block,
                                  device.settings.order, device.settings.checks.memory);
  EXPECT_FALSE(fault) << where << ": " << (fault ? render(*fault) : "");
  if (fault) return false;
  std::vector<u64> found = device.read<u64>(results, n), memory = device.read<u64>(memories, size_t{n} * 8);
  for (u32 i = 0; i < n; ++i) {
    bool same = found[i] == right.results[i];
    for (u32 k = 0; k < 8; ++k) same &= memory[i * 8 + k] == right.memories[i * 8 + k];
    if (same) continue;
    ADD_FAILURE() << where << fmt::format(": thread {} has 0x{:x}, not 0x{:x}", i, found[i], right.results[i]);
    return false;
  }
  return true;
}

// False where the two differ, or one of the compilers refused the program.
bool agree(uint64_t seed, bool all_machines, size_t& runs) {
  ProgramText program = random_program(seed);
  Random random(seed);
  auto object = jit::compile(host_module(program), jit::host_cpu());
  EXPECT_TRUE(object) << "program " << seed << ": " << (object ? "" : render(object.error()));
  if (!object) return false;
  auto code = jit::load(*object);
  EXPECT_TRUE(code) << "program " << seed << ": " << (code ? "" : render(code.error()));
  if (!code) return false;
  auto host = reinterpret_cast<Host>((*code)->entry("all"));

  std::string text = kernel_module(program);
  constexpr const char* kPasses[] = {"", "mem2reg", "default<O1>", "default<O2>"};
  std::string passes = kPasses[below(random, 4)];
  if (!passes.empty()) text = through(QUERN_OPT, fmt::format("-S -passes='{}'", passes), text);
  std::string options = below(random, 4) ? "-O3" : "-O1";
  std::string ptx = through(QUERN_LLC, options + " -mtriple=nvptx64-nvidia-cuda -mcpu=sm_80 -fp-contract=off", text);
  EXPECT_FALSE(ptx.empty()) << "program " << seed << ": llc or opt failed";
  if (ptx.empty()) return false;

  vgpu::Device device{vgpu::Device::Text{ptx}};
  device.settings.threads = 1;
  device.settings.timeout_s = 60;
  device.settings.limits.stack_bytes = 4096;
  for (int way = 0; way < 2; ++way) {
    u32 block = std::array<u32, 6>{32, 64, 128, 40, 7, 96}[below(random, 6)];
    device.settings.checks.memory = way == 0 || below(random, 2);
    device.settings.checks.init = way == 0;
    // Code for processors with fewer vectors takes long to make.
    vgpu::Machine machine = vgpu::this_machine();
    bool small = std::count(ptx.begin(), ptx.end(), '\n') < 400;
    jit::CpuTarget other = jit::cpu_of(below(random, 4) ? jit::VectorLevel::kAvx2 : jit::VectorLevel::kSse2);
    if (all_machines && small && way == 1 && below(random, 3) == 0 && jit::runs_here(other)) {
      machine = {other, below(random, 2) == 0};
    }
    device.settings.machine = machine;
    // Most of the time goes into making the code.
    for (int launch = 0; launch < 8; ++launch, ++runs) {
      if (!same_results(device, host, fmt::format("program {} ({})", seed, passes), block, random)) return false;
    }
  }
  return true;
}

TEST(Programs, AgreeWithTheHost) {
  for (const char* tool : {QUERN_LLC, QUERN_OPT}) {
    if (!fs::exists(tool)) GTEST_SKIP() << "llc and opt of LLVM 22 are not here (apt-get install llvm-22)";
  }
  Budget budget;
  size_t programs = 0, runs = 0, disagreements = 0;
  while (disagreements < 20 && budget.more(8)) {
    disagreements += agree(seed() + programs++, budget.is_long(), runs) ? 0 : 1;
  }
  fmt::print("seeds {} ... {}: {} programs, {} runs, {} disagreements\n", seed(), seed() + programs - 1, programs, runs,
             disagreements);
}

}  // namespace
}  // namespace quern::oracle
