// The speed of the virtual GPU: warp instructions a second on one core, as PTX counts them, with and without checks,
// and the time against plain C++ of the same algorithm, in turns. Then products of matrices on tensor cores, against
// the core's rate of multiply-adds; what a second core gains; what compiling takes.
//
//   build/release/bin/bench_virtual_gpu [--json] [KERNEL]
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "ptx/parse.h"
#include "vgpu/launch.h"
#include "vgpu/plain.h"

namespace {

using namespace quern;
using namespace quern::vgpu;

// Of this thread alone: the machine may be shared.
double now() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

struct Case {
  std::string name;
  Extent grid, block;
  std::vector<std::byte> arguments;
  std::function<void()> reset, plain;
  double flops = 0;  // of products of matrices
};

// A kernel of `count` instructions or a few more, in random ifs and elses that lanes take in different ways.
std::string diamonds(int count) {
  std::string out =
      ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry diamonds(.param .u64 p)\n{\n"
      "  .reg .b32 %r<20>; .reg .b64 %p; .reg .pred %q;\n  ld.param.u64 %p, [p];\n  mov.u32 %r0, %tid.x;\n"
      "  mad.wide.u32 %p, %r0, 4, %p;\n";
  uint32_t seed = 1;
  auto random = [&](uint32_t below) {
    return (seed = seed * 1664525 + 1013904223) >> 8 & 0xffffff ? (seed >> 8) % below : 0;
  };
  for (int i = 1; i < 20; ++i) out += fmt::format("  mov.u32 %r{}, {};\n", i, random(1000));
  const char* ops[] = {"add.u32", "sub.u32", "xor.b32", "and.b32", "or.b32", "mul.lo.u32", "min.u32", "max.u32"};
  auto some = [&](uint32_t n) {
    for (uint32_t i = 0; i < n; ++i)
      out += fmt::format("  {} %r{}, %r{}, %r{};\n", ops[random(8)], random(19) + 1, random(20), random(20));
  };
  int done = 25;
  for (int i = 0; done < count; ++i, done += 13) {
    out += fmt::format("  setp.lt.u32 %q, %r{}, %r{};\n  @%q bra L{};\n", random(20), random(20), i);
    some(5);
    out += fmt::format("  bra M{0};\nL{0}:\n", i);
    some(5);
    out += fmt::format("M{}:\n", i);
  }
  for (int i = 1; i < 20; ++i) out += fmt::format("  add.u32 %r0, %r0, %r{};\n", i);
  return out + "  st.global.u32 [%p], %r0;\n  ret;\n}\n";
}

class Bench {
 public:
  Bench() {
    std::ifstream file("bench/vgpu/kernels.ptx");
    std::stringstream text;
    text << file.rdbuf();
    auto module = ptx::parse(text.str(), "bench/vgpu/kernels.ptx");
    check(module);
    auto memory = Memory::create();
    check(memory);
    memory_ = *memory;
    auto program = Program::load(memory_, std::move(*module));
    check(program);
    program_ = *program;
  }

  template <class T>
  static void check(const Result<T>& r) {
    if (r) return;
    std::fputs(render(r.error()).c_str(), stderr);
    std::exit(exit_code(r.error()));
  }

  template <class T>
  T* array(size_t count, const std::function<T(size_t)>& value) {
    auto at = memory_->allocate(static_cast<int64_t>(count * sizeof(T)), 256, Holds::kGlobal);
    check(at);
    auto* p = reinterpret_cast<T*>(*at);
    for (size_t i = 0; i < count; ++i) p[i] = value(i);
    memory_->mark_written(*at, static_cast<int64_t>(count * sizeof(T)));
    return p;
  }

  template <class... A>
  static std::vector<std::byte> pack(const A&... a) {
    std::vector<std::byte> out;
    auto put = [&](const auto& v) {
      size_t at = (out.size() + sizeof v - 1) / sizeof v * sizeof v;
      out.resize(at + sizeof v);
      std::memcpy(out.data() + at, &v, sizeof v);
    };
    (put(a), ...);
    return out;
  }

  Ran run(const Case& c, const Settings& settings) {
    Launch launch;
    launch.grid = c.grid, launch.block = c.block, launch.arguments = c.arguments;
    auto ran = vgpu::run(*program_, c.name, launch, settings);
    check(ran);
    if (ran->fault) {
      std::fputs(render(*ran->fault).c_str(), stderr);
      std::exit(1);
    }
    return std::move(*ran);
  }

  nlohmann::json measure(const Case& c) {
    Settings settings;
    settings.threads = 1;
    settings.count = true;
    c.reset();
    double started = now();
    Ran first = run(c, settings);
    auto instructions = static_cast<double>(first.warp_instructions);
    settings.count = false;
    c.reset();
    started = now();
    Ran compiled = run(c, settings);
    double compile = now() - started - compiled.run_s;
    double plain = 1e9, best[3] = {1e9, 1e9, 1e9};
    for (int round = 0; round < 15; ++round) {
      c.reset();
      started = now();
      c.plain();
      plain = std::min(plain, now() - started);
      for (int mode = 0; mode < 3; ++mode) {
        settings.checks = {mode > 0, mode > 1};
        if (round == 0) c.reset(), run(c, settings);
        c.reset();
        started = now();
        run(c, settings);
        best[mode] = std::min(best[mode], now() - started);
      }
    }
    if (c.flops > 0) {
      double peak = 1e9;
      for (int round = 0; round < 5; ++round) {
        started = now();
        kept_ += bench::plain_multiply_adds(1 << 18);
        peak = std::min(peak, now() - started);
      }
      double rate = 12 * 16 * 2 * static_cast<double>(1 << 18) / peak;
      return {{"kernel", c.name},
              {"flops_per_s", c.flops / best[0]},
              {"checked_flops_per_s", c.flops / best[2]},
              {"share_of_multiply_adds", c.flops / best[0] / rate},
              {"checked_share", c.flops / best[2] / rate},
              {"multiply_adds_flops_per_s", rate},
              {"checked_over_plain", best[2] / plain},
              {"compile_s", compile}};
    }
    return {{"kernel", c.name},
            {"warp_instructions", instructions},
            {"unchecked_per_s", instructions / best[0]},
            {"bounds_per_s", instructions / best[1]},
            {"checked_per_s", instructions / best[2]},
            {"unchecked_over_plain", best[0] / plain},
            {"checked_over_plain", best[2] / plain},
            {"compile_s", compile}};
  }

  std::vector<Case> cases();

  // What two threads gain over one, by the clock on the wall.
  double gain(Case c) {
    c.grid[2] = 64;  // the same blocks over and over: starting a thread must not count
    auto wall = [&](int threads) {
      Settings settings;
      settings.threads = threads;
      auto start = std::chrono::steady_clock::now();
      run(c, settings);
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    };
    double one = 1e9, two = 1e9;
    for (int round = 0; round < 9; ++round)
      c.reset(), one = std::min(one, wall(1)), c.reset(), two = std::min(two, wall(2));
    return one / two;
  }

  // From text to machine code, with checks.
  double compile(int instructions) {
    double best = 1e9;
    for (int round = 0; round < 3; ++round) {
      auto memory = Memory::create();
      check(memory);
      double started = now();
      auto module = ptx::parse(diamonds(instructions), "diamonds.ptx");
      check(module);
      auto program = Program::load(*memory, std::move(*module));
      check(program);
      Launch launch;
      launch.block = {32, 1, 1};
      auto at = (*memory)->allocate(128, 256, Holds::kGlobal);
      check(at);
      launch.arguments = pack(*at);
      Settings settings;
      settings.threads = 1;
      auto ran = vgpu::run(**program, "diamonds", launch, settings);
      check(ran);
      best = std::min(best, now() - started);
    }
    return best;
  }

 private:
  float kept_ = 0;
  std::shared_ptr<Memory> memory_;
  std::shared_ptr<Program> program_;
};

std::vector<Case> Bench::cases() {
  std::vector<Case> out;
  int n = 1 << 18;
  auto count = static_cast<size_t>(n);
  auto u = static_cast<uint32_t>(n);
  {
    float* x = array<float>(count, [](size_t i) { return static_cast<float>(i % 97); });
    float* y = array<float>(count, [](size_t i) { return static_cast<float>(i % 13); });
    out.push_back({"saxpy",
                   {u / 256, 1, 1},
                   {256, 1, 1},
                   pack(0.5f, x, y, n),
                   [] {},
                   [=] { bench::plain_saxpy(0.5f, x, y, n); }});
  }
  {
    int size = 256;
    size_t all = 256 * 256;
    float* a = array<float>(all, [](size_t i) { return static_cast<float>(i % 7) - 3; });
    float* b = array<float>(all, [](size_t i) { return static_cast<float>(i % 5) - 2; });
    float* c = array<float>(all, [](size_t) { return 0.0f; });
    auto reset = [=] { std::memset(c, 0, all * 4); };
    auto plain = [=] { bench::plain_matmul(a, b, c, size); };
    out.push_back({"matmul32", {8, 8, 1}, {32, 32, 1}, pack(a, b, c, size), reset, plain});
    out.push_back({"matmul4x4", {4, 4, 1}, {16, 16, 1}, pack(a, b, c, size), reset, plain});
  }
  {
    int size = 1024;
    size_t all = 1024 * 1024;
    // 1, 1.5, 2 and so on, as f16
    auto* a = array<uint16_t>(all, [](size_t i) { return static_cast<uint16_t>(0x3c00 + i % 7 * 0x200); });
    auto* b = array<uint16_t>(all, [](size_t i) { return static_cast<uint16_t>(0x3c00 + i % 5 * 0x200); });
    float* c = array<float>(all, [](size_t) { return 0.0f; });
    auto reset = [=] { std::memset(c, 0, all * 4); };
    float* x = array<float>(all, [](size_t i) { return static_cast<float>(i % 7); });
    float* y = array<float>(all, [](size_t i) { return static_cast<float>(i % 5); });
    auto plain = [=] { bench::plain_matmul(x, y, c, size); };
    out.push_back({"matmul_mma", {8, 8, 1}, {128, 1, 1}, pack(a, b, c, size), reset, plain, 2.0 * 1024 * 1024 * 1024});
  }
  {
    float* x = array<float>(count, [](size_t i) { return static_cast<float>(i % 17); });
    float* y = array<float>(count / 512, [](size_t) { return 0.0f; });
    out.push_back(
        {"reduce", {u / 512, 1, 1}, {256, 1, 1}, pack(x, y, n), [] {}, [=] { bench::plain_reduce(x, y, n); }});
  }
  {
    auto* x = array<uint8_t>(count, [](size_t i) { return static_cast<uint8_t>((i * 2654435761u) >> 13); });
    auto* h = array<uint32_t>(256, [](size_t) { return 0u; });
    out.push_back({"histogram",
                   {16, 1, 1},
                   {256, 1, 1},
                   pack(x, h, n),
                   [=] { std::memset(h, 0, 1024); },
                   [=] { bench::plain_histogram(x, h, n); }});
  }
  {
    int m = 1 << 15;
    auto* x = array<uint32_t>(1 << 15, [](size_t i) { return static_cast<uint32_t>(i + 1); });
    auto* y = array<uint32_t>(1 << 15, [](size_t) { return 0u; });
    auto plain = [=] { bench::plain_collatz(x, y, m); };
    for (const char* name : {"collatz", "collatz2"})
      out.push_back({name, {128, 1, 1}, {256, 1, 1}, pack(x, y, m), [] {}, plain});
  }
  {
    int width = 512, height = 256, most = 256;
    auto* y = array<uint32_t>(512 * 256, [](size_t) { return 0u; });
    out.push_back({"mandelbrot",
                   {16, 32, 1},
                   {32, 8, 1},
                   pack(y, width, height, most),
                   [] {},
                   [=] { bench::plain_mandelbrot(y, width, height, most); }});
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  bool json = false;
  std::string only;
  for (int i = 1; i < argc; ++i) (std::string(argv[i]) == "--json" ? void(json = true) : void(only = argv[i]));
  Bench bench;
  nlohmann::json all = nlohmann::json::array();
  double logs[3] = {};
  int counted = 0;
  nlohmann::json tensor;
  if (!json) std::printf("%-11s %28s %22s %10s\n", "kernel", "M warp instructions / s", "time / plain C++", "compile");
  if (!json)
    std::printf("%-11s %9s %8s %9s %10s %11s %10s\n", "", "unchecked", "bounds", "checked", "unchecked", "checked",
                "ms");
  for (const Case& c : bench.cases()) {
    if (!only.empty() && c.name != only) continue;
    auto r = bench.measure(c);
    all.push_back(r);
    if (c.flops > 0) {
      tensor = r;
      continue;
    }
    ++counted;
    const char* keys[] = {"unchecked_per_s", "bounds_per_s", "checked_per_s"};
    for (int k = 0; k < 3; ++k) logs[k] += std::log(r[keys[k]].get<double>());
    if (json) continue;
    std::printf("%-11s %9.0f %8.0f %9.0f %10.2f %11.2f %10.1f\n", c.name.c_str(),
                r["unchecked_per_s"].get<double>() / 1e6, r["bounds_per_s"].get<double>() / 1e6,
                r["checked_per_s"].get<double>() / 1e6, r["unchecked_over_plain"].get<double>(),
                r["checked_over_plain"].get<double>(), r["compile_s"].get<double>() * 1e3);
  }
  std::vector<Case> cases = bench.cases();
  for (const Case& c : cases) {
    if (!only.empty() || (c.name != "matmul32" && c.name != "mandelbrot")) continue;
    all.push_back({{"kernel", c.name}, {"two_threads_over_one", bench.gain(c)}});
  }
  for (int instructions : {500, 20000}) {
    if (only.empty()) all.push_back({{"instructions", instructions}, {"compile_s", bench.compile(instructions)}});
  }
  if (json) {
    std::printf("%s\n", all.dump(2).c_str());
  } else if (counted) {
    auto mean = [&](int k) { return std::exp(logs[k] / static_cast<double>(counted)) / 1e6; };
    std::printf("%-11s %9.0f %8.0f %9.0f\n", "geo. mean", mean(0), mean(1), mean(2));
  }
  if (json) return 0;
  if (!tensor.is_null()) {
    std::printf(
        "matmul_mma  %.1f GFLOP/s unchecked, %.1f checked: %.0f and %.0f %% of the core's %.1f of f32 multiply-adds; "
        "%.2f of plain C++'s time; compiled in %.0f ms\n",
        tensor["flops_per_s"].get<double>() / 1e9, tensor["checked_flops_per_s"].get<double>() / 1e9,
        tensor["share_of_multiply_adds"].get<double>() * 100, tensor["checked_share"].get<double>() * 100,
        tensor["multiply_adds_flops_per_s"].get<double>() / 1e9, tensor["checked_over_plain"].get<double>(),
        tensor["compile_s"].get<double>() * 1e3);
  }
  for (const auto& r : all) {
    if (r.contains("two_threads_over_one"))
      std::printf("%-11s two threads %.2f times as fast as one\n", r["kernel"].get<std::string>().c_str(),
                  r["two_threads_over_one"].get<double>());
    if (r.contains("instructions"))
      std::printf("%d instructions: %.0f ms from text to the end of the first run\n", r["instructions"].get<int>(),
                  r["compile_s"].get<double>() * 1e3);
  }
}
