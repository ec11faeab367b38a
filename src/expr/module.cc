#include "expr/module.h"

namespace quern::expr {
namespace {

bool same(const Binder& a, const Binder& b) {
  return a.name == b.name && a.lo_strict == b.lo_strict && a.hi_inclusive == b.hi_inclusive && equal(a.lo, b.lo) &&
         equal(a.hi, b.hi);
}

template <class T, class F>
bool all_same(const std::vector<T>& a, const std::vector<T>& b, F compare) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!compare(a[i], b[i])) return false;
  }
  return true;
}

bool same_nodes(const NodePtr& a, const NodePtr& b) { return equal(a, b); }

bool same(const Definition& a, const Definition& b) {
  auto same_left = [](const Definition::Left& x, const Definition::Left& y) {
    if (x.binder.has_value() != y.binder.has_value()) return false;
    return x.binder ? same(*x.binder, *y.binder) : equal(x.value, y.value);
  };
  return a.name == b.name && a.type == b.type && a.add == b.add && equal(a.filter, b.filter) &&
         equal(a.value, b.value) && all_same(a.left, b.left, same_left) &&
         all_same(a.loops, b.loops, [](const Binder& x, const Binder& y) { return same(x, y); });
}

bool same(const Parameter& a, const Parameter& b) {
  return a.name == b.name && a.inout == b.inout && a.shaped.type == b.shaped.type && equal(a.value, b.value) &&
         all_same(a.shaped.shape, b.shaped.shape, same_nodes);
}

bool same(const Function& a, const Function& b) {
  auto same_formal = [](const Function::Formal& x, const Function::Formal& y) {
    return x.name == y.name && x.indices == y.indices;
  };
  return a.name == b.name && a.indices == b.indices && a.braces == b.braces && equal(a.value, b.value) &&
         all_same(a.formals, b.formals, same_formal) &&
         all_same(a.definitions, b.definitions, [](const Definition& x, const Definition& y) { return same(x, y); });
}

bool same(const Constant& a, const Constant& b) { return a.name == b.name && equal(a.value, b.value); }
bool same(const Import& a, const Import& b) { return a.name == b.name; }

}  // namespace

std::string Comments::documentation() const {
  if (!attached || blocks.empty()) return {};
  std::string text;
  for (const std::string& line : blocks.back()) {
    if (!text.empty()) text += ' ';
    text += line;
  }
  return text;
}

bool equal(const Kernel& a, const Kernel& b) {
  auto same_given = [](const Given& x, const Given& y) {
    return x.name == y.name && x.dynamic == y.dynamic && x.type == y.type && equal(x.value, y.value);
  };
  auto same_parameter = [](const Parameter& x, const Parameter& y) { return same(x, y); };
  return a.name == b.name && all_same(a.given, b.given, same_given) &&
         all_same(a.parameters, b.parameters, same_parameter) && all_same(a.results, b.results, same_parameter) &&
         all_same(a.definitions, b.definitions, [](const Definition& x, const Definition& y) { return same(x, y); });
}

bool equal(const Module& a, const Module& b) {
  return all_same(a.items, b.items, [](const Item& x, const Item& y) {
    if (x.index() != y.index()) return false;
    return std::visit(
        [&](const auto& left) {
          using T = std::decay_t<decltype(left)>;
          const T& right = std::get<T>(y);
          if constexpr (std::is_same_v<T, Kernel>) {
            return equal(left, right);
          } else {
            return same(left, right);
          }
        },
        x);
  });
}

}  // namespace quern::expr
