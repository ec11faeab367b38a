#include "case.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <sstream>

namespace quern::test {
namespace {

std::vector<std::string> words(std::string_view text) {
  std::istringstream in{std::string(text)};
  std::vector<std::string> out;
  for (std::string w; in >> w;) out.push_back(w);
  return out;
}

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\r')) s.remove_suffix(1);
  return s;
}

// "out f32 ~2^-22 rel": false if it is no such line.
bool head_of(std::string_view head, Array& out) {
  std::vector<std::string> w = words(head);
  if (w.empty()) return false;
  if (w[0] == "texture" || w[0] == "surface") {
    out.way = w[0] == "texture" ? Array::Way::kTexture : Array::Way::kSurface;
    if (w.size() < 3) return false;
    out.type = w[1].substr(0, w[1].find('x'));
    out.about.assign(w.begin() + 1, w.end());
    return bytes_of(out.type) != 0;
  }
  if (w[0] == "in") {
    out.way = Array::Way::kIn;
  } else if (w[0] == "out") {
    out.way = Array::Way::kOut;
  } else if (w[0] == "inout") {
    out.way = Array::Way::kInout;
  } else if (w[0] == "scalar") {
    out.way = Array::Way::kScalar;
  } else {
    return false;
  }
  if (w.size() != 2 && w.size() != 4) return false;
  out.type = w[1];
  if (!bytes_of(out.type)) return false;
  if (w.size() == 2) return true;
  out.relative = w[3] == "rel";
  if (!w[2].starts_with("~2^") || (!out.relative && w[3] != "abs")) return false;
  out.tolerance = std::exp2(std::strtod(w[2].c_str() + 3, nullptr));
  return true;
}

}  // namespace

int bytes_of(std::string_view type) {
  size_t digit = type.find_first_of("0123456789");
  if (digit == std::string_view::npos) return 0;
  int bits = std::atoi(std::string(type.substr(digit)).c_str());
  return bits % 8 ? 0 : bits / 8;
}

bool is_real(std::string_view type) { return type[0] == 'f' || type == "bf16"; }

double real_of(std::string_view type, uint64_t bits) {
  if (type == "f64") return std::bit_cast<double>(bits);
  if (type == "f32") return std::bit_cast<float>(static_cast<uint32_t>(bits));
  if (type == "bf16") return std::bit_cast<float>(static_cast<uint32_t>(bits << 16));
  return static_cast<double>(std::bit_cast<_Float16>(static_cast<uint16_t>(bits)));
}

bool parse_value(std::string_view type, std::string_view text, uint64_t& low, uint64_t& high) {
  high = 0;
  std::string s(text);
  if (text.starts_with("0x")) {
    std::string digits = s.substr(2);
    std::erase(digits, '_');
    if (digits.empty() || digits.size() > 32) return false;
    size_t half = digits.size() > 16 ? digits.size() - 16 : 0;
    high = std::strtoull(digits.substr(0, half).c_str(), nullptr, 16);
    low = std::strtoull(digits.substr(half).c_str(), nullptr, 16);
    return true;
  }
  char* end = nullptr;
  if (!is_real(type)) {
    low =
        text[0] == '-' ? static_cast<uint64_t>(std::strtoll(s.c_str(), &end, 10)) : std::strtoull(s.c_str(), &end, 10);
    if (text[0] == '-') high = ~uint64_t{0};
    return !*end;
  }
  double v = std::strtod(s.c_str(), &end);  // "inf" and "nan" as well
  if (type == "f64") low = std::bit_cast<uint64_t>(v);
  if (type == "f32") low = std::bit_cast<uint32_t>(static_cast<float>(v));
  if (type == "f16") low = std::bit_cast<uint16_t>(static_cast<_Float16>(v));
  if (type == "bf16") low = std::bit_cast<uint32_t>(static_cast<float>(v)) >> 16;
  return !*end;
}

std::vector<Case> cases_of(std::string_view text, std::string& error) {
  std::vector<Case> out;
  Case now;
  int line = 0;
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find('\n', at), text.size());
    std::string_view s = trimmed(text.substr(at, end - at));
    at = end + 1;
    ++line;
    auto finish = [&](std::string_view name) {
      now.kernel = std::string(name);
      now.line = line;
      out.push_back(std::move(now));
      now = {};
    };
    if (size_t entry = s.find(".entry "); entry != std::string_view::npos && !s.starts_with("//")) {
      std::string_view name = trimmed(s.substr(entry + 7));
      finish(name.substr(0, name.find_first_of("( ")));
      continue;
    }
    if (!s.starts_with("// ")) continue;
    s.remove_prefix(3);
    if (s.starts_with("again ")) {
      finish(trimmed(s.substr(6)));
      continue;
    }
    size_t colon = s.find(": ");
    if (colon == std::string_view::npos) continue;
    std::string_view head = s.substr(0, colon), rest = trimmed(s.substr(colon + 2));
    if (head == "block") {
      now.block = static_cast<uint32_t>(std::atoi(std::string(rest).c_str()));
    } else if (head == "fails") {
      now.fails = std::string(rest);
    } else if (head == "faults") {
      now.faults = std::string(rest);
    } else {
      Array a;
      std::string first = words(head).empty() ? "" : words(head)[0];
      bool meant = first == "in" || first == "out" || first == "inout" || first == "scalar" || first == "texture" ||
                   first == "surface";
      if (!head_of(head, a)) {
        if (meant) error += "line " + std::to_string(line) + ": not understood: " + std::string(s) + "\n";
        continue;
      }
      size_t arrow = rest.find("->");
      std::vector<std::string> before = words(rest.substr(0, arrow));
      if (a.way == Array::Way::kOut) {
        a.wanted = before;
      } else {
        a.given = before;
      }
      if (a.way == Array::Way::kSurface && arrow != std::string_view::npos) a.wanted = words(rest.substr(arrow + 2));
      if (a.way == Array::Way::kInout)
        a.wanted = arrow == std::string_view::npos ? before : words(rest.substr(arrow + 2));
      now.arrays.push_back(std::move(a));
    }
  }
  return out;
}

}  // namespace quern::test
