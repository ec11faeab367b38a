#include "base/symbol.h"

#include <mutex>
#include <unordered_set>

namespace quern {
namespace {

struct TextHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};

struct Pool {
  std::mutex mutex;
  std::unordered_set<std::string, TextHash, std::equal_to<>> names;  // node-based: addresses stay
};

Pool& pool() {
  static Pool* instance = new Pool;  // never destroyed: symbols may outlive every static
  return *instance;
}

}  // namespace

Symbol::Symbol(std::string_view text) {
  if (text.empty()) return;
  Pool& p = pool();
  std::lock_guard lock(p.mutex);
  auto found = p.names.find(text);
  if (found == p.names.end()) found = p.names.emplace(text).first;
  text_ = &*found;
}

const std::string& Symbol::str() const {
  static const std::string empty;
  return text_ ? *text_ : empty;
}

}  // namespace quern
