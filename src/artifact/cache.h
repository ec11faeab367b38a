// Compiled code on disk, by content. The key is everything that decides the code, as text (program, sizes, types,
// schedule, processor, version of Quern); an entry holds the whole key, so that two keys never get each other's code.
//
// A folder with one file an entry. Many processes may use it at once, without locks: an entry is written to a file of
// its own and renamed into place, so a reader sees all of it or none. What is torn, damaged, of another version or
// owned by somebody else is treated as absent and replaced by the next `keep`: it is machine code, and never trusted.
// When the folder grows over its limit the entries that were used longest ago go. Nothing here can fail a compilation:
// a folder that can't be written, or a full disk, is said once (`trouble`) and the rest works.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/diagnostic.h"

namespace quern::artifact {

class Cache {
 public:
  static constexpr uint64_t kDefaultLimit = uint64_t{256} << 20;

  // `folder` is made when the first entry is kept; empty: nothing is ever kept or found. `limit` in bytes.
  explicit Cache(std::string folder, uint64_t limit = kDefaultLimit);

  // $QUERN_CACHE, where set (empty: no cache); else quern in $XDG_CACHE_HOME, else .cache/quern in $HOME, else no
  // cache.
  static std::string default_folder();

  const std::string& folder() const { return folder_; }

  // The payload that was kept under this key.
  std::optional<std::string> find(std::string_view key);
  void keep(std::string_view key, std::string_view payload);

  // R40, once: why entries can't be kept.
  std::optional<Diagnostic> trouble();

  // Where the entry of a key lies; tests damage it.
  std::string path_of(std::string_view key) const;

 private:
  void report(std::string what, int error);
  void make_room(uint64_t coming);

  std::string folder_;
  uint64_t limit_;
  std::mutex mutex_;  // of trouble_ and told_
  std::optional<Diagnostic> trouble_;
  bool told_ = false;
};

}  // namespace quern::artifact
