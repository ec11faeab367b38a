#include "modules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "ptx/parse.h"

namespace quern::ptx {

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::string> lines(const std::string& name) {
  std::istringstream text(read("tests/unit/ptx/" + name));
  std::vector<std::string> out;
  for (std::string line; std::getline(text, line);) {
    if (!line.empty() && line[0] != '#') out.push_back(line);
  }
  return out;
}

std::vector<std::string> kernel_files() {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator("tests/ptx/kernels")) {
    if (entry.path().extension() == ".ptx") out.push_back(entry.path().string());
  }
  std::ranges::sort(out);
  return out;
}

std::string in_frame(std::string_view line) {
  std::string out(kHead);
  out += ".global .u32 g;\n";
  out += ".func callee(.param .b32 x, .param .b32 y) { ret; }\n";
  out += ".visible .entry k(.param .u64 a) {\n";
  out += ".reg .pred p, q; .reg .b8 c8; .reg .b16 h, h2; .reg .u16 uh; .reg .f16 fh; .reg .f16x2 fh2;\n";
  out += ".reg .b32 r, r2; .reg .u32 u; .reg .s32 s; .reg .f32 f, f2; .reg .b64 d, d2; .reg .u64 ud; .reg .f64 fd;\n";
  out += ".reg .b128 bb;\n";
  out += "$targets_0: .branchtargets L;\nproto: .callprototype (.param .b64 _) _ (.param .b32 _);\nL:\n";
  out += line;
  return out + "\nret;\n}\n";
}

std::string kernel(const std::string& body) {
  return std::string(kHead) + ".visible .entry k(.param .u64 a) {\n" + body + "\n}\n";
}

Module parsed(const std::string& text) {
  auto module = parse(text, "test.ptx");
  EXPECT_TRUE(module.has_value()) << render(module.error()) << "\n" << text.substr(0, 2000);
  return module ? std::move(*module) : Module{};
}

std::string errors(const std::string& text) {
  auto module = parse(text, "test.ptx");
  EXPECT_FALSE(module.has_value()) << text.substr(0, 2000);
  return module ? std::string() : render(module.error());
}

Module without_lines(Module module) {
  auto clear = [](std::vector<Variable>& all) {
    for (Variable& v : all) v.line = 0;
  };
  clear(module.variables);
  for (Function& f : module.functions) {
    f.line = 0;
    clear(f.variables), clear(f.parameters), clear(f.returns);
    for (Prototype& p : f.prototypes) clear(p.parameters), clear(p.returns);
    for (Instruction& i : f.instructions) i.line = 0;
  }
  return module;
}

}  // namespace quern::ptx
