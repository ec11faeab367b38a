// Kernels built by hand, run through the jit, against plain loops.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "jit/jit.h"
#include "jit/kernel_abi.h"
#include "target/x86/emit.h"

namespace quern::target {
namespace {

using namespace tile;

// A program with one kernel, and the shorthand to build it.
struct Made {
  Program program;
  Kernel kernel;

  ExprPtr size(const char* name, int64_t value, bool known = true) {
    program.dims.push_back({Symbol(name), known ? std::optional(value) : std::nullopt});
    values.push_back(value);
    return dim(static_cast<int32_t>(program.dims.size() - 1));
  }
  int32_t tensor(const char* name, Role role, ScalarType type, std::vector<ExprPtr> shape) {
    program.parameters.push_back({.name = Symbol(name), .role = role, .type = type, .shape = std::move(shape)});
    return static_cast<int32_t>(program.parameters.size() - 1);
  }
  AxisId range(const char* name, ExprPtr hi) {
    kernel.axes.push_back({Symbol(name), nullptr, std::move(hi)});
    return static_cast<AxisId>(kernel.axes.size() - 1);
  }
  int32_t called(const char* name, ScalarType type, AxisSet axes) {
    kernel.names.push_back({Symbol(name), type, axes});
    return static_cast<int32_t>(kernel.names.size() - 1);
  }
  std::vector<int64_t> values;
};

struct Compiled {
  std::shared_ptr<const jit::MachineCode> code;
  std::string entry;
};

Compiled compiled(Made& m, const jit::CpuTarget& cpu) {
  m.program.stage = Stage::kLaid;
  m.program.kernels = {m.kernel};
  auto text = emit_x86(m.program, 0, cpu);
  if (!text) {
    ADD_FAILURE() << text.error()[0].message;
    return {};
  }
  if (getenv("SHOW")) puts(text->ir.c_str());
  auto object = jit::compile(text->ir, cpu);
  if (!object) {
    ADD_FAILURE() << object.error()[0].message << "\n" << text->ir;
    return {};
  }
  auto code = jit::load(*object);
  if (!code) {
    ADD_FAILURE() << code.error()[0].message;
    return {};
  }
  return {*code, text->entry};
}

jit::Report run(const Compiled& c, const Made& m, std::vector<void*> params) {
  jit::Report report{.found = jit::keep_first};
  if (!c.code) return report;
  auto size = [&](const char* suffix) {
    return reinterpret_cast<jit::KernelSize>(c.code->entry(c.entry + suffix))(params.data(), m.values.data());
  };
  std::vector<char> arena(static_cast<size_t>(size("_arena")) + 128, 'x');
  char* aligned = arena.data() + (64 - reinterpret_cast<uintptr_t>(arena.data()) % 64);
  reinterpret_cast<jit::Kernel>(c.code->entry(c.entry))(params.data(), m.values.data(), 0, size("_points"), aligned,
                                                        &report);
  return report;
}

std::vector<float> random_floats(size_t n, uint32_t seed) {
  std::mt19937 g(seed);
  std::uniform_real_distribution<float> d(-2, 2);
  std::vector<float> out(n);
  for (float& f : out) f = d(g);
  return out;
}

std::vector<jit::CpuTarget> targets() {
  std::vector<jit::CpuTarget> out = {jit::cpu_of(jit::VectorLevel::kSse2)};
  if (jit::runs_here(jit::cpu_of(jit::VectorLevel::kAvx2))) {
    out.push_back(jit::cpu_of(jit::VectorLevel::kAvx2));
    out.push_back(jit::cpu_of(jit::VectorLevel::kAvx2));
    out.back().vector_bytes = 64;
  }
  if (jit::runs_here(jit::cpu_of(jit::VectorLevel::kAvx512))) out.push_back(jit::cpu_of(jit::VectorLevel::kAvx512));
  return out;
}

void matmul(const jit::CpuTarget& cpu, int64_t M, int64_t N, int64_t K, int64_t mb, int64_t vectors, int64_t kb,
            bool known) {
  Made p;
  ExprPtr m_size = p.size("M", M, known), n_size = p.size("N", N, known), k_size = p.size("K", K, known);
  auto a = p.tensor("a", Role::kIn, ScalarType::f32, {m_size, k_size});
  auto b = p.tensor("b", Role::kIn, ScalarType::f32, {k_size, n_size});
  auto c = p.tensor("c", Role::kOut, ScalarType::f32, {m_size, n_size});
  AxisId m = p.range("m", m_size), n = p.range("n", n_size), k = p.range("k", k_size);
  ExprPtr product =
      apply(Op::kMul, {load(a, ScalarType::f32, {axis(m), axis(k)}), load(b, ScalarType::f32, {axis(k), axis(n)})});
  Nest nest;
  int64_t lanes = cpu.vector_bytes / 4;
  nest.axes = {{m, AxisRole::kBlock, mb},
               {n, AxisRole::kBlock, vectors ? vectors * lanes : 1, vectors > 0},
               {k, AxisRole::kStrip, kb}};
  nest.body = {
      {Store{.parameter = c, .subscripts = {axis(m), axis(n)}, .value = reduce(Op::kSum, AxisSet::of(k), product)}}};
  p.kernel.body = {{nest}};
  std::vector<float> x = random_floats(static_cast<size_t>(M * K), 1), y = random_floats(static_cast<size_t>(K * N), 2);
  std::vector<float> out(static_cast<size_t>(M * N + 16), -7);
  Compiled code = compiled(p, cpu);
  run(code, p, {x.data(), y.data(), out.data()});
  for (int64_t i = 0; i < M; ++i) {
    for (int64_t j = 0; j < N; ++j) {
      double sum = 0, size = 0;
      for (int64_t l = 0; l < K; ++l) {
        double t = double{x[static_cast<size_t>(i * K + l)]} * y[static_cast<size_t>(l * N + j)];
        sum += t, size += std::abs(t);
      }
      ASSERT_NEAR(out[static_cast<size_t>(i * N + j)], sum, size * 1e-6 + 1e-30)
          << i << " " << j << " of " << M << " " << N << " " << K;
    }
  }
  for (size_t i = static_cast<size_t>(M * N); i < out.size(); ++i) ASSERT_EQ(out[i], -7);
}

TEST(Nest, MatmulAsScalars) {
  for (const jit::CpuTarget& cpu : targets()) {
    matmul(cpu, 3, 5, 7, 1, 0, 1, true);
    matmul(cpu, 3, 5, 7, 1, 0, 1, false);
    matmul(cpu, 3, 5, 0, 1, 0, 1, true);
    matmul(cpu, 0, 5, 3, 1, 0, 1, false);
  }
}

TEST(Nest, MatmulInBlocks) {
  for (const jit::CpuTarget& cpu : targets()) {
    for (bool known : {true, false}) {
      for (int64_t n : {1, 13, 16, 33, 97}) {
        for (int64_t m : {1, 7, 12}) matmul(cpu, m, n, 11, 4, 3, 2, known);
      }
    }
  }
}

}  // namespace
}  // namespace quern::target
