// Containers are read as they are written, and nothing they say leads out of them.
#include "fatbin/container.h"

#include <gtest/gtest.h>

#include <memory>

#include "make_fatbin.h"

namespace quern::fatbin {
namespace {

std::string error_of(const std::string& container) {
  // A copy that ends where the container ends: the sanitizers see a byte too many.
  auto own = std::make_unique<std::byte[]>(container.size());
  std::memcpy(own.get(), container.data(), container.size());
  auto entries = read_container({own.get(), container.size()}, "app");
  if (!entries) return text_of(entries.error());
  for (const Entry& e : *entries) {
    if (auto text = unpack(e, "app"); !text) return text_of(text.error());
  }
  return "";
}

TEST(Container, HoldsWhatWasPutIn) {
  std::string text = ".version 9.0\n.target sm_80\n" + std::string(5000, 'x');
  for (uint64_t flags : {uint64_t{0x11}, 0x11 | kLz4Flag, 0x11 | kZstdFlag}) {
    std::string container = container_bytes(good_entry(text, 80, 1, flags) + good_entry("ELF", 90, 2));
    auto entries = read_container(bytes_of(container), "app");
    ASSERT_TRUE(entries);
    ASSERT_EQ(entries->size(), 2u);
    EXPECT_EQ((*entries)[0].kind, EntryKind::kPtx);
    EXPECT_EQ((*entries)[0].arch, 80u);
    EXPECT_EQ(unpack((*entries)[0], "app").value(), text);
    EXPECT_EQ((*entries)[1].kind, EntryKind::kMachineCode);
    EXPECT_EQ(arch_name((*entries)[1]), "sm_90");
  }
}

TEST(Container, MayBeEmptyAndMayBeFollowedByMore) {
  std::string empty = container_bytes("");
  EXPECT_EQ(read_container(bytes_of(empty), "app")->size(), 0u);
  std::string two = container_bytes(good_entry("a")) + "garbage behind it";
  EXPECT_EQ(read_container(bytes_of(two), "app")->size(), 1u);
  EXPECT_EQ(container_size(bytes_of(two), "app").value(), two.size() - 17);
}

TEST(Container, KnowsItsSourceAndItsChip) {
  EntryFields f;
  f.header = 72;
  f.name = 64;
  f.name_length = 8;
  f.payload = 8;
  f.arch = 90;
  f.flags |= kChipFlag;
  std::string container = container_bytes(entry_bytes(f, std::string("text\0\0\0\0", 8), "saxpy.cu"));
  auto entries = read_container(bytes_of(container), "app");
  ASSERT_TRUE(entries);
  EXPECT_EQ((*entries)[0].source, "saxpy.cu");
  EXPECT_EQ(arch_name((*entries)[0]), "compute_90a");
  EXPECT_EQ(unpack((*entries)[0], "app").value(), "text");
}

TEST(Container, DamageIsSaid) {
  std::string good = container_bytes(good_entry("some text"));
  auto with = [&](size_t offset, auto value) {
    std::string bad = good;
    put(bad, offset, value);
    return error_of(bad);
  };
  EXPECT_EQ(error_of(good), "");
  EXPECT_EQ(error_of(good.substr(0, 10)), "E970: the fatbin of app is damaged: it has only 10 bytes");
  EXPECT_EQ(with(0, uint32_t{1}), "E970: the fatbin of app is damaged: it starts with 0x00000001, expected 0xba55ed50");
  EXPECT_EQ(with(4, uint16_t{2}), "E970: the fatbin of app is damaged: it is of version 2, expected 1");
  EXPECT_EQ(with(6, uint16_t{8}), "E970: the fatbin of app is damaged: its header has 8 bytes");
  EXPECT_EQ(with(6, uint16_t{0xffff}), "E970: the fatbin of app is damaged: its header has 65535 bytes");
  EXPECT_EQ(with(8, uint64_t{81}), "E970: the fatbin of app is damaged: its entries have 81 bytes, 80 are there");
  EXPECT_EQ(with(8, UINT64_MAX),
            "E970: the fatbin of app is damaged: its entries have 18446744073709551615 bytes, 80 are there");
  EXPECT_EQ(with(8, uint64_t{60}), "E970: the fatbin of app is damaged: it ends inside the header of an entry");
  EXPECT_EQ(with(16 + 4, uint32_t{63}), "E970: the fatbin of app is damaged: an entry's header has 63 bytes");
  EXPECT_EQ(with(16 + 4, UINT32_MAX), "E970: the fatbin of app is damaged: an entry's header has 4294967295 bytes");
  // A header and a payload whose sum wraps around.
  EXPECT_EQ(with(16 + 8, UINT64_MAX - 63),
            "E970: the fatbin of app is damaged: an entry has 18446744073709551552 bytes, 16 are left");
  EXPECT_EQ(with(16 + 16, uint32_t{17}),
            "E970: the fatbin of app is damaged: an entry of 16 bytes holds 17 compressed ones");
  EXPECT_EQ(with(16 + 32, uint32_t{65}),
            "E970: the fatbin of app is damaged: the name of a source leads out of its entry");
}

TEST(Container, DamagedCompressionIsSaid) {
  std::string text(3000, 'y');
  for (uint64_t flag : {kLz4Flag, kZstdFlag}) {
    std::string good = container_bytes(good_entry(text, 80, 1, 0x11 | flag));
    EXPECT_EQ(error_of(good), "");
    std::string bad = good;
    put<uint32_t>(bad, 16 + 64, 0xffffffff);  // the first bytes of the payload
    EXPECT_NE(error_of(bad), "");
    bad = good;
    put<uint64_t>(bad, 16 + 56, 100);  // it unpacks to more
    EXPECT_NE(error_of(bad), "");
    bad = good;
    put<uint64_t>(bad, 16 + 56, uint64_t{1} << 40);
    EXPECT_EQ(error_of(bad),
              "E970: the fatbin of app is damaged: its PTX would have 1099511627776 bytes, more than 1073741824");
    bad = good;
    put<uint32_t>(bad, 16 + 16, 12);  // cut short
    EXPECT_NE(error_of(bad), "");
  }
}

}  // namespace
}  // namespace quern::fatbin
