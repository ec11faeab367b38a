#include "base/symbol.h"

#include <atomic>
#include <mutex>
#include <unordered_set>

namespace quern {
namespace {

struct TextHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};

}  // namespace

struct SymbolPool {
  std::mutex mutex;
  std::unordered_set<std::string, TextHash, std::equal_to<>> names;  // node-based: addresses stay
};

namespace {

std::atomic<SymbolPool*>& pool() {
  static std::atomic<SymbolPool*> instance = new SymbolPool;  // never destroyed: symbols may outlive every static
  return instance;
}

}  // namespace

SymbolPool* symbol_pool() { return pool(); }
void use_symbol_pool(SymbolPool* other) {
  SymbolPool* own = pool().exchange(other);
  if (own != other && own->names.empty()) delete own;
}

Symbol::Symbol(std::string_view text) {
  if (text.empty()) return;
  SymbolPool& p = *pool().load(std::memory_order_relaxed);
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
