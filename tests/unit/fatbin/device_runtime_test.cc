// NVIDIA's device runtime is told from a program's own code, and containers are found inside of files.
#include "fatbin/device_runtime.h"

#include <gtest/gtest.h>

#include "make_fatbin.h"

namespace quern::fatbin {
namespace {

std::span<const std::byte> bytes_of(const std::string& s) { return std::as_bytes(std::span(s)); }

bool is(const std::string& container) {
  auto entries = read_container(bytes_of(container), "app");
  return entries && is_device_runtime(*entries);
}

TEST(DeviceRuntime, IsKnownByWhatOnlyItCalls) {
  const std::string own = ".func cudaLaunchDevice { call (r), cnpGetParameterBuffer, (a); }" + std::string(200, ' ');
  const std::string users = ".entry k { call (r), __cudaCDP2GetParameterBufferV2, (a); }" + std::string(200, ' ');
  for (uint64_t flags : {uint64_t{0x11}, 0x11 | kZstdFlag, 0x11 | kLz4Flag}) {
    EXPECT_TRUE(is(container_bytes(good_entry(own, 121, 2, flags) + good_entry(own, 121, 1, flags))));
    EXPECT_FALSE(is(container_bytes(good_entry(users, 90, 1, flags) + good_entry(users, 90, 2, flags))));
  }
  EXPECT_FALSE(is(container_bytes("")));
}

TEST(FindContainers, InsideOfAFile) {
  std::string one = container_bytes(good_entry("first")), two = container_bytes(good_entry("second"));
  std::string magic = one.substr(0, 4), file = "!<arch>\nx" + one + magic + "no" + two + magic;
  auto found = find_containers(bytes_of(file));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].data(), bytes_of(file).data() + 9);
  EXPECT_EQ(found[0].size(), one.size());
  EXPECT_EQ(unpack(read_container(found[1], "app")->at(0), "app").value(), "second");
  EXPECT_TRUE(find_containers({}).empty());
  EXPECT_TRUE(find_containers(bytes_of(magic)).empty());
}

}  // namespace
}  // namespace quern::fatbin
