// tests/golden/derive/*.qn: a kernel, a line `# over n` that names the streamed index, and, expected, the algebra as it
// prints.
#include "derived.h"
#include "golden_file.h"

namespace quern::fuse {
namespace {

class DeriveGolden : public testing::TestWithParam<std::string> {};

TEST_P(DeriveGolden, Prints) {
  GoldenFile file(GetParam());
  // All different, so that no two indices are one axis.
  std::map<std::string, int64_t> sizes = {{"M", 16}, {"N", 32}, {"E", 8}, {"D", 4}};
  Derived d({file.input(), sizes, file.line("# over "), {}});
  file.expect(d.derivation.passes.empty() ? d.error + "\n" : print(d.derivation, d.facts));
}

INSTANTIATE_TEST_SUITE_P(Files, DeriveGolden, testing::ValuesIn(GoldenFile::in("derive")), GoldenFile::name);

}  // namespace
}  // namespace quern::fuse
