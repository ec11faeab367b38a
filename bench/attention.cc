// Causal attention, f32: fused by the compiler; as three kernels, one a step, of the same compiler and so with the same
// micro-kernels; and as loops for the C++ compiler (attention_loops.cc). They run in turns on the same arrays, so that
// a busy minute of the machine meets all of them; figures are the best of the rounds, ratios those of each round's
// times, in the middle. The machine's peak is measured between the rounds.
//
//   cmake --build build/release --target bench_attention && build/release/bin/bench_attention --json
#include <fmt/format.h>
#include <quern/module.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>
#include <vector>

#include "device/cpu/peak.h"

void attention_loops(const float* q, const float* k, const float* v, float* o, int64_t n, int64_t d);
void attention_loops_fast(const float* q, const float* k, const float* v, float* o, int64_t n, int64_t d);

namespace {

constexpr char kText[] =
    "kernel attention(q: f32[H, M, D], k: f32[H, N, D], v: f32[H, N, E]) -> o: f32[H, M, E] {\n"
    "  s[h, m, n] = sum[d] q[h, m, d] * k[h, n, d] / sqrt(D)\n"
    "  p[h, m, n] = softmax[n](s[h, m, n] if n <= m + N - M else -inf)\n"
    "  o[h, m, e] = sum[n] p[h, m, n] * v[h, n, e]\n"
    "}\n"
    "kernel scores(q: f32[H, M, D], k: f32[H, N, D]) -> s: f32[H, M, N] {\n"
    "  s[h, m, n] = sum[d] q[h, m, d] * k[h, n, d] / sqrt(D)\n"
    "}\n"
    "kernel weights(s: f32[H, M, N]) -> p: f32[H, M, N] {\n"
    "  p[h, m, n] = softmax[n](s[h, m, n] if n <= m + N - M else -inf)\n"
    "}\n"
    "kernel means(p: f32[H, M, N], v: f32[H, N, E]) -> o: f32[H, M, E] {\n"
    "  o[h, m, e] = sum[n] p[h, m, n] * v[h, n, e]\n"
    "}\n";

[[noreturn]] void stop(const std::string& why) {
  fmt::print(stderr, "{}\n", why);
  std::exit(70);
}

struct Form {
  const char* name;
  std::function<void()> run;
  std::vector<float> result;
  std::vector<double> seconds;
  double best() const { return *std::ranges::min_element(seconds); }
};

double middle(std::vector<double> v) {
  std::ranges::sort(v);
  return v[v.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  bool json = false;
  int64_t n = 4096, d = 64, heads = 8;
  int rounds = 5, threads = 0;
  for (int i = 1; i < argc; ++i) {
    auto count = [&](const char* name) {
      return !std::strcmp(argv[i], name) && i + 1 < argc ? std::atoll(argv[++i]) : 0;
    };
    if (!std::strcmp(argv[i], "--json")) {
      json = true;
    } else if (int64_t c = count("--rounds")) {
      rounds = static_cast<int>(c);
    } else if (c = count("--threads"); c) {
      threads = static_cast<int>(c);
    } else if (c = count("--length"); c) {
      n = c;
    } else {
      stop("usage: bench_attention [--json] [--rounds N] [--threads N] [--length N]");
    }
  }
  if (threads == 0) threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  auto module = quern::parse(kText);
  if (!module) stop(module.error().text());
  quern::Options options{.threads = threads, .copy_outputs = false, .cache = false};
  auto compiled = [&](const char* name) {
    auto program = module->find(name)->compile(quern::Device::named("cpu"), options);
    if (!program) stop(program.error().text());
    return *program;
  };
  quern::Program attention = compiled("attention"), scores = compiled("scores"), weights = compiled("weights"),
                 means = compiled("means");

  auto small = static_cast<size_t>(heads * n * d), large = static_cast<size_t>(heads * n * n);
  std::vector<float> q(small), k(small), v(small), s(large), p(large);
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (std::vector<float>* x : {&q, &k, &v}) std::ranges::generate(*x, [&] { return normal(random); });

  auto run = [](const quern::Program& program, const quern::Arguments& arguments) {
    if (auto done = program.run(arguments); !done) stop(done.error().text());
  };
  using In = std::span<const float>;
  std::vector<int64_t> rows{heads, n, d}, square{heads, n, n};
  std::vector<Form> forms;
  forms.reserve(4);
  forms.push_back({.name = "fused", .run = [&] {
                     quern::Arguments a;
                     a.tensor("q", In(q), rows).tensor("k", In(k), rows).tensor("v", In(v), rows);
                     a.output("o", std::span(forms[0].result), rows);
                     run(attention, a);
                   }});
  forms.push_back({.name = "unfused", .run = [&] {
                     quern::Arguments a, b, c;
                     a.tensor("q", In(q), rows).tensor("k", In(k), rows).output("s", std::span(s), square);
                     run(scores, a);
                     b.tensor("s", In(s), square).output("p", std::span(p), square);
                     run(weights, b);
                     c.tensor("p", In(p), square).tensor("v", In(v), rows);
                     c.output("o", std::span(forms[1].result), rows);
                     run(means, c);
                   }});
  auto by_heads = [&](auto loops, size_t form) {
    return [&, loops, form] {
      std::vector<std::jthread> team;
      for (int t = 0; t < threads; ++t) {
        team.emplace_back([&, t] {
          for (int64_t h = t; h < heads; h += threads) {
            int64_t at = h * n * d;
            loops(&q[static_cast<size_t>(at)], &k[static_cast<size_t>(at)], &v[static_cast<size_t>(at)],
                  &forms[form].result[static_cast<size_t>(at)], n, d);
          }
        });
      }
    };
  };
  forms.push_back({.name = "loops", .run = by_heads(attention_loops, 2)});
  forms.push_back({.name = "loops, fast-math", .run = by_heads(attention_loops_fast, 3)});
  for (Form& f : forms) {
    f.result.resize(small);
    f.run();  // touches memory, compiles
  }
  double off = 0;
  for (const Form& f : forms) {
    for (size_t i = 0; i < small; ++i) {
      off = std::max(off, std::abs(static_cast<double>(f.result[i]) - static_cast<double>(forms[0].result[i])));
    }
  }
  if (!(off < 1e-4)) stop(fmt::format("the forms differ by {}", off));

  double peak = 0;
  for (int round = 0; round < rounds; ++round) {
    peak = std::max(peak, quern::device::cpu::measure_peak(threads).flops);
    for (Form& f : forms) {
      auto begin = std::chrono::steady_clock::now();
      f.run();
      f.seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
  }
  // Of the two products, what the mask leaves.
  double flops = 4.0 * static_cast<double>(heads * d) * static_cast<double>(n) * static_cast<double>(n + 1) / 2;
  nlohmann::ordered_json out;
  out["length"] = n;
  out["width"] = d;
  out["heads"] = heads;
  out["threads"] = threads;
  out["rounds"] = rounds;
  out["peak_flops"] = peak;
  out["largest_difference"] = off;
  out["forms"] = nlohmann::ordered_json::array();
  if (!json) fmt::print("peak {:.1f} GFLOP/s, {} threads; forms differ by {:.1e} at most\n", peak / 1e9, threads, off);
  for (const Form& f : forms) {
    std::vector<double> ratios;
    for (int i = 0; i < rounds; ++i) {
      ratios.push_back(f.seconds[static_cast<size_t>(i)] / forms[0].seconds[static_cast<size_t>(i)]);
    }
    double rate = flops / f.best();
    out["forms"].push_back({{"name", f.name},
                            {"seconds", f.best()},
                            {"flops_per_second", rate},
                            {"of_peak", rate / peak},
                            {"fused_is_faster_by", f.best() / forms[0].best()},
                            {"in_the_middle", middle(ratios)}});
    if (!json) {
      fmt::print(
          "{:<17} {:8.1f} ms {:7.1f} GFLOP/s {:5.1f} % of peak; fused is {:.2f} times as fast ({:.2f} in the middle)\n",
          f.name, f.best() * 1e3, rate / 1e9, 100 * rate / peak, f.best() / forms[0].best(), middle(ratios));
    }
  }
  if (json) fmt::print("{}\n", out.dump());
}
