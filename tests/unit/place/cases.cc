#include "cases.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <regex>

#include "base/text.h"
#include "fuse/schedule_rule.h"
#include "fuse/tile.h"
#include "tile/extent.h"
#include "tile/parse.h"
#include "tile/reductions.h"

namespace quern::place {

using namespace tile;

std::vector<std::string> case_names() {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator("tests/golden/place")) {
    out.push_back(entry.path().stem().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::string case_text(const std::string& name) {
  auto source = read_source("tests/golden/place/" + name + ".tile");
  if (!source) {
    ADD_FAILURE() << render(source.error());
    return "";
  }
  std::string text((*source)->text());
  return text.substr(0, text.find("# --- "));
}

Program parsed(const std::string& text) {
  auto program = parse(Source::make("test.tile", text));
  if (!program) {
    ADD_FAILURE() << render(program.error()) << text;
    return {};
  }
  return *program;
}

Program small_case(const std::string& name, std::mt19937_64& random) {
  Program program = parsed(case_text(name));
  for (Dim& dim : program.dims) {
    if (dim.value && *dim.value > 16) dim.value = 1 + 2 * std::uniform_int_distribution<int64_t>(0, 9)(random);
  }
  return program;
}

Machine wide_machine() {
  Machine m;
  m.vector_bytes = 64;
  m.registers = 32;
  m.near_bytes = 512 << 10;
  m.units = 2;
  m.dots = {{ScalarType::f32, ScalarType::f32, 8, 48, 1, 4, 16}, {ScalarType::bf16, ScalarType::f32, 8, 48, 2, 4, 32}};
  return m;
}

Machine small_machine() {
  Machine m;
  m.vector_bytes = 16;
  m.registers = 16;
  m.near_bytes = 512;
  m.units = 3;
  return m;
}

Schedule random_schedule(const Program& lowered, std::mt19937_64& random) {
  auto up_to = [&](int64_t n) { return std::uniform_int_distribution<int64_t>(0, n)(random); };
  Schedule out;
  for (const Kernel& kernel : lowered.kernels) {
    KernelPlan plan;
    plan.kernel = kernel.name;
    Kernel named = kernel;
    name_reductions(named);
    AxisSet parallel = fuse::parallel_axes(named);
    auto tried = [&](AxisPlan p) {
      plan.axes.push_back(p);
      if (fuse::feasible(lowered, {{plan}}, wide_machine())) plan.axes.pop_back();
    };
    std::vector<size_t> order(kernel.axes.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), random);
    for (size_t a : order) {
      Symbol axis = kernel.axes[a].name;
      if (!parallel.has(static_cast<AxisId>(a))) {
        if (up_to(2) != 0) tried({axis, 2 + up_to(6), WalkKind::kLoop});
        continue;
      }
      int64_t outer = 1 + up_to(7);
      if (up_to(2) != 0) tried({axis, outer, WalkKind::kGrid});
      if (up_to(2) == 0) tried({axis, 1 + up_to(outer - 1), WalkKind::kLoop});
    }
    plan.parts = 1 + up_to(4);
    if (fuse::feasible(lowered, {{plan}}, wide_machine())) plan.parts = 1;
    out.kernels.push_back(plan);
  }
  return out;
}

namespace {

size_t elements(const Program& program, const Parameter& p) {
  int64_t out = 1;
  for (const ExprPtr& e : p.shape) out *= constant(program, e).value_or(0);
  return static_cast<size_t>(out);
}

void put(std::vector<std::byte>& bytes, int width, size_t at, uint64_t bits) {
  if (width < 8) {
    bytes[at / 2] |= static_cast<std::byte>((bits & 15) << (at % 2 * 4));
    return;
  }
  size_t size = static_cast<size_t>(width) / 8;
  for (size_t i = 0; i < size; ++i) bytes[at * size + i] = static_cast<std::byte>(bits >> (8 * i) & 0xff);
}

}  // namespace

Contents random_contents(const Program& program, std::mt19937_64& random) {
  Contents out;
  std::normal_distribution<double> normal(0, 1);
  for (const Parameter& p : program.parameters) {
    out.emplace_back();
    if (p.role == Role::kOut || p.role == Role::kTmp) continue;
    size_t count = elements(program, p);
    out.back().resize(static_cast<size_t>(byte_size(p.type, static_cast<int64_t>(count))));
    for (size_t i = 0; i < count; ++i) {
      uint64_t bits = kind(p.type) == Kind::kReal
                          ? encode_real(p.type, normal(random))
                          : encode_int(p.type, std::uniform_int_distribution<int64_t>(
                                                   0, p.type == ScalarType::boolean ? 1 : 12)(random));
      put(out.back(), row(p.type).bits, i, bits);
    }
  }
  return out;
}

namespace {

Result<Interpreted> result_of(const Program& program, const Contents& contents, Mode mode) {
  Launch launch;
  launch.mode = mode;
  for (const Dim& d : program.dims) launch.dims.push_back(*d.value);
  for (const auto& bytes : contents) launch.arguments.push_back(bytes.empty() ? nullptr : bytes.data());
  // States of parts are behind the parameters of the whole.
  launch.arguments.resize(program.parameters.size(), nullptr);
  return interpret(program, launch);
}

}  // namespace

bool runs(const Program& program, const Contents& contents) {
  return result_of(program, contents, Mode::kBound).has_value();
}

Interpreted run(const Program& program, const Contents& contents, Mode mode) {
  auto out = result_of(program, contents, mode);
  if (!out) {
    ADD_FAILURE() << render(out.error());
    return {};
  }
  return *out;
}

void expect_same(const Interpreted& a, const Interpreted& b, const std::string& what) {
  ASSERT_EQ(a.outputs.size(), b.outputs.size()) << what;
  for (size_t o = 0; o < a.outputs.size(); ++o) {
    const Output &x = a.outputs[o], &y = b.outputs[o];
    ASSERT_EQ(x.value.size(), y.value.size()) << what;
    for (size_t i = 0; i < x.value.size(); ++i) {
      if (std::isnan(x.value[i]) && std::isnan(y.value[i])) continue;
      double allowed = 1e-9 * std::fabs(x.value[i]);
      if (!x.bound.empty()) allowed += x.bound[i];
      if (!y.bound.empty()) allowed += y.bound[i];
      ASSERT_TRUE(x.value[i] == y.value[i] || std::fabs(x.value[i] - y.value[i]) <= allowed)
          << what << "\nelement " << i << ": " << x.value[i] << " and " << y.value[i] << ", allowed " << allowed;
    }
  }
  ASSERT_EQ(a.findings.size(), b.findings.size()) << what;
}

}  // namespace quern::place
