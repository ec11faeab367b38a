// The front door: the ending says the format.
#include "array/files.h"

#include "bad_files.h"

namespace quern::array {
namespace {

using enum ScalarType;

class FrontDoor : public InFolder {};

TEST_F(FrontDoor, EveryFormatComesBack) {
  std::vector<Named> arrays = {{"w", any_array(f8e4m3, {3, 4}, 1)}, {"page", any_array(i32, {5}, 2)}};
  auto as = [](std::string_view name) { return name == "w" ? std::optional(f8e4m3) : std::nullopt; };
  for (std::string name : {"a.npz", "a.safetensors"}) {
    ASSERT_EQ(error_of(write_arrays(path(name), arrays)), "");
    auto back = read_arrays(path(name), as);
    ASSERT_EQ(error_of(back), "");
    ASSERT_EQ(back->size(), 2u);
    for (const Named& n : arrays) {
      EXPECT_TRUE(identical(read_array(path(name), n.name, as(n.name)).value(), n.array)) << name << " " << n.name;
    }
    EXPECT_EQ(error_of(read_array(path(name), "pag")).substr(0, 5), "E729:");
  }
  ASSERT_EQ(error_of(write_arrays(path("w.npy"), {arrays[0]})), "");
  auto back = read_arrays(path("w.npy"), as);
  ASSERT_EQ(error_of(back), "");
  EXPECT_EQ(back->at(0).name, "w");
  EXPECT_TRUE(identical(back->at(0).array, arrays[0].array));
  EXPECT_TRUE(identical(read_array(path("w.npy"), "", f8e4m3).value(), arrays[0].array));
  EXPECT_TRUE(identical(read_array(path("w.npy"), "w", f8e4m3).value(), arrays[0].array));
  EXPECT_EQ(error_of(read_array(path("w.npy"), "x")), "E729: '" + path("w.npy") + "' has no array 'x'; it holds w");
}

TEST_F(FrontDoor, OtherEndingsAreRefused) {
  for (std::string name : {"a.txt", "a", "a.NPY", "a.npy.gz", "npy", ""}) {
    std::string text = "E731: '" + name + "' is not .npy, .npz or .safetensors; the ending says the format";
    EXPECT_EQ(error_of(read_arrays(name)), text);
    EXPECT_EQ(error_of(read_array(name, "x")), text);
    EXPECT_EQ(error_of(write_arrays(name, {})), text);
  }
}

TEST_F(FrontDoor, AnNpyHoldsOneArray) {
  EXPECT_EQ(error_of(write_arrays(path("a.npy"), {})),
            "E730: can't write '" + path("a.npy") + "': a .npy file holds one array, not 0");
  EXPECT_EQ(error_of(write_arrays(path("a.npy"), {{"x", {}}, {"y", {}}})),
            "E730: can't write '" + path("a.npy") + "': a .npy file holds one array, not 2");
}

}  // namespace
}  // namespace quern::array
