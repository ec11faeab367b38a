// How near the code of target/x86 comes to this machine's peak: register blocks of a matmul (kernel alone, B in packed
// panels that stay in a cache; and whole, packing included), exponentials over rows. Shares are of a loop of
// independent fmas in registers that runs in the same process, alternating with what is measured; each figure is the
// best of many.
//
//   cmake --build build/release --target bench_micro_kernels && build/release/bin/bench_micro_kernels
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "jit/jit.h"
#include "jit/kernel_abi.h"
#include "target/ir_text.h"
#include "target/x86/emit.h"
#include "tile/parse.h"

namespace {

using namespace quern;

[[noreturn]] void stop(const Diagnostics& why) {
  fmt::print(stderr, "{}\n", render(why));
  std::exit(70);
}

// Of this thread's own time: the machine may be shared.
double seconds(const std::function<void()>& f) {
  auto now = [] {
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
  };
  double start = now();
  f();
  return now() - start;
}

std::shared_ptr<const jit::MachineCode> linked(const std::string& ir, const jit::CpuTarget& cpu) {
  auto object = jit::compile(ir, cpu);
  if (!object) stop(object.error());
  auto code = jit::load(*object);
  if (!code) stop(code.error());
  return *code;
}

// Ten chains of fma (or multiply and add) on whole registers: flops a second.
struct Peak {
  std::shared_ptr<const jit::MachineCode> code;
  int lanes;

  explicit Peak(const jit::CpuTarget& cpu) : lanes(cpu.vector_bytes / 4) {
    target::Module module;
    target::Writer w(module, "define float @peak(i64 %n, float %x)");
    using target::Base, target::Value;
    Value x = w.splat({"%x", {Base::f32}}, lanes);
    target::Writer::Loop loop = w.open_loop(target::i64(0), {"%n", {Base::i64}}, target::i64(1), true);
    std::vector<Value> chains;
    for (int i = 0; i < 10; ++i) chains.push_back(w.carry(loop, target::real_constant(x.type, i)));
    for (int i = 0; i < 10; ++i) {
      auto at = static_cast<size_t>(i);
      loop.phis[at].next = cpu.fma ? w.intrinsic("fma", x.type, {chains[at], x, x})
                                   : w.binary("fadd", w.binary("fmul", chains[at], x), x);
    }
    std::vector<Value> out = w.close_loop(loop);
    Value sum = out[0];
    for (size_t i = 1; i < 10; ++i) sum = w.binary("fadd", sum, out[i]);
    w.finish("ret float " + w.extract(sum, 0).name);
    code = linked(module.print(), cpu);
  }
  double rate() const {
    auto f = reinterpret_cast<float (*)(int64_t, float)>(code->entry("peak"));
    constexpr int64_t kTrips = 200000;
    volatile float sink = 0;
    double t = seconds([&] { sink = f(kTrips, 0.5f); });
    return 20.0 * lanes * kTrips / t;
  }
};

struct Program {
  tile::Program program;
  std::shared_ptr<const jit::MachineCode> code;
  std::string entry;
  double milliseconds = 0;

  Program(const std::string& text, const jit::CpuTarget& cpu) {
    auto parsed = tile::parse(Source::make("<bench>", text));
    if (!parsed) stop(parsed.error());
    program = *parsed;
    milliseconds = 1e3 * seconds([&] {
                     auto emitted = target::emit_x86(program, 0, cpu);
                     if (!emitted) stop(emitted.error());
                     entry = emitted->entry;
                     if (std::getenv("QUERN_SHOW_IR")) fmt::print("{}\n", emitted->ir);
                     if (std::getenv("QUERN_SHOW_ASM")) fmt::print("{}\n", jit::assembly(emitted->ir, cpu).value());
                     code = linked(emitted->ir, cpu);
                   });
  }
  void operator()(std::vector<void*> params, void* arena) const {
    std::vector<int64_t> dims;
    for (const tile::Dim& d : program.dims) dims.push_back(*d.value);
    jit::Report report{.found = jit::keep_first};
    int64_t points = reinterpret_cast<jit::KernelSize>(code->entry(entry + "_points"))(params.data(), dims.data());
    reinterpret_cast<jit::Kernel>(code->entry(entry))(params.data(), dims.data(), 0, points, arena, &report);
  }
};

double best_share(const Peak& peak, double flops, const std::function<void()>& f) {
  double fastest = 1e30, most = 0;
  // Long enough that asking for the time, a system call, does not count.
  int times = std::max(1, static_cast<int>(1e8 / flops));
  for (int i = 0; i < 20; ++i) {
    fastest = std::min(fastest, seconds([&] {
                                  for (int j = 0; j < times; ++j) f();
                                }) / times);
    most = std::max(most, peak.rate());
  }
  return flops / fastest / most;
}

struct Free {
  void operator()(void* p) const { std::free(p); }
};
template <class T>
std::unique_ptr<T, Free> aligned(int64_t n) {
  auto bytes = static_cast<size_t>((n * static_cast<int64_t>(sizeof(T)) + 4095) / 4096 * 4096);
  return std::unique_ptr<T, Free>(static_cast<T*>(std::aligned_alloc(4096, bytes)));
}

void matmul(const jit::CpuTarget& cpu, const Peak& peak, int64_t m, int64_t n, int64_t k, int64_t mb, int64_t vectors,
            bool packed, int64_t kb) {
  int64_t nb = vectors * cpu.vector_bytes / 4;
  std::string text = fmt::format(
      "program p laid\ndims M = {}, N = {}, K = {}\nin a: f32[M, K]\nin b: f32[K, N]\n"
      "out c: f32[M, N]\n\nkernel p\n  axes m < M, n < N, k < K\n",
      m, n, k);
  if (packed) {
    text += fmt::format("  keep pb near n%{0} k n/{0}\n  nest k n:{0} lanes\n    pb = load b[k, n]\n", nb);
  }
  text += fmt::format("  nest n:{} lanes m:{} | k:{}\n    store c[m, n] = dot[k](load a[m, k], {})\n", nb, mb, kb,
                      packed ? "pb" : "load b[k, n]");
  Program p(text, cpu);
  auto a = aligned<float>(m * k), b = aligned<float>(k * n), c = aligned<float>(m * n);
  auto arena = aligned<char>((k + 8) * (n + 2 * nb) * 4);
  for (int64_t i = 0; i < m * k; ++i) a.get()[i] = static_cast<float>(i % 7) - 3;
  for (int64_t i = 0; i < k * n; ++i) b.get()[i] = static_cast<float>(i % 5) - 2;
  double share = best_share(peak, 2.0 * static_cast<double>(m * n * k), [&] {
    p({a.get(), b.get(), c.get()}, arena.get());
  });
  fmt::print("{:7} matmul {:4}x{:4}x{:4}  block {}x{} {:8} k {}  share of peak {:.3f}   emit and compile {:.1f} ms\n",
             jit::name(cpu.level), m, n, k, mb, nb, packed ? "packed" : "in place", kb, share, p.milliseconds);
}

void row_function(const jit::CpuTarget& cpu, const char* function) {
  int64_t n = 2048;
  std::string text = fmt::format(
      "program p laid\ndims N = {}\nin x: f32[N]\nout y: f32[N]\n\nkernel p\n  axes n < N\n"
      "  nest n:{} lanes\n    store y[n] = {}(load x[n])\n",
      n, cpu.vector_bytes, function);
  Program p(text, cpu);
  auto x = aligned<float>(n), y = aligned<float>(n);
  for (int64_t i = 0; i < n; ++i) x.get()[i] = static_cast<float>(i % 100) / 10 + 0.1f;
  double fastest = 1e30;
  for (int i = 0; i < 20; ++i) {
    fastest = std::min(fastest, seconds([&] {
                                  for (int j = 0; j < 200; ++j) p({x.get(), y.get()}, nullptr);
                                }) / 200);
  }
  fmt::print("{:7} {:2} lanes {:6} {:.3f} ns an element   emit and compile {:.1f} ms\n", jit::name(cpu.level),
             cpu.vector_bytes / 4, function, fastest * 1e9 / static_cast<double>(n), p.milliseconds);
}

}  // namespace

int main() {
  std::vector<jit::CpuTarget> cpus = {jit::host_cpu()};
  if (cpus[0].level != jit::VectorLevel::kSse2) cpus.push_back(jit::cpu_of(jit::VectorLevel::kSse2));
  for (const char* f : {"exp", "exp2", "log", "tanh"}) {
    jit::CpuTarget twice = cpus[0];
    twice.vector_bytes *= 2;
    row_function(twice, f);
  }
  for (const jit::CpuTarget& cpu : cpus) {
    Peak peak(cpu);
    peak.rate();
    fmt::print("{:7} peak {:.1f} GFLOP/s, {}\n", jit::name(cpu.level), peak.rate() / 1e9, cpu.cpu);
    bool wide = cpu.level == jit::VectorLevel::kAvx512;
    int64_t mb = wide ? 8 : cpu.level == jit::VectorLevel::kAvx2 ? 6 : 4, vectors = wide ? 3 : 2;
    for (int64_t kb : {1, 2, 4}) matmul(cpu, peak, 48, 48, 256, mb, vectors, true, kb);
    matmul(cpu, peak, 256, 256, 256, mb, vectors, true, 1);
    matmul(cpu, peak, 512, 512, 512, mb, vectors, true, 1);
    matmul(cpu, peak, 512, 512, 512, mb, vectors, false, 1);
    matmul(cpu, peak, 127, 257, 509, mb, vectors, true, 1);
    for (const char* f : {"exp", "exp2", "log", "tanh", "erf", "sin"}) row_function(cpu, f);
  }
}
