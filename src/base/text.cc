#include "base/text.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace quern {

std::optional<size_t> invalid_utf8(std::string_view text) {
  size_t i = 0;
  auto byte = [&](size_t k) { return static_cast<unsigned char>(text[k]); };
  while (i < text.size()) {
    unsigned char lead = byte(i);
    if (lead < 0x80) {
      ++i;
      continue;
    }
    int more = lead >= 0xC2 && lead <= 0xDF   ? 1
               : lead >= 0xE0 && lead <= 0xEF ? 2
               : lead >= 0xF0 && lead <= 0xF4 ? 3
                                              : 0;
    if (more == 0 || i + more >= text.size()) return i;
    unsigned char second = byte(i + 1);
    unsigned char low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    unsigned char high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    if (second < low || second > high) return i;
    for (int k = 2; k <= more; ++k) {
      if ((byte(i + k) & 0xC0) != 0x80) return i;
    }
    i += more + 1;
  }
  return std::nullopt;
}

std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates) {
  constexpr size_t kLongest = 64;  // names longer than this are not misspelt, they are something else
  if (word.empty() || word.size() > kLongest) return std::nullopt;
  std::optional<std::string> best;
  size_t best_distance = std::max<size_t>(1, (word.size() + 2) / 3) + 1;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > kLongest || candidate == word) continue;
    // Optimal string alignment, three rows.
    std::vector<size_t> before(candidate.size() + 1), above(candidate.size() + 1), row(candidate.size() + 1);
    for (size_t j = 0; j <= candidate.size(); ++j) above[j] = j;
    for (size_t i = 1; i <= word.size(); ++i) {
      row[0] = i;
      for (size_t j = 1; j <= candidate.size(); ++j) {
        row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (word[i - 1] != candidate[j - 1])});
        if (i > 1 && j > 1 && word[i - 1] == candidate[j - 2] && word[i - 2] == candidate[j - 1]) {
          row[j] = std::min(row[j], before[j - 2] + 1);
        }
      }
      std::swap(before, above);
      std::swap(above, row);
    }
    size_t distance = above[candidate.size()];
    if (distance < best_distance && distance < std::max(word.size(), candidate.size())) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string counted(size_t count, std::string_view thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

std::string join(std::span<const std::string> parts, std::string_view separator) {
  std::string out;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i) out += separator;
    out += parts[i];
  }
  return out;
}

std::optional<Diagnostic> not_utf8(const Source& source) {
  auto bad = invalid_utf8(source.text());
  if (!bad) return std::nullopt;
  auto at = static_cast<uint32_t>(*bad);
  auto byte = static_cast<unsigned char>(source.text()[*bad]);
  return diagnose(Code::E114, {&source, at, at + 1},
                  {{"byte", fmt::format("0x{:02x}", byte)}, {"offset", std::to_string(*bad)}});
}

Result<SourcePtr> read_source(const std::string& path) {
  constexpr size_t kLimit = size_t{256} << 20;
  auto refuse = [&](std::string why) {
    return fail(diagnose(Code::E117, {}, {{"path", path}, {"why", std::move(why)}}));
  };
  int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return refuse(std::strerror(errno));
  std::string text;
  struct stat info {};
  std::optional<std::string> why;
  if (::fstat(file, &info) != 0) {
    why = std::strerror(errno);
  } else if (S_ISDIR(info.st_mode)) {
    why = "it is a directory";
  } else {
    // Devices and pipes have no size: read until the end or the limit, so that a file without end is refused too.
    char buffer[1 << 16];
    while (!why) {
      ssize_t n = ::read(file, buffer, sizeof buffer);
      if (n == 0) break;
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) {
        why = std::strerror(errno);
      } else if (text.size() + static_cast<size_t>(n) > kLimit) {
        why = "it is larger than 256 MiB";
      } else {
        text.append(buffer, static_cast<size_t>(n));
      }
    }
  }
  ::close(file);
  if (why) return refuse(*why);
  SourcePtr source = Source::make(path, std::move(text));
  if (auto bad = not_utf8(*source)) return fail(std::move(*bad));
  return source;
}

std::string printable(std::string_view text, size_t limit) {
  bool cut = text.size() > limit;
  if (cut) {
    // Not in the middle of a character: at most three continuation bytes are given up.
    while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xC0) == 0x80) --limit;
    text = text.substr(0, limit);
  }
  std::string out;
  while (!text.empty()) {
    size_t valid = invalid_utf8(text).value_or(text.size());
    for (size_t i = 0; i < valid; ++i) {
      auto c = static_cast<unsigned char>(text[i]);
      bool c1 = c == 0xC2 && static_cast<unsigned char>(text[i + 1]) < 0xA0;  // U+0080 to U+009F: terminals obey them
      if (c1) {
        out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[++i]));
      } else if (c < 32 || c == 127) {
        out += fmt::format("\\x{:02x}", c);
      } else {
        out += static_cast<char>(c);
      }
    }
    text.remove_prefix(valid);
    if (text.empty()) break;
    out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
    text.remove_prefix(1);
  }
  if (cut) out += "...";
  return out;
}

Result<void> write_file(const std::string& path, std::span<const std::string_view> parts) {
  auto refuse = [&](int error) {
    return fail(diagnose(Code::E730, {}, {{"path", path}, {"why", std::strerror(error)}}));
  };
  struct stat info {};
  bool exists = ::stat(path.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode)) return refuse(EISDIR);
  bool plain = !exists || S_ISREG(info.st_mode);  // /dev/null is written in place
  std::string target = path;
  if (exists && plain) {
    std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr), &std::free);
    if (!real) return refuse(errno);
    target = real.get();
  }
  // A name of its own for each call, since two threads may write one file; one that a killed process left is passed by.
  static std::atomic<uint64_t> calls = 0;
  std::string temporary = target;
  int file = -1;
  for (int attempt = 0; file < 0 && attempt < 100; ++attempt) {
    if (plain) temporary = fmt::format("{}.{}-{}.tmp", target, ::getpid(), calls++);
    file = ::open(temporary.c_str(), O_WRONLY | O_CLOEXEC | (plain ? O_CREAT | O_EXCL : 0), 0666);
    if (file < 0 && errno != EEXIST) break;
  }
  if (file < 0) return refuse(errno);
  int error = 0;
  if (exists && plain && ::fchmod(file, info.st_mode & 0777) != 0) error = errno;
  for (std::string_view part : parts) {
    while (!part.empty() && !error) {
      ssize_t n = ::write(file, part.data(), part.size());
      if (n < 0 && errno != EINTR) error = errno;
      if (n > 0) part.remove_prefix(static_cast<size_t>(n));
    }
  }
  if (!error && plain && ::fsync(file) != 0) error = errno;
  if (::close(file) != 0 && !error) error = errno;
  if (!error && plain && ::rename(temporary.c_str(), target.c_str()) != 0) error = errno;
  if (error && plain) ::unlink(temporary.c_str());
  if (error) return refuse(error);
  return {};
}

Result<void> write_file(const std::string& path, std::string_view contents) {
  return write_file(path, std::span(&contents, 1));
}

std::string human_bytes(uint64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  auto value = static_cast<double>(bytes);
  int unit = 0;
  while (value >= 1024 && unit < 6) {
    value /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

}  // namespace quern
