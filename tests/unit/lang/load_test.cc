// Loading: imports, the prelude, names that meet, functions' order, big files.
#include "lang/load.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "expr/print.h"
#include "lang/parse.h"
#include "library.h"

namespace quern::lang {
namespace {

namespace fs = std::filesystem;

class Load : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / ("quern_load_" + std::to_string(::getpid()));
    fs::create_directories(folder_ / "library");
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }
  Unit main(const std::string& text) {
    return load(Source::make(write("main.qn", text), text), {.library = {(folder_ / "library").string()}});
  }
  // What `y[i] = …` of the kernel k became.
  static std::string value(const Unit& unit) {
    const CheckedKernel* k = unit.find("k");
    return k && k->program ? expr::print(k->program->updates.at(0).value) : "no program: " + render(unit.errors);
  }

  fs::path folder_;
};

constexpr const char* kKernel = "kernel k(x: f32[N]) -> y: f32[N] {\n  y[i] = f(x[i])\n}\n";

TEST_F(Load, ImportsFromBesideTheFileThenFromTheLibrary) {
  write("library/one.qn", "fn f(x) = x + 1\n");
  EXPECT_EQ(value(main(std::string("import one\n") + kKernel)), "x[i] + 1");
  write("one.qn", "fn f(x) = x + 2\n");
  EXPECT_EQ(value(main(std::string("import one\n") + kKernel)), "x[i] + 2");
}

TEST_F(Load, ThePreludeIsRight) {
  Unit unit = load(prelude());
  EXPECT_EQ(render(unit.errors), "");
  EXPECT_GT(unit.module->items.size(), 20u);
}

TEST_F(Load, AFileImportedTwiceIsOne) {
  write("one.qn", "fn f(x) = x + 1\n");
  write("two.qn", "import one\nfn g(x) = f(x)\n");
  EXPECT_EQ(value(main(std::string("import one\nimport two\nimport one\n") + kKernel)), "x[i] + 1");
}

TEST_F(Load, KernelsOfImportsAreNotOfTheFile) {
  write("one.qn", "fn f(x) = x\nkernel other(x: f32[N]) -> y: f32[N] {\n  y[i] = x[i]\n}\n");
  Unit unit = main(std::string("import one\n") + kKernel);
  EXPECT_EQ(unit.kernels.size(), 1u);
}

TEST_F(Load, OwnNamesWinFromTheirLineOn) {
  write("one.qn", "fn f(x) = x + 1\nconst A = 1\n");
  EXPECT_EQ(value(main(std::string("import one\nfn f(x) = x + 2\n") + kKernel)), "x[i] + 2");
  EXPECT_EQ(value(main(std::string("import one\nfn g(x) = f(x)\nfn f(x) = g(x) * 3\n") + kKernel)), "(x[i] + 1) * 3");
  EXPECT_EQ(value(main(std::string("import one\nconst A = 2\nfn f(x) = x + A\n") + kKernel)), "x[i] + 2");
}

// What a file calls alike doesn't change the functions of other files.
TEST_F(Load, ShadowingThePreludeLeavesThePreludeAlone) {
  std::string kernel = "kernel k(x: f32[N]) -> y: f32[N] {\n  y[i] = silu(x[i])\n}\n";
  std::string plain = value(main(kernel));
  EXPECT_EQ(value(main("fn sigmoid(x) = 0\n" + kernel)), plain);
  EXPECT_EQ(value(main("fn exp(x) = 0\n" + kernel)), plain);
  std::string gelu = "kernel k(x: f32[N]) -> y: f32[N] {\n  y[i] = gelu(x[i])\n}\n";
  EXPECT_EQ(value(main("const SQRT_HALF = 3\n" + gelu)), value(main(gelu)));
}

TEST_F(Load, ConstantsAreFolded) {
  EXPECT_EQ(value(main(std::string("const A = 3\nconst B = A * 2 + 1\nfn f(x) = x + B // 2\n") + kKernel)),
            "x[i] + 7 // 2");
  EXPECT_EQ(value(main(std::string("const A = -3 // 2\nfn f(x) = x * A\n") + kKernel)), "x[i] * -2");
  EXPECT_EQ(value(main(std::string("const A = 1 / 4\nfn f(x) = x * A\n") + kKernel)), "x[i] * 0.25");
}

TEST_F(Load, AKernelWithAnErrorHasNoProgram) {
  for (const char* value : {"x[i] * 1e999", "x[i] @", "xY", "1.2.3", "x[i) + 1", "q", "x[i] > 0"}) {
    Unit unit = main(std::string("kernel k(x: f32[N], xY: f32) -> y: f32[N] {\n  y[i] = ") + value +
                     "\n}\nkernel good(x: f32[N]) -> y: f32[N] {\n  y[i] = x[i]\n}\n");
    EXPECT_FALSE(unit.find("k")->program) << value;
    EXPECT_TRUE(unit.find("good")->program) << value << "\n" << render(unit.errors);
  }
  EXPECT_FALSE(main(std::string("fn f(x) = x * 1e999\n") + kKernel).find("k")->program);
  EXPECT_FALSE(main(std::string("const A = 1e999\nfn f(x) = x * A\n") + kKernel).find("k")->program);
}

TEST_F(Load, AllFilesStayAliveWithTheProgram) {
  std::optional<expr::Program> program;
  {
    write("one.qn", "fn f(x) = x + 1\n");
    Unit unit = main(std::string("import one\n") + kKernel);
    program = unit.kernels.at(0).program;
  }
  EXPECT_FALSE(program->updates[0].value->span.text().empty());
}

TEST_F(Load, OfTheLibraryHasNoErrors) {
  if (fuzz::library().empty()) GTEST_SKIP() << "no kernels/";
  for (const fuzz::File& file : fuzz::library()) {
    Unit unit = load(Source::make(file.path, file.text));
    EXPECT_EQ(render(unit.errors), "") << file.path;
    for (const CheckedKernel& k : unit.kernels) EXPECT_TRUE(k.program) << k.kernel->name.str();
  }
}

// How long it takes is bench's question.
TEST_F(Load, ABigFileIsChecked) {
  if (fuzz::library().empty()) GTEST_SKIP() << "no kernels/";
  std::string text;
  int copies = 0;
  for (size_t lines = 0; lines < 100'000; ++copies) {
    std::string copy = fuzz::renamed_library(std::to_string(copies));
    lines += static_cast<size_t>(std::ranges::count(copy, '\n'));
    text += copy;
  }
  Unit unit = load(Source::make("big.qn", std::move(text)));
  EXPECT_EQ(render(unit.errors).substr(0, 1000), "");
  EXPECT_GT(unit.kernels.size(), static_cast<size_t>(copies) * 50);
}

}  // namespace
}  // namespace quern::lang
