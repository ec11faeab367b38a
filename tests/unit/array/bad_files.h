// Files for the tests of array/, put together byte by byte: what NumPy or a well-meaning library would never write has
// to be written by hand. Also a folder for a test's files, and errors as one line of text.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "array/array.h"
#include "array/bytes.h"

namespace quern::array {

// "E722: 'x' is truncated: ...; copy it again"; empty for a value.
template <class T>
std::string error_of(const Result<T>& result) {
  if (result) return "";
  const Diagnostic& d = result.error().at(0);
  std::string out = std::string(row(d.code).name) + ": " + d.message;
  return d.remedy.empty() ? out : out + "; " + d.remedy;
}

inline Bytes memory(std::string_view text) {
  return borrow({reinterpret_cast<const std::byte*>(text.data()), text.size()});
}

// `bytes` of `value`, lowest first.
inline std::string little(uint64_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(i < 8 ? value >> (8 * i) & 255 : 0);
  return out;
}

inline std::string npy(std::string_view dict, std::string_view data, int version = 1) {
  return "\x93NUMPY" + little(static_cast<uint64_t>(version), 2) + little(dict.size(), version == 1 ? 2 : 4) +
         std::string(dict) + std::string(data);
}

inline std::string npy_of(std::string_view descr, std::string_view shape, std::string_view data,
                          std::string_view fortran = "False") {
  return npy("{'descr': '" + std::string(descr) + "', 'fortran_order': " + std::string(fortran) +
                 ", 'shape': " + std::string(shape) + ", }\n",
             data);
}

inline std::string safetensors(std::string_view json, std::string_view data) {
  return little(json.size(), 8) + std::string(json) + std::string(data);
}

// A member of a zip archive; what is not set follows from `data`.
struct Member {
  std::string name;
  std::string data;  // as it lies in the archive
  uint16_t method = 0;
  uint16_t flags = 0;
  uint64_t size = UINT64_MAX;  // unpacked, as declared
  uint32_t checksum = 0;
  bool right_checksum = true;
};

inline uint32_t crc32(std::string_view data) {
  uint32_t crc = 0xffffffff;
  for (char c : data) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1 ? 0xEDB88320 : 0);
  }
  return ~crc;
}

// PKWARE's APPNOTE 4.3: local headers with data, central directory, end record; sizes over 32 bits as zip64 (4.5.3).
inline std::string zip(const std::vector<Member>& members) {
  std::string out, directory;
  for (const Member& m : members) {
    uint64_t size = m.size == UINT64_MAX ? m.data.size() : m.size;
    bool wide = size >= UINT32_MAX;
    std::string extra = wide ? little(1, 2) + little(8, 2) + little(size, 8) : "";
    std::string fields = little(m.flags, 2) + little(m.method, 2) + little(0, 2) + little(33, 2) +
                         little(m.right_checksum ? crc32(m.data) : m.checksum, 4) + little(m.data.size(), 4) +
                         little(wide ? UINT32_MAX : size, 4) + little(m.name.size(), 2) + little(extra.size(), 2);
    directory += "PK\1\2" + little(45, 2) + little(45, 2) + fields + little(0, 2 + 2 + 2 + 4) + little(out.size(), 4) +
                 m.name + extra;
    // The local header's zip64 field must give both sizes.
    std::string local = wide ? little(1, 2) + little(16, 2) + little(size, 8) + little(m.data.size(), 8) : "";
    out += "PK\3\4" + little(45, 2) + fields.substr(0, fields.size() - 2) + little(local.size(), 2) + m.name + local +
           m.data;
  }
  std::string count = little(members.size(), 2);
  return out + directory + "PK\5\6" + little(0, 4) + count + count + little(directory.size(), 4) +
         little(out.size(), 4) + little(0, 2);
}

class InFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "quern_array_XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  // Writes `bytes` and returns the path.
  std::string file(const std::string& name, std::string_view bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }
  static std::string contents(const std::string& path) {
    std::stringstream out;
    out << std::ifstream(path, std::ios::binary).rdbuf();
    return out.str();
  }

  std::string folder_;
};

// An array of the type with every element drawn from all bit patterns, as a function of `seed`.
Array any_array(ScalarType type, std::vector<int64_t> shape, uint64_t seed);
// A shape of up to five dimensions of up to five, some of them 0 or 1; the last even for 4-bit types.
std::vector<int64_t> any_shape(ScalarType type, uint64_t seed);

}  // namespace quern::array
