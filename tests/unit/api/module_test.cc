// Kernels from text: found by name, described, printed, refused.
#include "quern/module.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace quern {
namespace {

constexpr char kText[] =
    "# Twice.\n"
    "kernel double(x: T[N], a: f32 = 2) -> y: T[N] { y[n] = a*x[n] }\n"
    "kernel count_up[V](inout h: i32[V]) { h[v] = h[v]+1 }\n";

TEST(Module, HoldsItsKernels) {
  auto module = parse(kText);
  ASSERT_TRUE(module) << module.error().text();
  ASSERT_EQ(module->kernels().size(), 2u);
  const Kernel* twice = module->find("double");
  ASSERT_TRUE(twice);
  EXPECT_EQ(twice->name(), "double");
  EXPECT_EQ(twice->documentation(), "Twice.");
  EXPECT_EQ(twice->signature(), "kernel double(x: T[N], a: f32 = 2) -> y: T[N]");
  ASSERT_EQ(twice->parameters().size(), 2u);
  EXPECT_EQ(twice->parameters()[0].name, "x");
  EXPECT_EQ(twice->parameters()[0].type, "T");
  EXPECT_EQ(twice->parameters()[0].shape, std::vector<std::string>{"N"});
  EXPECT_EQ(twice->parameters()[1].value, "2");
  EXPECT_EQ(twice->results()[0].name, "y");
  EXPECT_TRUE(module->find("count_up")->parameters()[0].inout);
  EXPECT_FALSE(module->find("triple"));
}

TEST(Module, PrintsInCanonicalForm) {
  EXPECT_EQ(print(*parse(kText)),
            "# Twice.\nkernel double(x: T[N], a: f32 = 2) -> y: T[N] {\n  y[n] = a * x[n]\n}\n\n"
            "kernel count_up[V](inout h: i32[V]) {\n  h[v] = h[v] + 1\n}\n");
  EXPECT_EQ(print(*parse(kText)->find("double")),
            "# Twice.\nkernel double(x: T[N], a: f32 = 2) -> y: T[N] {\n  y[n] = a * x[n]\n}\n");
}

TEST(Module, KernelsOutliveIt) {
  std::optional<Kernel> kernel;
  {
    auto module = parse(kText);
    kernel = *module->find("double");
  }
  EXPECT_TRUE(kernel->check());
  EXPECT_TRUE(kernel->compile());
}

TEST(Module, AnEmptyTextHasNoKernels) { EXPECT_TRUE(parse("")->kernels().empty()); }

TEST(Module, ErrorsHavePlaceRemedyAndText) {
  auto module =
      parse("kernel f(x: T[N]) -> y: T[N] {\n  y[n] = x[n] + x[k]\n  z[n] = x\n}\n", {.name = "f.qn", .library = {}});
  ASSERT_FALSE(module);
  ASSERT_EQ(module.error().size(), 2u) << module.error().text();
  const Error& e = module.error().front();
  EXPECT_EQ(e.code, "E201");
  EXPECT_EQ(e.message, "k is not bound here");
  EXPECT_FALSE(e.remedy.empty());
  EXPECT_EQ(e.file, "f.qn");
  EXPECT_EQ(e.line, 2);
  EXPECT_EQ(e.column, 19);
  EXPECT_NE(e.text.find("f.qn:2:19"), std::string::npos) << e.text;
  EXPECT_TRUE(module.error().has("E304"));
}

TEST(Module, WhatIsNoTextIsRefused) {
  EXPECT_EQ(parse("# \xff").error().front().code, "E114");
  EXPECT_EQ(parse("kernel").error().front().code, "E102");
}

class Files : public testing::Test {
 protected:
  Files() : folder_(std::filesystem::temp_directory_path() / ("quern_module_test_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_ / "library");
    std::ofstream(folder_ / "main.qn") << "import gates\nkernel f(x: f32[N]) -> y: f32[N] { y[n] = bent(x[n]) }\n";
    std::ofstream(folder_ / "library" / "gates.qn") << "fn bent(x) = x * x\n";
  }
  ~Files() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path folder_;
};

TEST_F(Files, AreReadWithTheirImports) {
  std::string main = folder_ / "main.qn";
  auto module = parse_file(main, {.library = {folder_ / "library"}});
  ASSERT_TRUE(module) << module.error().text();
  EXPECT_TRUE(module->find("f")->compile());
  EXPECT_EQ(parse_file(main).error().front().code, "E609");
  EXPECT_EQ(parse_file(folder_ / "none.qn").error().front().code, "E117");
}

TEST_F(Files, ATextImportsBesideItsName) {
  auto module = parse("import gates\nkernel f(x: f32[N]) -> y: f32[N] { y[n] = bent(x[n]) }\n",
                      {.name = folder_ / "library" / "text.qn", .library = {}});
  EXPECT_TRUE(module) << module.error().text();
}

}  // namespace
}  // namespace quern
