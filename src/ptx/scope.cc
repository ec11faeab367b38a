#include "ptx/scope.h"

#include <algorithm>
#include <charconv>

namespace quern::ptx {

void Scope::open() { blocks_.push_back(undo_.size()); }

void Scope::close() {
  for (; undo_.size() > blocks_.back(); undo_.pop_back()) {
    auto found = undo_.back().map->find(undo_.back().name);
    if (found->second->hidden) {
      found->second = found->second->hidden;
    } else {
      undo_.back().map->erase(found);
    }
    entries_.pop_back();
  }
  blocks_.pop_back();
}

bool Scope::add(Map& map, std::string_view name, Entry entry) {
  Entry*& now = map[name];
  if (now && now->depth == depth()) return false;
  entry.depth = depth();
  entry.hidden = now;
  now = &entries_.emplace_back(std::move(entry));
  undo_.push_back({&map, name});
  return true;
}

bool Scope::declare(std::string_view name, Named named) { return add(names_, name, {.named = named}); }

bool Scope::declare_range(std::string_view prefix, int64_t count, Named named) {
  ends_in_digit_ |= prefix.back() >= '0' && prefix.back() <= '9';
  return add(ranges_, prefix, {.named = named, .count = count});
}

Named* Scope::find(std::string_view name) {
  auto exact = names_.find(name);
  Entry* best = exact == names_.end() ? nullptr : exact->second;
  int64_t member = -1;
  size_t digits = name.find_last_not_of("0123456789") + 1;
  // The number has no leading zeros; where some prefix ends in a digit, other ways to divide the name count too.
  for (size_t at = digits; at < name.size() && (at == digits || ends_in_digit_); ++at) {
    if (at == 0 || name.size() - at > 10 || (name[at] == '0' && name.size() - at > 1)) continue;
    auto range = ranges_.find(name.substr(0, at));
    if (range == ranges_.end() || (best && best->depth >= range->second->depth)) continue;
    int64_t number = 0;
    std::from_chars(name.data() + at, name.data() + name.size(), number);
    if (number >= range->second->count) continue;
    best = range->second;
    member = number;
  }
  if (!best) return nullptr;
  if (member < 0) return &best->named;
  if (member < static_cast<int64_t>(best->low.size())) return &best->low[member];
  if (member <= 2 * static_cast<int64_t>(best->low.size()) + 64 && best->members.empty()) {
    best->low.resize(static_cast<size_t>(member) + 1, best->named);
    return &best->low[member];
  }
  return &best->members.try_emplace(member, best->named).first->second;
}

std::string Scope::unique(std::string_view wanted) {
  if (used_.insert(wanted).second) return std::string(wanted);
  for (int64_t& number = renamed_[wanted];;) {
    std::string name = std::string(wanted) + "_" + std::to_string(++number);
    if (used_.contains(name)) continue;
    used_.insert(made_.emplace_back(name));
    return name;
  }
}

void Labels::open() { blocks_.push_back({++serial_, order_, {}}); }

void Labels::close() {
  for (std::string_view name : blocks_.back().names) {
    Entry& entry = names_[name];
    while (!entry.pending.empty() && entry.pending.back().order >= blocks_.back().order) {
      resolved_.push_back(entry.pending.back().place);
      resolved_.back().label = entry.defined.back().second;
      entry.pending.pop_back();
    }
    entry.defined.pop_back();
  }
  blocks_.pop_back();
}

bool Labels::define(std::string_view name, int32_t index) {
  Entry& entry = names_[name];
  if (!entry.defined.empty() && entry.defined.back().first == blocks_.back().serial) return false;
  entry.defined.emplace_back(blocks_.back().serial, index);
  blocks_.back().names.push_back(name);
  return true;
}

void Labels::refer(std::string_view name, Span span, Place place) {
  names_[name].pending.push_back({name, span, place, order_++});
}

std::vector<Labels::Reference> Labels::unresolved() const {
  std::vector<Reference> out;
  for (const auto& [name, entry] : names_) out.insert(out.end(), entry.pending.begin(), entry.pending.end());
  std::ranges::sort(out, {}, &Reference::order);
  return out;
}

}  // namespace quern::ptx
