// Which libraries a program may need.
#include "cli/vendor_libraries.h"

#include <gtest/gtest.h>

namespace quern::cli {
namespace {

TEST(VendorLibraries, WhatIsReplacedOrNoneOfThemIsFine) {
  std::vector<std::string> all(replaced_libraries().begin(), replaced_libraries().end());
  for (const char* other :
       {"libc.so.6", "libnvrtc.so.13", "libnvJitLink.so.13", "libnccltuner.so", "libcublasoid.so.1"}) {
    all.push_back(other);
  }
  EXPECT_TRUE(check_libraries("app", all));
}

TEST(VendorLibraries, OthersAreSaid) {
  auto said = check_libraries("./app", {"libc.so.6", "libcufft.so.12"});
  ASSERT_FALSE(said);
  EXPECT_EQ(render(said.error(), false),
            "error E974: can't run './app': it needs libcufft.so.12, and of NVIDIA's libraries the virtual GPU has "
            "libcublas.so.13, libcublas.so.12 and libcurand.so.10\n   = help: leave out what uses it; if nothing does, "
            "link with -Xlinker --as-needed\n");
  for (const char* name :
       {"libcublas.so.11", "libcublasLt.so.13", "libcudnn.so.9", "libcudnn_ops.so.9", "libnppif.so.13", "libnccl.so.2",
        "libcusparse.so.12", "libcusolver.so.12", "libcurand.so.9"}) {
    EXPECT_FALSE(check_libraries("app", {name})) << name;
  }
}

}  // namespace
}  // namespace quern::cli
