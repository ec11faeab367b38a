// tests/golden/group/*.qn: a kernel, a line `# at M=…` with its sizes, and, expected, what is stored and the kernels
// that it becomes, for a machine of two units.
#include "fuse/group.h"
#include "fuse/lower.h"
#include "golden_file.h"
#include "grouped.h"
#include "tile/print.h"
#include "tile/verify.h"

namespace quern::fuse {
namespace {

std::map<std::string, int64_t> sizes_of(const std::string& line) {
  std::map<std::string, int64_t> out;
  std::istringstream words(line);
  for (std::string w; words >> w;) out[w.substr(0, w.find('='))] = std::stoll(w.substr(w.find('=') + 1));
  return out;
}

class GroupGolden : public testing::TestWithParam<std::string> {};

TEST_P(GroupGolden, Kernels) {
  GoldenFile file(GetParam());
  Bound b(file.input(), sizes_of(file.line("# at ")));
  auto grouped = group(*b.program, b.binding, two_units());
  ASSERT_TRUE(grouped) << render(grouped.error());
  std::string got;
  for (const Diagnostic& d : grouped->remarks) got += std::string(row(d.code).name) + " " + d.message + "\n";
  tile::Program lowered = lower(grouped->graph, two_units()).program;
  EXPECT_EQ(render(tile::verify(lowered)), "");
  file.expect(got + tile::print(lowered));
}

INSTANTIATE_TEST_SUITE_P(Files, GroupGolden, testing::ValuesIn(GoldenFile::in("group")), GoldenFile::name);

}  // namespace
}  // namespace quern::fuse
