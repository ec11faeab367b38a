#include "artifact/cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <tuple>
#include <utility>
#include <vector>

namespace quern::artifact {
namespace {

constexpr std::string_view kMagic = "quern code 1\n";
constexpr std::string_view kEnding = ".kernel";
constexpr std::string_view kTemporary = ".part";
constexpr int64_t kAbandonedSeconds = 3600;  // a temporary file this old was left by a process that died

// FNV-1a, 64 bits: each step is a bijection, so any one changed byte changes the result.
uint64_t fnv(std::string_view bytes, uint64_t state) {
  for (unsigned char c : bytes) state = (state ^ c) * 0x100000001b3;
  return state;
}
constexpr uint64_t kStart = 0xcbf29ce484222325;

std::string number(uint64_t value) { return std::string(reinterpret_cast<const char*>(&value), sizeof value); }

std::optional<uint64_t> take_number(std::string_view& in) {
  uint64_t value = 0;
  if (in.size() < sizeof value) return std::nullopt;
  std::memcpy(&value, in.data(), sizeof value);
  in.remove_prefix(sizeof value);
  return value;
}

// An entry: magic, length of the key, length of the payload, key, payload, checksum of all before it.
std::string entry_head(std::string_view key, std::string_view payload) {
  return std::string(kMagic) + number(key.size()) + number(payload.size());
}

std::optional<std::string> payload_of(std::string_view entry, std::string_view key) {
  if (entry.size() < kMagic.size() + 3 * sizeof(uint64_t) || !entry.starts_with(kMagic)) return std::nullopt;
  std::string_view sum = entry.substr(entry.size() - sizeof(uint64_t));
  std::string_view body = entry.substr(0, entry.size() - sizeof(uint64_t));
  std::string_view rest = body.substr(kMagic.size());
  auto key_size = take_number(rest), payload_size = take_number(rest);
  if (*key_size != key.size() || *payload_size > rest.size() || rest.size() - *payload_size != key.size()) {
    return std::nullopt;
  }
  if (rest.substr(0, key.size()) != key || *take_number(sum) != fnv(body, kStart)) return std::nullopt;
  return std::string(rest.substr(key.size()));
}

struct File {
  int descriptor = -1;
  ~File() {
    if (descriptor >= 0) ::close(descriptor);
  }
};

bool write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t n = ::write(file, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n == 0) errno = ENOSPC;
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

// The folder and those above it; only its owner may enter what is made here.
bool make_folder(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return true;
  size_t slash = path.rfind('/');
  if (errno != ENOENT || slash == std::string::npos || slash == 0 || !make_folder(path.substr(0, slash))) return false;
  return ::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST;
}

}  // namespace

Cache::Cache(std::string folder, uint64_t limit) : folder_(std::move(folder)), limit_(limit) {}

std::string Cache::default_folder() {
  auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value ? value : "");
  };
  if (std::getenv("QUERN_CACHE")) return variable("QUERN_CACHE");
  // Relative paths in XDG variables are to be ignored (XDG base directory specification 0.8).
  if (std::string base = variable("XDG_CACHE_HOME"); base.starts_with('/')) return base + "/quern";
  if (std::string home = variable("HOME"); home.starts_with('/')) return home + "/.cache/quern";
  return {};
}

std::string Cache::path_of(std::string_view key) const {
  // 128 bits, so that chance never makes two keys take turns in one file; were it to, the key inside decides.
  return fmt::format("{}/{:016x}{:016x}{}", folder_, fnv(key, kStart), fnv(key, kStart ^ 0x9e3779b97f4a7c15), kEnding);
}

std::optional<std::string> Cache::find(std::string_view key) {
  if (folder_.empty()) return std::nullopt;
  File file{::open(path_of(key).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)};
  struct stat info {};
  if (file.descriptor < 0 || ::fstat(file.descriptor, &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  // Code that others could have written isn't run.
  if (info.st_uid != ::geteuid() || (info.st_mode & 022) != 0) return std::nullopt;
  if (info.st_size < 0 || static_cast<uint64_t>(info.st_size) > std::max(limit_, uint64_t{1} << 30)) {
    return std::nullopt;
  }
  std::string entry(static_cast<size_t>(info.st_size), '\0');
  size_t have = 0;
  while (have < entry.size()) {
    ssize_t n = ::read(file.descriptor, entry.data() + have, entry.size() - have);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return std::nullopt;
    have += static_cast<size_t>(n);
  }
  auto payload = payload_of(entry, key);
  if (payload) ::futimens(file.descriptor, nullptr);  // used now
  return payload;
}

void Cache::keep(std::string_view key, std::string_view payload) {
  if (folder_.empty()) return;
  std::string head = entry_head(key, payload);
  uint64_t size = head.size() + key.size() + payload.size() + sizeof(uint64_t);
  if (size > limit_) return;
  if (!make_folder(folder_)) return report("can't make the folder", errno);
  make_room(size);

  static std::atomic<uint64_t> calls = 0;
  std::string path = path_of(key), temporary;
  File file;
  for (int attempt = 0; file.descriptor < 0 && attempt < 100; ++attempt) {
    temporary = fmt::format("{}.{}-{}{}", path, ::getpid(), calls++, kTemporary);
    file.descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file.descriptor < 0 && errno != EEXIST) break;
  }
  if (file.descriptor < 0) return report("can't write", errno);
  uint64_t sum = fnv(payload, fnv(key, fnv(head, kStart)));
  // A crash of the machine may leave a torn entry; its checksum tells, so nothing waits for the disk here.
  bool written = write_all(file.descriptor, head) && write_all(file.descriptor, key) &&
                 write_all(file.descriptor, payload) && write_all(file.descriptor, number(sum));
  int error = errno;
  if (::close(std::exchange(file.descriptor, -1)) != 0 && written) {
    written = false;
    error = errno;
  }
  if (written && ::rename(temporary.c_str(), path.c_str()) == 0) return;
  if (written) error = errno;
  ::unlink(temporary.c_str());
  report("can't write", error);
}

// Removes what was used longest ago until `coming` more bytes fit, and what dead processes left.
void Cache::make_room(uint64_t coming) {
  DIR* folder = ::opendir(folder_.c_str());
  if (!folder) return;
  struct Entry {
    timespec used;
    uint64_t size;
    std::string path;
  };
  std::vector<Entry> entries;
  uint64_t total = coming;
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  while (const dirent* found = ::readdir(folder)) {
    std::string_view name = found->d_name;
    bool entry = name.ends_with(kEnding), temporary = name.ends_with(kTemporary);
    struct stat info {};
    if (!entry && !temporary) continue;  // not ours
    std::string path = folder_ + "/" + std::string(name);
    if (::lstat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
    if (temporary && now.tv_sec - info.st_mtim.tv_sec > kAbandonedSeconds) {
      ::unlink(path.c_str());
    } else {
      total += static_cast<uint64_t>(info.st_size);
      if (entry) entries.push_back({info.st_mtim, static_cast<uint64_t>(info.st_size), std::move(path)});
    }
  }
  ::closedir(folder);
  if (total <= limit_) return;
  std::ranges::sort(entries, [](const Entry& a, const Entry& b) {
    return std::tie(a.used.tv_sec, a.used.tv_nsec, a.path) < std::tie(b.used.tv_sec, b.used.tv_nsec, b.path);
  });
  for (const Entry& e : entries) {
    if (total <= limit_) break;
    ::unlink(e.path.c_str());
    total -= e.size;
  }
}

void Cache::report(std::string what, int error) {
  std::lock_guard lock(mutex_);
  if (told_ || trouble_) return;
  trouble_ = diagnose(Code::R40, {}, {{"folder", folder_}, {"why", what + ": " + std::strerror(error)}});
}

std::optional<Diagnostic> Cache::trouble() {
  std::lock_guard lock(mutex_);
  if (trouble_) told_ = true;
  return std::exchange(trouble_, std::nullopt);
}

}  // namespace quern::artifact
