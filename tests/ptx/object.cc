#include "object.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace quern::test {
namespace {

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> out(1);
  for (char c : text) c == at ? out.emplace_back() : out.back() += c, void();
  return out;
}

bool set_word(const std::string& word, const std::string& type, vgpu::Texture& t, bool& layered, bool& freed,
              size_t& levels, std::vector<vgpu::AddressMode>& modes) {
  vgpu::Sampler& s = t.sampler;
  const std::pair<const char*, bool*> flags[] = {
      {"layered", &layered},
      {"cube", &t.cube},
      {"memory", &t.linear_memory},
      {"linear", &s.linear},
      {"normalized", &s.normalized},
      {"real", &s.as_real},
      {"srgb", &s.srgb},
      {"seamless", &s.seamless},
      {"mip", &s.mip_linear},
      {"freed", &freed},
  };
  for (const auto& [name, flag] : flags) {
    if (word == name) return *flag = true;
  }
  constexpr const char* kModes[] = {"wrap", "clamp", "mirror", "border"};
  for (size_t i = 0; i < 4; ++i) {
    if (word == kModes[i]) return modes.push_back(static_cast<vgpu::AddressMode>(i)), true;
  }
  size_t equals = word.find('=');
  if (equals == std::string::npos) return false;
  std::string name = word.substr(0, equals), value = word.substr(equals + 1);
  if (name == "levels") return (levels = std::strtoul(value.c_str(), nullptr, 10)) != 0;
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
  if (name == "least") return s.least_level = number, true;
  if (name == "most") return s.most_level = number, true;
  if (name == "bias") return s.bias = number, true;
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
  bool layered = false, freed = false;
  size_t levels = 1;
  std::vector<vgpu::AddressMode> modes;
  for (size_t i = 2; i < a.about.size(); ++i) {
    if (!set_word(a.about[i], a.type, out, layered, freed, levels, modes)) return false;
  }
  for (size_t i = 0; i < 3 && !modes.empty(); ++i) out.sampler.address[i] = modes[std::min(i, modes.size() - 1)];
  out.array = !out.linear_memory;
  if (layered || out.cube) {
    uint32_t& last = size[sizes.size() - 1];
    out.layers = last;
    last = 1;
  }
  uint64_t total = 0;
  for (size_t i = 0; i < levels; ++i) {
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
  if (freed) memory.release(*at);
  return true;
}

}  // namespace quern::test
