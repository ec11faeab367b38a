// The cache on disk: what is kept is found, what is damaged or foreign is not, whatever other processes do meanwhile.
#include "artifact/cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>

#include "base/philox.h"
#include "temporary_folder.h"

namespace quern::artifact {
namespace {

namespace fs = std::filesystem;

std::string read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
void write(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

// A payload that its own text proves whole: the number and many bytes that follow from it.
std::string payload(int64_t number, size_t size = 20000) {
  std::string out = std::to_string(number) + ":";
  for (int64_t i = 0; out.size() < size; ++i) out += std::to_string(random_bits(number, i));
  return out;
}

size_t files(const std::string& folder) {
  return static_cast<size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

uint64_t bytes(const std::string& folder) {
  uint64_t total = 0;
  for (const auto& e : fs::directory_iterator(folder)) total += e.file_size();
  return total;
}

// Runs `body` in a process of its own; its exit code is 0 if it returns true.
pid_t spawn(const std::function<bool()>& body) {
  pid_t child = ::fork();
  if (child == 0) ::_exit(body() ? 0 : 1);
  return child;
}
int exit_of(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

TEST(Cache, KeepsAndFinds) {
  TemporaryFolder folder;
  Cache cache(folder.path() + "/a/b");
  EXPECT_EQ(cache.find("key"), std::nullopt);
  cache.keep("key", payload(1));
  cache.keep("other", "");
  EXPECT_EQ(cache.find("key"), payload(1));
  EXPECT_EQ(cache.find("other"), "");
  cache.keep("key", payload(2));
  EXPECT_EQ(Cache(cache.folder()).find("key"), payload(2));
  EXPECT_EQ(files(cache.folder()), 2u);
  EXPECT_FALSE(cache.trouble());
}

TEST(Cache, IsOnlyForItsOwner) {
  TemporaryFolder folder;
  Cache cache(folder.path() + "/cache");
  cache.keep("key", "code");
  struct stat info {};
  ::stat(cache.folder().c_str(), &info);
  EXPECT_EQ(info.st_mode & 077u, 0u);
  // Others could have written it.
  fs::permissions(cache.path_of("key"), fs::perms::group_write, fs::perm_options::add);
  EXPECT_EQ(cache.find("key"), std::nullopt);
  cache.keep("key", "code");
  EXPECT_EQ(cache.find("key"), "code");
}

TEST(Cache, NoFolderKeepsNothing) {
  Cache cache("");
  cache.keep("key", "x");
  EXPECT_EQ(cache.find("key"), std::nullopt);
  EXPECT_FALSE(cache.trouble());
}

TEST(Cache, EveryTornEntryIsAbsent) {
  TemporaryFolder folder;
  Cache cache(folder.path());
  cache.keep("the key", payload(3, 300));
  std::string whole = read(cache.path_of("the key"));
  for (size_t n = 0; n < whole.size(); ++n) {
    write(cache.path_of("the key"), whole.substr(0, n));
    EXPECT_EQ(cache.find("the key"), std::nullopt) << n;
  }
  write(cache.path_of("the key"), whole + "x");
  EXPECT_EQ(cache.find("the key"), std::nullopt);
  cache.keep("the key", payload(3, 300));
  EXPECT_EQ(cache.find("the key"), payload(3, 300));
}

TEST(Cache, EveryFlippedBitIsSeen) {
  TemporaryFolder folder;
  Cache cache(folder.path());
  cache.keep("the key", payload(4, 200));
  std::string whole = read(cache.path_of("the key"));
  for (size_t i = 0; i < whole.size() * 8; ++i) {
    std::string damaged = whole;
    damaged[i / 8] = static_cast<char>(damaged[i / 8] ^ 1 << i % 8);
    write(cache.path_of("the key"), damaged);
    EXPECT_EQ(cache.find("the key"), std::nullopt) << i;
  }
}

// An entry of another key in this one's place: what two keys of one hash, or a copied file, would be.
TEST(Cache, AnEntryOfAnotherKeyIsAbsent) {
  TemporaryFolder folder;
  Cache cache(folder.path());
  cache.keep("quern 0.1 key", "old");
  fs::copy_file(cache.path_of("quern 0.1 key"), cache.path_of("quern 0.2 key"));
  EXPECT_EQ(cache.find("quern 0.2 key"), std::nullopt);
  EXPECT_EQ(cache.find("quern 0.1 key"), "old");
}

TEST(Cache, WhatIsNoFileIsAbsentAndNothingHangs) {
  TemporaryFolder folder;
  Cache cache(folder.path());
  ASSERT_EQ(::mkfifo(cache.path_of("pipe").c_str(), 0600), 0);
  EXPECT_EQ(cache.find("pipe"), std::nullopt);
  fs::create_directory(cache.path_of("folder"));
  EXPECT_EQ(cache.find("folder"), std::nullopt);
  cache.keep("real", "code");
  fs::create_symlink(cache.path_of("real"), cache.path_of("link"));
  EXPECT_EQ(cache.find("link"), std::nullopt);
}

TEST(Cache, OldestUsedGoesFirst) {
  TemporaryFolder folder;
  Cache cache(folder.path(), 100'000);
  for (int i = 0; i < 4; ++i) {
    cache.keep("key " + std::to_string(i), payload(i));
    timespec at[2] = {{1000 + i, 0}, {1000 + i, 0}};
    ::utimensat(AT_FDCWD, cache.path_of("key " + std::to_string(i)).c_str(), at, 0);
  }
  EXPECT_TRUE(cache.find("key 0"));  // used now, so key 1 is the oldest
  cache.keep("new", payload(9, 35000));
  EXPECT_TRUE(cache.find("key 0"));
  EXPECT_FALSE(cache.find("key 1"));
  EXPECT_TRUE(cache.find("key 2"));
  EXPECT_TRUE(cache.find("new"));
  for (int i = 0; i < 50; ++i) {
    cache.keep("more " + std::to_string(i), payload(i));
    EXPECT_LE(bytes(folder.path()), 100'000u);
  }
  EXPECT_TRUE(cache.find("more 49"));
  // What is larger than all of it isn't kept, and removes nothing.
  cache.keep("huge", std::string(200'000, 'x'));
  EXPECT_FALSE(cache.find("huge"));
  EXPECT_TRUE(cache.find("more 49"));
}

TEST(Cache, LeavesOtherFilesAlone) {
  TemporaryFolder folder;
  write(folder.path() + "/notes.txt", std::string(200'000, 'x'));
  Cache cache(folder.path(), 50'000);
  for (int i = 0; i < 5; ++i) cache.keep(std::to_string(i), payload(i));
  EXPECT_TRUE(fs::exists(folder.path() + "/notes.txt"));
}

TEST(Cache, ManyProcessesAtOnce) {
  TemporaryFolder folder;
  std::vector<pid_t> children;
  for (int p = 0; p < 8; ++p) {
    children.push_back(spawn([&, p] {
      Cache cache(folder.path(), 120'000);  // room for six entries of ten: they also remove each other's
      for (int64_t i = 0; i < 300; ++i) {
        int64_t k = random_bits(p, i) % 10;
        auto found = cache.find("key " + std::to_string(k));
        if (found && *found != payload(k)) return false;
        if (!found) cache.keep("key " + std::to_string(k), payload(k));
      }
      return !cache.trouble();
    }));
  }
  for (pid_t c : children) EXPECT_EQ(exit_of(c), 0);
  for (const auto& e : fs::directory_iterator(folder.path())) EXPECT_EQ(e.path().extension(), ".kernel");
}

TEST(Cache, AProcessKilledInTheMiddleOfAWriteHarmsNobody) {
  TemporaryFolder folder;
  for (int round = 0; round < 40; ++round) {
    pid_t child = spawn([&] {
      Cache cache(folder.path());
      for (int64_t i = 0;; ++i) cache.keep("key", payload(i % 2, 2'000'000));
      return false;
    });
    ::usleep(static_cast<useconds_t>(3000 + random_bits(1, round) % 20000));
    ::kill(child, SIGKILL);
    EXPECT_EQ(exit_of(child), -SIGKILL);
    auto found = Cache(folder.path()).find("key");
    EXPECT_TRUE(!found || *found == payload(0, 2'000'000) || *found == payload(1, 2'000'000)) << round;
  }
  Cache cache(folder.path());
  cache.keep("key", "fine");
  EXPECT_EQ(cache.find("key"), "fine");
  // What they left is removed when it is old.
  for (const auto& e : fs::directory_iterator(folder.path())) {
    timespec at[2] = {{1000, 0}, {1000, 0}};
    ::utimensat(AT_FDCWD, e.path().c_str(), at, 0);
  }
  cache.keep("next", "x");
  EXPECT_EQ(files(folder.path()), 2u);
}

TEST(Cache, AFullDiskIsSaidOnce) {
  TemporaryFolder folder;
  // A limit on the size of files stands for the disk: the write stops in the middle.
  EXPECT_EQ(exit_of(spawn([&] {
              ::signal(SIGXFSZ, SIG_IGN);
              rlimit limit{5000, 5000};
              ::setrlimit(RLIMIT_FSIZE, &limit);
              Cache cache(folder.path());
              cache.keep("key", payload(1));
              if (cache.find("key")) return false;
              auto said = cache.trouble();
              cache.keep("key", payload(1));
              return said && said->code == Code::R40 && !cache.trouble();
            })),
            0);
  EXPECT_EQ(files(folder.path()), 0u);
}

TEST(Cache, AReadOnlyFolderIsSaidOnceAndStillRead) {
  TemporaryFolder folder;
  Cache(folder.path()).keep("there", "code");
  fs::permissions(folder.path(), fs::perms::owner_read | fs::perms::owner_exec);
  auto body = [&] {
    // The superuser may write anywhere: give that up.
    if (::geteuid() == 0) {
      ::chown(Cache(folder.path()).path_of("there").c_str(), 65534, 65534);
      ::chown(folder.path().c_str(), 65534, 65534);
      if (::setuid(65534) != 0) return false;
    }
    Cache cache(folder.path());
    cache.keep("key", "x");
    auto said = cache.trouble();
    cache.keep("key", "x");
    return said && said->message.find("ermission denied") != std::string::npos && !cache.trouble() &&
           cache.find("there") == "code" && !cache.find("key");
  };
  EXPECT_EQ(exit_of(spawn(body)), 0);
}

TEST(Cache, AFileInPlaceOfTheFolder) {
  TemporaryFolder folder;
  write(folder.path() + "/file", "");
  Cache cache(folder.path() + "/file/cache");
  cache.keep("key", "x");
  EXPECT_TRUE(cache.trouble());
  EXPECT_FALSE(cache.find("key"));
}

TEST(Cache, DefaultFolder) {
  auto with = [](const char* quern, const char* xdg, const char* home) {
    auto set = [](const char* name, const char* value) { value ? ::setenv(name, value, 1) : ::unsetenv(name); };
    std::string out;
    set("QUERN_CACHE", quern), set("XDG_CACHE_HOME", xdg), set("HOME", home);
    return Cache::default_folder();
  };
  std::string home = std::getenv("HOME") ? std::getenv("HOME") : "/";
  EXPECT_EQ(with("/q", "/x", "/h"), "/q");
  EXPECT_EQ(with("", "/x", "/h"), "");
  EXPECT_EQ(with(nullptr, "/x", "/h"), "/x/quern");
  EXPECT_EQ(with(nullptr, "relative", "/h"), "/h/.cache/quern");
  EXPECT_EQ(with(nullptr, nullptr, "/h"), "/h/.cache/quern");
  EXPECT_EQ(with(nullptr, nullptr, nullptr), "");
  with(nullptr, nullptr, home.c_str());
}

}  // namespace
}  // namespace quern::artifact
