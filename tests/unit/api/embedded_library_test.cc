// The law of the embedding: a kernel written in C++ prints as the text that means it, character by character, and
// checks to the same program.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "api/kernel_state.h"
#include "base/text.h"
#include "expr/print.h"
#include "lang/load.h"
#include "lang/parse.h"
#include "library.h"

namespace quern {
namespace {

std::vector<Kernel> all() {
  std::vector<Kernel> out;
  for (auto part : {library::products, library::attentions, library::layers, library::choices, library::images}) {
    for (Kernel& k : part()) out.push_back(std::move(k));
  }
  return out;
}

struct Text {
  expr::Kernel kernel;  // without comments
  std::optional<expr::Program> program;
};

const std::map<std::string, Text>& texts() {
  static const auto map = [] {
    std::map<std::string, Text> out;
    static std::vector<lang::Unit> units;
    for (const auto& file : std::filesystem::directory_iterator("kernels")) {
      if (file.path().extension() != ".qn") continue;
      units.push_back(lang::load(*read_source(file.path().string())));
      EXPECT_TRUE(units.back().errors.empty()) << render(units.back().errors);
      for (const lang::CheckedKernel& k : units.back().kernels) {
        Text text{*k.kernel, k.program};
        text.kernel.comments = {};
        for (expr::Definition& d : text.kernel.definitions) d.comments = {};
        out.emplace(k.kernel->name.str(), std::move(text));
      }
    }
    return out;
  }();
  return map;
}

TEST(EmbeddedLibrary, PrintsAsItsText) {
  std::vector<Kernel> kernels = all();
  ASSERT_GE(kernels.size(), 60u);
  for (Kernel& k : kernels) {
    auto text = texts().find(k.name());
    ASSERT_NE(text, texts().end()) << k.name();
    EXPECT_EQ(print(k.document("")), expr::print(text->second.kernel));
  }
}

TEST(EmbeddedLibrary, ChecksToTheSameProgram) {
  for (const Kernel& k : all()) {
    auto program = internal::checked(*internal::Access::of(k));
    ASSERT_TRUE(program) << render(program.error());
    const Text& text = texts().at(k.name());
    ASSERT_TRUE(text.program) << k.name();
    expr::Kernel written = expr::to_kernel(*text.program);
    written.comments = {};
    expr::Kernel embedded = expr::to_kernel(**program);
    embedded.comments = {};
    EXPECT_EQ(expr::print(embedded), expr::print(written));
  }
}

// What is built and what its text parses to are one tree: so printing loses nothing, and places are right.
TEST(EmbeddedLibrary, ItsTextParsesToTheSameTree) {
  for (const Kernel& k : all()) {
    expr::Kernel built = internal::written(*internal::Access::of(k));
    auto parsed = lang::parse_module(Source::make("embedded", print(k)));
    ASSERT_TRUE(parsed) << render(parsed.error());
    ASSERT_EQ(parsed->items.size(), 1u);
    EXPECT_TRUE(expr::equal(std::get<expr::Kernel>(parsed->items[0]), built)) << print(k);
  }
}

TEST(EmbeddedLibrary, DocumentationIsTheCommentAbove) {
  Kernel k = library::products().front();
  EXPECT_TRUE(print(k).starts_with("# Plain product.\nkernel matmul(")) << print(k);
  EXPECT_EQ(k.documentation(), "Plain product.");
  EXPECT_EQ(k.signature(), "kernel matmul(a: T[M, K], b: T[K, N]) -> c: T[M, N]");
}

}  // namespace
}  // namespace quern
