// The first oracle: each function of functions.def, compiled by g++ for this machine and by nvcc to functions.ptx,
// gives the same bits on random and hostile inputs, for processors with and without masks of lanes, in whole blocks and
// odd ones.
#include <fmt/format.h>

#include <tuple>
#include <utility>

#include "host_seldom.h"
#include "scale.h"
#include "unit/vgpu/device.h"
#include "values.h"

namespace quern::oracle {
namespace {

constexpr size_t kMost = 1 << 14;  // elements a launch

struct Functions {
  vgpu::Device device{"tests/vgpu/functions.ptx"};
  Random random{seed()};
  std::array<uint64_t, 4> memory{};
  size_t functions = 0, inputs = 0, disagreements = 0;

  Functions() {
    for (uint64_t& at : memory) at = device.allocate(kMost * 8);
    device.settings.threads = 1;
  }
};

// The first inputs: all there are of a type of at most 16 bits, every pair of edges, triples of edges by chance.
template <class T>
T edge(Random& random) {
  return edges<T>()[below(random, edges<T>().size())];
}
template <class... A>
std::vector<std::tuple<A...>> first_inputs(Random& random) {
  std::vector<std::tuple<A...>> out;
  if constexpr (sizeof...(A) == 1) {
    using T = std::tuple_element_t<0, std::tuple<A...>>;
    if constexpr (sizeof(T) <= 2) {
      for (u64 i = 0; i < u64{1} << (sizeof(T) * 8); ++i) out.push_back({of_bits<T>(i)});
    } else {
      for (const T& a : edges<T>()) out.push_back({a});
    }
  } else if constexpr (sizeof...(A) == 2) {
    using T = std::tuple_element_t<0, std::tuple<A...>>;
    using U = std::tuple_element_t<1, std::tuple<A...>>;
    for (const T& a : edges<T>()) {
      for (const U& b : edges<U>()) out.push_back({a, b});
    }
  } else {
    for (size_t i = 0; i < kMost; ++i) out.push_back({edge<A>(random)...});
  }
  return out;
}

// Block shapes and processors by turns.
void vary(Functions& f, vgpu::Launch& launch, size_t count, int64_t round) {
  constexpr vgpu::Extent kBlocks[] = {{256, 1, 1}, {77, 1, 1}, {16, 12, 1}, {1, 1, 1}};
  launch.block = kBlocks[round % 2 == 0 ? 0 : round / 2 % 3 + 1];
  if (launch.block[0] == 1) count = std::min<size_t>(count, 1 << 10);
  launch.block[1] = 1;
  launch.grid = {static_cast<u32>((count + launch.block[0] - 1) / launch.block[0]), 1, 1};
  constexpr jit::VectorLevel kLevels[] = {jit::VectorLevel::kAvx512, jit::VectorLevel::kSse2, jit::VectorLevel::kAvx2};
  vgpu::Machine machine = vgpu::this_machine();
  jit::CpuTarget other = jit::cpu_of(kLevels[round % 3]);
  if (round > 0 && jit::runs_here(other)) machine = {other, round % 5 != 0};
  f.device.settings.machine = machine;
  f.device.settings.checks.memory = round % 4 < 2;
  f.device.settings.checks.init = round % 4 == 0;
  f.device.settings.order = static_cast<u64>(round);
}

template <class R, class... A, size_t... I>
void compare(Functions& f, const char* name, R (*host)(A...), const std::vector<std::tuple<A...>>& inputs,
             int64_t round, std::index_sequence<I...>) {
  size_t wrong = 0;
  for (size_t at = 0; at < inputs.size(); at += kMost) {
    size_t count = std::min(kMost, inputs.size() - at);
    auto put = [&]<class T>(uint64_t memory, T value, size_t i) {
      std::memcpy(reinterpret_cast<void*>(memory + i * sizeof(T)), &value, sizeof(T));
    };
    for (size_t i = 0; i < count; ++i) (put(f.memory[I], std::get<I>(inputs[at + i]), i), ...);
    for (size_t i = 0; i < sizeof...(A); ++i) f.device.memory().mark_written(f.memory[i], kMost * 8);
    vgpu::Launch launch;
    vary(f, launch, count, round);
    count = std::min<size_t>(count, size_t{launch.grid[0]} * launch.block[0]);
    std::vector<R> poison(count, of_bits<R>(0xa5a5a5a5a5a5a5a5));
    std::memcpy(reinterpret_cast<void*>(f.memory[3]), poison.data(), count * sizeof(R));
    auto fault = f.device.run(name, launch.grid, launch.block,
                              vgpu::Device::pack(f.memory[I]..., f.memory[3], static_cast<u32>(count)));
    ASSERT_FALSE(fault) << name;
    if (testing::Test::HasFailure() && f.disagreements == 0) return;
    std::vector<R> found = f.device.read<R>(f.memory[3], count);
    for (size_t i = 0; i < count; ++i) {
      R right = std::apply(host, inputs[at + i]);
      if (agrees(right, found[i])) continue;
      ++f.disagreements;
      if (wrong++ >= 3) continue;
      std::string given;
      ((given += fmt::format(" 0x{:0{}x}", code_of(std::get<I>(inputs[at + i])), sizeof(A) * 2)), ...);
      ADD_FAILURE() << fmt::format("{}({} ) is 0x{:0{}x}, the virtual GPU has 0x{:0{}x} (round {})", name, given,
                                   code_of(right), sizeof(R) * 2, code_of(found[i]), sizeof(R) * 2, round);
    }
    f.inputs += count;
  }
}

struct Row {
  const char* name;
  void (*check)(Functions&, const char*, int64_t round);
};

template <class R, class... A>
void check(Functions& f, const char* name, R (*host)(A...), int64_t round) {
  std::vector<std::tuple<A...>> inputs;
  if (round == 0) {
    inputs = first_inputs<A...>(f.random);
  }
  while (inputs.size() < kMost / 2 - 3) inputs.push_back({random_value<A>(f.random)...});
  compare(f, name, host, inputs, round, std::index_sequence_for<A...>());
}

#define FUNCTION1(name, R, A, value)                       \
  {#name, [](Functions& f, const char* n, int64_t round) { \
     check(                                                \
         f, n, +[](A a) -> R { return value; }, round);    \
   }},
#define FUNCTION2(name, R, A, B, value)                      \
  {#name, [](Functions& f, const char* n, int64_t round) {   \
     check(                                                  \
         f, n, +[](A a, B b) -> R { return value; }, round); \
   }},
#define FUNCTION3(name, R, A, B, C, value)                        \
  {#name, [](Functions& f, const char* n, int64_t round) {        \
     check(                                                       \
         f, n, +[](A a, B b, C c) -> R { return value; }, round); \
   }},
constexpr Row kRows[] = {
#include "functions.def"
};

TEST(Functions, AgreeWithTheHost) {
  Functions f;
  Budget budget;
  const char* only = std::getenv("QUERN_ORACLE_ONLY");
  for (int64_t round = 0; budget.more(1); ++round) {
    for (const Row& row : kRows) {
      if (!only || std::string_view(row.name).find(only) != std::string_view::npos) row.check(f, row.name, round);
    }
  }
  fmt::print("seed {}: {} functions, {} inputs, {} disagreements\n", seed(), std::size(kRows), f.inputs,
             f.disagreements);
}

}  // namespace
}  // namespace quern::oracle
