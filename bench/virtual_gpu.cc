// The speed of the virtual GPU: warp instructions a second on one core, as PTX counts them, with and without checks,
// and the time against plain C++ of the same algorithm, in turns. Also what a second core gains, and what compiling
// takes.
//
//   bench/virtual_gpu [--json] [KERNEL]
#include <time.h>

#include <algorithm>
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
};

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

 private:
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
  if (!json) std::printf("%-11s %28s %22s %10s\n", "kernel", "M warp instructions / s", "time / plain C++", "compile");
  if (!json)
    std::printf("%-11s %9s %8s %9s %10s %11s %10s\n", "", "unchecked", "bounds", "checked", "unchecked", "checked",
                "ms");
  for (const Case& c : bench.cases()) {
    if (!only.empty() && c.name != only) continue;
    auto r = bench.measure(c);
    all.push_back(r);
    const char* keys[] = {"unchecked_per_s", "bounds_per_s", "checked_per_s"};
    for (int k = 0; k < 3; ++k) logs[k] += std::log(r[keys[k]].get<double>());
    if (json) continue;
    std::printf("%-11s %9.0f %8.0f %9.0f %10.2f %11.2f %10.1f\n", c.name.c_str(),
                r["unchecked_per_s"].get<double>() / 1e6, r["bounds_per_s"].get<double>() / 1e6,
                r["checked_per_s"].get<double>() / 1e6, r["unchecked_over_plain"].get<double>(),
                r["checked_over_plain"].get<double>(), r["compile_s"].get<double>() * 1e3);
  }
  if (json) {
    std::printf("%s\n", all.dump(2).c_str());
  } else if (!all.empty()) {
    auto mean = [&](int k) { return std::exp(logs[k] / static_cast<double>(all.size())) / 1e6; };
    std::printf("%-11s %9.0f %8.0f %9.0f\n", "geo. mean", mean(0), mean(1), mean(2));
  }
}
