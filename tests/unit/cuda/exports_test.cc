// Every name that the real libraries export has a function, and what has none behind it says so (N922).
#include "cuda/api/exports.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "runtime.h"

namespace quern::cuda {
namespace {

TEST(Exports, EveryNameHasAFunction) {
  for (int version : {12, 13, kDriverVersion, kBlasVersion, kRandomVersion}) {
    auto names = exported_names(version);
    auto table = export_table(version);
    ASSERT_EQ(names.size(), table.size());
    EXPECT_TRUE(std::ranges::is_sorted(names, [](std::string_view a, std::string_view b) { return a < b; }));
    EXPECT_EQ(std::ranges::count(table, nullptr), 0);
  }
}

// A function whose name no library exports could never be called.
TEST(Exports, NothingIsThereInVain) {
  std::set<std::string_view> known;
  for (int version : {12, 13}) known.insert(exported_names(version).begin(), exported_names(version).end());
#define QUERN_TABLE(table) \
  for (const Export& e : table##_exports()) EXPECT_TRUE(known.contains(e.name)) << e.name;
  QUERN_EXPORT_TABLES(QUERN_TABLE)
#undef QUERN_TABLE
  known = {exported_names(kDriverVersion).begin(), exported_names(kDriverVersion).end()};
#define QUERN_TABLE(table) \
  for (const Export& e : table##_exports()) EXPECT_TRUE(known.contains(e.name)) << e.name;
  QUERN_DRIVER_TABLES(QUERN_TABLE)
#undef QUERN_TABLE
  known = {exported_names(kBlasVersion).begin(), exported_names(kBlasVersion).end()};
#define QUERN_TABLE(table) \
  for (const Export& e : table##_exports()) EXPECT_TRUE(known.contains(e.name)) << e.name;
  QUERN_BLAS_TABLES(QUERN_TABLE)
#undef QUERN_TABLE
  known = {exported_names(kRandomVersion).begin(), exported_names(kRandomVersion).end()};
#define QUERN_TABLE(table) \
  for (const Export& e : table##_exports()) EXPECT_TRUE(known.contains(e.name)) << e.name;
  QUERN_RANDOM_TABLES(QUERN_TABLE)
#undef QUERN_TABLE
  known = {exported_names(kDriverVersion).begin(), exported_names(kDriverVersion).end()};
#define QUERN_SAME(driver, runtime) EXPECT_TRUE(known.contains(#driver)) << #driver;
#include "cuda/driver/same.def"
#undef QUERN_SAME
}

TEST(Exports, WhatIsMissingSaysSo) {
  auto names = exported_names(13);
  auto at = std::ranges::find(names, std::string_view("cudaGLSetGLDevice"));
  ASSERT_NE(at, names.end());
  ASSERT_EQ(find_export("cudaGLSetGLDevice", 13), nullptr);
  auto function = reinterpret_cast<Error (*)(int)>(export_table(13)[at - names.begin()]);
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(function(0), Error::kNotSupported);
  EXPECT_EQ(function(0), Error::kNotSupported);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "error N922: cudaGLSetGLDevice isn't supported\n");
  EXPECT_EQ(call("cudaGetLastError"), Error::kNotSupported);
  EXPECT_EQ(call("cudaGetLastError"), Error::kSuccess);
}

TEST(Exports, WhatALibraryLacksSaysSo) {
  auto names = exported_names(kBlasVersion);
  auto at = std::ranges::find(names, std::string_view("cublasSgelsBatched"));
  ASSERT_NE(at, names.end());
  ASSERT_EQ(find_export("cublasSgelsBatched", kBlasVersion), nullptr);
  auto function = reinterpret_cast<int (*)(int)>(export_table(kBlasVersion)[at - names.begin()]);
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(function(0), 15);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "error N922: cublasSgelsBatched isn't supported\n");
  EXPECT_EQ(call("cudaGetLastError"), Error::kSuccess);
}

}  // namespace
}  // namespace quern::cuda
