#include "object.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace quern::test {
namespace {

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> out(1);
  for (char c : text) {
    if (c == at) {
      out.emplace_back();
    } else {
      out.back() += c;
    }
  }
  return out;
}

// What the words say that isn't in the texture itself.
struct Words {
  bool layered = false, freed = false;
  size_t levels = 1;
  std::vector<vgpu::AddressMode> modes;
};

bool set_word(const std::string& word, const std::string& type, vgpu::Texture& t, Words& words) {
  vgpu::Sampler& s = t.sampler;
  const std::pair<const char*, bool*> flags[] = {
      {"layered", &words.layered},
      {"cube", &t.cube},
      {"memory", &t.linear_memory},
      {"linear", &s.linear},
      {"normalized", &s.normalized},
      {"real", &s.as_real},
      {"srgb", &s.srgb},
      {"seamless", &s.seamless},
      {"mip", &s.mip_linear},
      {"freed", &words.freed},
  };
  for (const auto& [name, flag] : flags) {
    if (word != name) continue;
    *flag = true;
    return true;
  }
  constexpr const char* kModes[] = {"wrap", "clamp", "mirror", "border"};
  for (size_t i = 0; i < 4; ++i) {
    if (word != kModes[i]) continue;
    words.modes.push_back(static_cast<vgpu::AddressMode>(i));
    return true;
  }
  size_t equals = word.find('=');
  if (equals == std::string::npos) return false;
  std::string name = word.substr(0, equals), value = word.substr(equals + 1);
  if (name == "levels") {
    words.levels = std::strtoul(value.c_str(), nullptr, 10);
    return words.levels != 0;
  }
  if (name == "border") {
    std::vector<std::string> parts = split(value, '/');
    bool real = is_real(type) || s.as_real;
    for (size_t i = 0; i < parts.size() && i < 4; ++i) {
      uint64_t low, high;
      if (!parse_value(real ? "f32" : "u32", parts[i], low, high)) return false;
      s.border[i] = static_cast<uint32_t>(low);
    }
    return true;
  }
  float number = std::strtof(value.c_str(), nullptr);
  const std::pair<const char*, float*> numbers[] = {
      {"least", &s.least_level}, {"most", &s.most_level}, {"bias", &s.bias}};
  for (const auto& [known, to] : numbers) {
    if (name != known) continue;
    *to = number;
    return true;
  }
  return false;
}

}  // namespace

bool make_object(const Array& a, const std::vector<uint8_t>& bytes, vgpu::Memory& memory, vgpu::Texture& out) {
  out.surface = a.way == Array::Way::kSurface;
  out.format.kind = is_real(a.type)    ? vgpu::ChannelKind::kFloat
                    : a.type[0] == 's' ? vgpu::ChannelKind::kSigned
                                       : vgpu::ChannelKind::kUnsigned;
  out.format.bits = bytes_of(a.type) * 8;
  std::vector<std::string> format = split(a.about[0], 'x');
  out.format.channels = format.size() > 1 ? std::atoi(format[1].c_str()) : 1;
  uint32_t size[3] = {1, 1, 1};
  std::vector<std::string> sizes = split(a.about[1], 'x');
  for (size_t i = 0; i < sizes.size() && i < 3; ++i) size[i] = static_cast<uint32_t>(std::atoi(sizes[i].c_str()));
  Words words;
  for (size_t i = 2; i < a.about.size(); ++i) {
    if (!set_word(a.about[i], a.type, out, words)) return false;
  }
  for (size_t i = 0; i < 3 && !words.modes.empty(); ++i) {
    out.sampler.address[i] = words.modes[std::min(i, words.modes.size() - 1)];
  }
  out.array = !out.linear_memory;
  if (words.layered || out.cube) {
    uint32_t& last = size[sizes.size() - 1];
    out.layers = last;
    last = 1;
  }
  uint64_t total = 0;
  for (size_t i = 0; i < words.levels; ++i) {
    vgpu::TextureLevel l;
    l.width = std::max(size[0] >> i, 1u), l.height = std::max(size[1] >> i, 1u), l.depth = std::max(size[2] >> i, 1u);
    l.pitch = static_cast<int64_t>(l.width) * out.format.bytes();
    l.slice = l.pitch * l.height;
    l.address = total;
    total += static_cast<uint64_t>(l.slice) * std::max(out.layers, l.depth);
    out.levels.push_back(l);
  }
  auto at = memory.allocate(static_cast<int64_t>(total), 256, vgpu::Holds::kGlobal, "an array");
  if (!at || (!a.given.empty() && bytes.size() != total)) return false;
  if (!a.given.empty()) {
    std::memcpy(reinterpret_cast<void*>(*at), bytes.data(), bytes.size());
    memory.mark_written(*at, static_cast<int64_t>(total));
  }
  for (vgpu::TextureLevel& l : out.levels) l.address += *at;
  if (words.freed) memory.release(*at);
  return true;
}

}  // namespace quern::test
