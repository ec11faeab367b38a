// Runs the .ptx files of this folder and holds what comes out against what their comments say.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "base/diagnostic.h"
#include "case.h"
#include "jit/jit.h"
#include "object.h"
#include "ptx/parse.h"
#include "vgpu/compile.h"
#include "vgpu/launch.h"
#include "vgpu/traits.h"

namespace quern::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFolder = "tests/ptx";

std::string file_of(std::string_view mnemonic) {
  std::string out;
  for (size_t i = 0; i < mnemonic.size(); ++i) {
    if (mnemonic.substr(i, 2) == "::") {
      out += '_', ++i;
    } else {
      out += mnemonic[i];
    }
  }
  return out;
}

std::vector<std::string> stems() {
  std::vector<std::string> out;
  for (const auto& entry : fs::directory_iterator(kFolder)) {
    if (entry.path().extension() == ".ptx") out.push_back(entry.path().stem().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::string read(const std::string& stem) {
  std::ifstream in(fs::path(kFolder) / (stem + ".ptx"));
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

struct Kind {
  std::string name;
  vgpu::Machine machine;
};

std::vector<Kind> machines() {
  std::vector<Kind> out;
  vgpu::Machine here = vgpu::this_machine();
  out.push_back({"this machine", here});
  out.push_back({"sse2", {jit::cpu_of(jit::VectorLevel::kSse2), !here.lane_masks}});
  return out;
}

class PtxFile : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    text_ = read(GetParam());
    auto module = ptx::parse(text_, GetParam() + ".ptx");
    ASSERT_TRUE(module) << render(module.error());
    auto memory = vgpu::Memory::create();
    ASSERT_TRUE(memory) << render(memory.error());
    memory_ = *memory;
    auto program = vgpu::Program::load(memory_, std::move(*module));
    ASSERT_TRUE(program) << render(program.error());
    program_ = *program;
  }

  void run(const Case& c, const Kind& kind);
  bool right(const Array& a, size_t i, const uint8_t* at) const;

  std::string text_;
  std::shared_ptr<vgpu::Memory> memory_;
  std::shared_ptr<vgpu::Program> program_;
};

bool PtxFile::right(const Array& a, size_t i, const uint8_t* at) const {
  auto size = static_cast<size_t>(bytes_of(a.type));
  uint64_t low = 0, high = 0, have[2] = {0, 0};
  EXPECT_TRUE(parse_value(a.type, a.wanted[i], low, high)) << a.wanted[i];
  std::memcpy(have, at, size);
  if (is_real(a.type)) {
    double want = real_of(a.type, low), got = real_of(a.type, have[0]);
    if (a.wanted[i] == "nan") return std::isnan(got);
    if (a.tolerance != 0 && std::isfinite(want)) {
      return std::abs(got - want) <= a.tolerance * (a.relative ? std::abs(want) : 1);
    }
  }
  uint64_t wanted[2] = {low, high};
  return !std::memcmp(have, wanted, size);
}

void PtxFile::run(const Case& c, const Kind& kind) {
  vgpu::Launch launch;
  size_t longest = 1;
  std::vector<uint64_t> addresses;
  auto objects = std::make_shared<vgpu::TextureTable>();
  for (const Array& a : c.arrays) {
    if (a.about.empty()) longest = std::max({longest, a.given.size(), a.wanted.size()});
  }
  for (const Array& a : c.arrays) {
    auto size = static_cast<size_t>(bytes_of(a.type));
    size_t count = std::max(a.given.size(), a.wanted.size());
    std::vector<uint8_t> bytes(count * size);
    for (size_t i = 0; i < a.given.size(); ++i) {
      uint64_t value[2];
      ASSERT_TRUE(parse_value(a.type, a.given[i], value[0], value[1])) << a.given[i];
      std::memcpy(bytes.data() + i * size, value, size);
    }
    auto put = [&](const void* from, size_t n) {
      size_t at = (launch.arguments.size() + n - 1) / n * n;
      launch.arguments.resize(at + n);
      std::memcpy(launch.arguments.data() + at, from, n);
    };
    if (!a.about.empty()) {
      // Numbers that are no addresses.
      uint64_t handle = objects->size() + 1;
      vgpu::Texture object;
      ASSERT_TRUE(make_object(a, bytes, *memory_, object)) << c.kernel << ", line " << c.line;
      (*objects)[handle] = object;
      put(&handle, 8);
      addresses.push_back(object.levels[0].address);
      continue;
    }
    if (a.way == Array::Way::kScalar) {
      put(bytes.data(), size);
      addresses.push_back(0);
      continue;
    }
    auto at = memory_->allocate(static_cast<int64_t>(bytes.size()), 256, vgpu::Holds::kGlobal, a.type);
    ASSERT_TRUE(at) << render(at.error());
    if (!a.given.empty()) {
      std::memcpy(reinterpret_cast<void*>(*at), bytes.data(), bytes.size());
      memory_->mark_written(*at, static_cast<int64_t>(bytes.size()));
    }
    put(&*at, 8);
    addresses.push_back(*at);
  }
  launch.block = {c.block ? c.block : static_cast<uint32_t>(longest), 1, 1};
  vgpu::Settings settings;
  settings.threads = 1;
  settings.checks.shared_init = true;
  settings.machine = kind.machine;
  settings.textures = objects;
  auto ran = vgpu::run(*program_, c.kernel, launch, settings);
  std::string where = c.kernel + ", line " + std::to_string(c.line) + ", " + kind.name;
  if (!c.fails.empty()) {
    ASSERT_FALSE(ran) << where << ": it ran";
    EXPECT_NE(render(ran.error()).find(c.fails), std::string::npos) << render(ran.error());
    return;
  }
  ASSERT_TRUE(ran) << where << ": " << render(ran.error());
  if (!c.faults.empty()) {
    ASSERT_TRUE(ran->fault) << where << ": it ended well";
    EXPECT_EQ(name(ran->fault->kind), c.faults) << where;
    return;
  }
  ASSERT_FALSE(ran->fault) << where << ": " << vgpu::render(*ran->fault);
  for (size_t k = 0; k < c.arrays.size(); ++k) {
    const Array& a = c.arrays[k];
    auto size = static_cast<size_t>(bytes_of(a.type));
    for (size_t i = 0; i < a.wanted.size(); ++i) {
      const auto* at = reinterpret_cast<const uint8_t*>(addresses[k] + i * size);
      if (right(a, i, at)) continue;
      uint64_t have[2] = {0, 0};
      std::memcpy(have, at, size);
      std::string got = fmt::format("0x{:0{}x}", have[0], 2 * std::min<size_t>(size, 8));
      if (size > 8) got = fmt::format("0x{:016x}{:016x}", have[1], have[0]);
      if (is_real(a.type)) got += fmt::format(" = {}", real_of(a.type, have[0]));
      ADD_FAILURE() << where << ": element " << i << " of parameter " << k << " is " << got << ", wanted "
                    << a.wanted[i];
    }
  }
  for (uint64_t a : addresses) {
    if (a) memory_->release(a);
  }
}

TEST_P(PtxFile, DoesWhatTheCommentsSay) {
  std::string error;
  std::vector<Case> cases = cases_of(text_, error);
  ASSERT_EQ(error, "");
  ASSERT_FALSE(cases.empty());
  for (const Kind& kind : machines()) {
    for (const Case& c : cases) run(c, kind);
  }
}

// Code for AVX-512, which this machine need not have, is made all the same.
TEST_P(PtxFile, CompilesForAvx512) {
  std::string error;
  vgpu::Settings settings;
  settings.machine = vgpu::Machine{jit::cpu_of(jit::VectorLevel::kAvx512), false};
  for (const Case& c : cases_of(text_, error)) {
    if (!c.fails.empty()) continue;
    auto text = vgpu::llvm_text(program_->module(), *program_->kernel(c.kernel), memory_->space(),
                                vgpu::class_of(32, 1, 1), settings);
    ASSERT_TRUE(text) << c.kernel << ": " << render(text.error());
    auto object = jit::compile(*text, settings.machine->cpu, {.passes = "function(sroa)", .quick = true});
    EXPECT_TRUE(object) << c.kernel << ": " << render(object.error());
  }
}

// The file speaks of the instruction that it is named after, and every kernel is a case.
TEST_P(PtxFile, HoldsTheInstruction) {
  bool found = false;
  std::set<std::string> kernels, run;
  for (const ptx::Function& f : program_->module().functions) {
    if (f.entry) kernels.insert(f.name);
    for (const ptx::Instruction& in : f.instructions) found |= file_of(ptx::row(in.op).name) == GetParam();
  }
  EXPECT_TRUE(found) << GetParam();
  std::string error;
  for (const Case& c : cases_of(text_, error)) run.insert(c.kernel);
  EXPECT_EQ(kernels, run);
}

INSTANTIATE_TEST_SUITE_P(All, PtxFile, testing::ValuesIn(stems()), [](const auto& info) {
  std::string out = info.param;
  std::replace_if(
      out.begin(), out.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return out;
});

TEST(Ptx, EveryInstructionThatRunsHasAFile) {
  std::vector<std::string> files = stems();
  for (const ptx::OpRow& row : ptx::op_rows()) {
    if (!vgpu::executes(row.op)) continue;
    EXPECT_TRUE(std::binary_search(files.begin(), files.end(), file_of(row.name)))
        << "tests/ptx/" << file_of(row.name) << ".ptx is missing";
  }
}

}  // namespace
}  // namespace quern::test
