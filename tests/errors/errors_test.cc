// Is every message the right one? A case is a file CODE_what.qn: a program, the line `# --- expect`, and exactly what
// Quern prints for it. A case of several files is a folder of that name whose main.qn has that form. A first line
// `# bind: M=5 x=f32[5,7]` gives sizes, types, and shapes of arguments: the kernels are then bound and their subscripts
// proved as well; with `# run:` they also run, on zeros.
//
// QUERN_UPDATE=1 rewrites what is expected; read the difference before it lands. docs/errors.md shows the first case
// of each code.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "base/diagnostic.h"
#include "expr/contraction.h"
#include "expr/interpret.h"
#include "expr/prove.h"
#include "lang/load.h"

namespace quern {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kExpect = "# --- expect\n";
constexpr std::string_view kFolder = "tests/errors";

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Paths below kFolder, in order of name.
std::vector<std::string> cases() {
  std::vector<std::string> out;
  for (const auto& entry : fs::directory_iterator(kFolder)) {
    fs::path name = entry.path().filename();
    if (entry.is_directory()) out.push_back((name / "main.qn").string());
    if (name.extension() == ".qn") out.push_back(name.string());
  }
  std::ranges::sort(out);
  return out;
}

// What `# bind: M=5 T=bf16 x=f32[5,7]` asks for.
expr::Request request(std::string_view line) {
  expr::Request out;
  std::istringstream parts{std::string(line)};
  for (std::string part; parts >> part;) {
    size_t equals = part.find('='), bracket = std::min(part.find('['), part.size());
    Symbol name(part.substr(0, equals));
    auto type = parse_type(part.substr(equals + 1, bracket - equals - 1));
    if (!type) {
      out.dimensions[name] = std::stoll(part.substr(equals + 1));
    } else if (bracket == part.size()) {
      out.types[name] = *type;
    } else {
      expr::ArgumentShape& shape = out.arguments[name] = {*type, {}};
      std::istringstream sizes(part.substr(bracket + 1));
      for (std::string size; std::getline(sizes, size, ',');) shape.shape.push_back(std::stoll(size));
    }
  }
  return out;
}

// Findings of a run on zeros.
Diagnostics findings(const expr::Program& program, const expr::Binding& binding) {
  std::vector<std::vector<std::byte>> zeros;
  std::vector<expr::View> views;
  for (const auto& shape : binding.shapes) {
    int64_t elements = 1;
    for (int64_t size : shape) elements *= size;
    zeros.emplace_back(static_cast<size_t>(elements) * 8 + 8);
    views.push_back({zeros.back().data()});
  }
  auto out = expr::interpret(program, binding, views, {.threads = 1});
  return out ? out->findings : out.error();
}

Diagnostics errors_of(const std::string& name, const std::string& program) {
  lang::Unit unit = lang::load(Source::make(name, program));
  Diagnostics out = std::move(unit.errors);
  bool bind = program.starts_with("# bind:"), run = program.starts_with("# run:");
  auto append = [&](Diagnostics more) { std::ranges::move(more, std::back_inserter(out)); };
  for (const lang::CheckedKernel& k : unit.kernels) {
    if ((!bind && !run) || !k.program) continue;
    std::string_view line = std::string_view(program).substr(0, program.find('\n'));
    auto binding = expr::bind(*k.program, request(line.substr(line.find(':') + 1)));
    if (!binding) {
      append(binding.error());
      continue;
    }
    expr::Proofs proofs = expr::prove(*k.program, *binding);
    append(proofs.errors);
    append(proofs.remarks);
    append(expr::rounding_remarks(*k.program, *binding));
    if (run) append(findings(*k.program, *binding));
  }
  return out;
}

std::string code_of(const std::string& path) { return path.substr(0, path.find_first_of("_./")); }

class Messages : public testing::TestWithParam<std::string> {
 protected:
  // Messages show paths as they were given: those of the cases are short.
  void SetUp() override { fs::current_path(kFolder); }
  void TearDown() override { fs::current_path(root_); }

 private:
  fs::path root_ = fs::current_path();
};

TEST_P(Messages, AreAsExpected) {
  std::string file = read(GetParam());
  size_t end = file.find(kExpect);
  ASSERT_NE(end, std::string::npos) << "no line `# --- expect`";
  std::string program = file.substr(0, end), expected = file.substr(end + kExpect.size());
  std::string rendered = render(errors_of(GetParam(), program));
  const char* update = std::getenv("QUERN_UPDATE");
  if (update && std::string_view(update) == "1" && rendered != expected) {
    std::ofstream(GetParam(), std::ios::binary) << program << kExpect << rendered;
  } else {
    EXPECT_EQ(rendered, expected);
  }
  EXPECT_NE(rendered.find(" " + code_of(GetParam()) + ": "), std::string::npos) << "its own code is not among them";
}

// The notation has braces of its own, but never `{name}` in one word.
TEST_P(Messages, AreFilledIn) {
  std::string file = read(GetParam());
  std::string program = file.substr(0, file.find(kExpect));
  for (const Diagnostic& d : errors_of(GetParam(), program)) {
    std::string text = d.message + "\n" + d.remedy;
    EXPECT_FALSE(std::regex_search(text, std::regex(R"(\{\w+\})"))) << text;
    EXPECT_TRUE(d.span.source || row(d.code).name.starts_with("E7")) << "no place: " << d.message;
    EXPECT_FALSE(d.message.ends_with('.')) << d.message;
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, Messages, testing::ValuesIn(cases()), [](const auto& info) {
  std::string name = info.param.substr(0, info.param.find('.'));
  std::ranges::replace(name, '/', '_');
  return name;
});

// Codes that no file of the notation causes, and the suites that cause them.
struct Elsewhere {
  std::string_view first, last;
  std::vector<std::string_view> suites;  // folders or files of tests/
};
const std::vector<Elsewhere> kElsewhere = {
    {"E703", "E703", {"cli", "unit/api"}},  // arguments
    {"E708", "E708", {"unit/api"}},
    {"E713", "E714", {"cli", "unit/api"}},
    {"E716", "E716", {"cli", "unit/array"}},
    {"E720", "E732", {"unit/array"}},  // array files
    {"E740", "E744", {"cli"}},         // the command line
    {"E745", "E745", {"unit/fuse"}},   // schedules
    {"E807", "E807", {"cli"}},         // compiled code that is wrong
    {"E901", "E913", {"unit/ptx"}},     // PTX
    {"E950", "E962", {"unit/vgpu"}},    // the virtual GPU
    {"E970", "E974", {"unit/fatbin"}},  // programs for GPUs
    {"E975", "E976", {"cli"}},          // quern exec
    {"N902", "N903", {"unit/fuse"}},
    {"N904", "N904", {"unit/place"}},
    {"N905", "N906", {"cli"}},
    {"N920", "N920", {"unit/vgpu"}},
    {"N907", "N907", {"unit/fuse"}},
    {"N908", "N909", {"cli"}},
    {"N921", "N921", {"cli"}},  // quern exec kernel.cu
    {"N922", "N922", {"unit/cuda"}},
    {"R4", "R4", {"unit/fuse"}},
    {"R20", "R22", {"unit/fuse"}},      // what derivations remark
    {"R23", "R24", {"golden/group"}},   // … and grouping
    {"R25", "R25", {"unit/fuse"}},      // … and scans
    {"R40", "R40", {"unit/artifact"}},  // the cache
    {"R41", "R41", {"cli"}},
    {"B001", "B002", {}},  // nothing should be able to
};

std::string all_text(const fs::path& root) {
  std::string out;
  if (fs::is_regular_file(root)) return read(root);
  if (!fs::exists(root)) return out;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (entry.is_regular_file()) out += read(entry.path());
  }
  return out;
}

bool occurs(const std::string& text, const std::string& word) {
  return std::regex_search(text, std::regex("\\b" + word + "\\b"));
}

// A code that nothing in src/ gives yet needs no test yet.
TEST(Catalogue, EveryCodeHasACaseOrASuite) {
  std::set<std::string> covered;
  for (const std::string& path : cases()) covered.insert(code_of(path));
  std::string source = all_text("src");
  for (const CodeRow& row : code_rows()) {
    std::string code(row.name);
    if (covered.contains(code) || !occurs(source, "Code::" + code)) continue;
    auto in = std::ranges::find_if(kElsewhere, [&](const Elsewhere& e) {
      return code.size() == e.first.size() && e.first <= code && code <= e.last;
    });
    if (in == kElsewhere.end()) {
      ADD_FAILURE() << code << " has no case in tests/errors/";
      continue;
    }
    bool found = in->suites.empty();
    for (std::string_view suite : in->suites) found |= occurs(all_text(fs::path("tests") / suite), code);
    EXPECT_TRUE(found) << code << " does not occur in tests/" << in->suites.front();
  }
}

}  // namespace
}  // namespace quern
