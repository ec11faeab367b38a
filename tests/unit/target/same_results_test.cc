// Programs as the passes lay them, compiled, against the interpreter of tile programs and within its bounds: random
// steps and the default ones, small odd sizes, every width that this machine can play, and the plain way of one scalar
// nest a statement.
#include <gtest/gtest.h>

#include <cmath>

#include "../place/cases.h"
#include "fuse/schedule_rule.h"
#include "fuse/tile.h"
#include "jitted_program.h"
#include "place/place.h"
#include "tile/extent.h"
#include "tile/print.h"

namespace quern::target {
namespace {

using place::Contents;
using tile::Program;

class SameResults : public testing::TestWithParam<std::string> {
 protected:
  void check(const Program& laid, const jit::CpuTarget& cpu, const tile::Interpreted& truth, const Contents& contents) {
    std::string what = "seed " + std::to_string(seed_) + ", " + key(cpu) + "\n" + tile::print(laid);
    Jitted code(laid, cpu);
    ASSERT_TRUE(code) << what;
    std::vector<std::vector<std::byte>> memory;
    std::vector<void*> params;
    for (size_t p = 0; p < laid.parameters.size(); ++p) {
      int64_t elements = 1;
      for (const tile::ExprPtr& e : laid.parameters[p].shape) elements *= *tile::constant(laid, e);
      // A kernel in parts has tensors between them that nobody fills.
      memory.push_back(p < contents.size() ? contents[p] : std::vector<std::byte>());
      if (memory.back().empty())
        memory.back().resize(static_cast<size_t>(byte_size(laid.parameters[p].type, elements)));
      // What is beside it stays as it is.
      memory.back().resize(memory.back().size() + 64, std::byte{0x5a});
    }
    for (auto& bytes : memory) params.push_back(bytes.data());
    Ran ran = code(params, {}, 2);
    for (const tile::Output& out : truth.outputs) {
      auto p = static_cast<size_t>(out.parameter);
      ScalarType type = laid.parameters[p].type;
      for (size_t i = 0; i < out.value.size(); ++i) {
        uint64_t bits = load_bits(type, memory[p].data(), static_cast<int64_t>(i));
        bool real = kind(type) == Kind::kReal;
        double got = real ? decode_real(type, bits) : static_cast<double>(decode_int(type, bits));
        double want = out.value[i], bound = out.bound[i];
        // The bound is that of f32 arithmetic; what f64 rounds is added to it.
        if (type == ScalarType::f64) bound += std::abs(want) * 1e-13;
        bool same = std::isnan(want) ? std::isnan(got) : got == want || std::abs(got - want) <= bound;
        ASSERT_TRUE(same || std::isinf(bound)) << laid.parameters[p].name.str() << " element " << i << ": " << got
                                               << ", not " << want << " +- " << bound << "\n"
                                               << what;
      }
    }
    for (size_t p = 0; p < memory.size(); ++p) {
      for (size_t i = memory[p].size() - 64; i < memory[p].size(); ++i)
        ASSERT_EQ(memory[p][i], std::byte{0x5a}) << what;
    }
    ASSERT_EQ(ran.report.site < 0, truth.findings.empty()) << what;
  }

  uint64_t seed_ = 0;
};

TEST_P(SameResults, OnEveryProcessor) {
  for (seed_ = 1; seed_ <= 6; ++seed_) {
    for (const jit::CpuTarget& cpu : targets()) {
      std::mt19937_64 random(seed_ * 100 + static_cast<uint64_t>(cpu.vector_bytes));
      Program lowered = place::small_case(GetParam(), random);
      Contents contents = place::random_contents(lowered, random);
      tile::Interpreted truth = place::run(lowered, contents);
      tile::Machine machine = machine_of(cpu);
      auto schedule = seed_ % 2 ? fuse::default_schedule(lowered, machine) : place::random_schedule(lowered, random);
      auto tiled = fuse::tile(lowered, schedule, machine);
      ASSERT_TRUE(tiled) << render(tiled.error());
      auto placed = place::place(*tiled, machine);
      ASSERT_TRUE(placed) << render(placed.error());
      auto laid = place::lay(*placed, machine);
      ASSERT_TRUE(laid) << render(laid.error());
      ASSERT_NO_FATAL_FAILURE(check(*laid, cpu, truth, contents));
      auto plain = place::lay_plainly(*tiled);
      ASSERT_TRUE(plain) << render(plain.error());
      if (seed_ > 2) continue;
      ASSERT_NO_FATAL_FAILURE(check(*plain, cpu, truth, contents));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Target, SameResults, testing::ValuesIn(place::case_names()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace quern::target
