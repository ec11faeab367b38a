#include "random_index_kernel.h"

#include <fmt/format.h>

namespace quern::expr::test {

std::string RandomIndexKernel::pick(const std::vector<std::string>& all) {
  return all[static_cast<size_t>(between(random_, 0, std::ssize(all) - 1))];
}

std::string RandomIndexKernel::small() { return std::to_string(between(random_, 0, 4)); }

std::string RandomIndexKernel::linear() {
  std::string i = pick(scope_);
  switch (between(random_, 0, 8)) {
    case 0: return i;
    case 1: return fmt::format("{} + {}", i, pick(scope_));
    case 2: return fmt::format("{} - {}", i, small());
    case 3: return fmt::format("{} + {}", i, small());
    case 4: return fmt::format("A - 1 - {}", i);
    case 5: return fmt::format("{} * B + {}", i, pick(scope_));
    case 6: return fmt::format("{} * {} - {}", i, between(random_, 2, 3), pick(scope_));
    case 7: return fmt::format("{} - {}", i, pick(scope_));
    default: return small();
  }
}

std::string RandomIndexKernel::whole(int depth) {
  if (depth <= 0) return chance(random_, 0.85) ? pick(scope_) : small();
  auto a = [&] { return whole(depth - 1); };
  switch (between(random_, 0, 21)) {
    case 0:
    case 1:
    case 2:
    case 3: return "(" + linear() + ")";
    case 4: return fmt::format("({} // {})", a(), between(random_, 1, 4));
    case 5: return fmt::format("({} % {})", a(), pick({"A", "B", "2", "3", "4"}));
    case 6: return fmt::format("({} & {})", a(), between(random_, 0, 7));
    case 7: return fmt::format("({} {} {})", a(), pick({"|", "^"}), between(random_, 0, 5));
    case 8: return fmt::format("({} >> {})", a(), between(random_, 0, 3));
    case 9: return fmt::format("({} << {})", a(), between(random_, 0, 2));
    case 10: return fmt::format("min({}, {})", a(), pick({"A - 1", "B - 1", small(), a()}));
    case 11: return fmt::format("max({}, {})", a(), pick({"0", "0", small(), a()}));
    case 12: return fmt::format("min(max({}, 0), {} - 1)", a(), pick({"A", "B", "C"}));
    case 13: return fmt::format("({} if {} else {})", a(), condition(pick(scope_), depth - 1), a());
    case 14: return fmt::format("abs({})", a());
    case 15: return fmt::format("({} * {})", a(), pick({pick(scope_), "B", "2"}));
    case 16: return fmt::format("({} + {})", a(), a());
    case 17: return fmt::format("({} - {})", a(), a());
    case 18:
      if (!locals_.empty()) {
        const auto& [name, rank] = locals_[static_cast<size_t>(between(random_, 0, std::ssize(locals_) - 1))];
        return rank == 1 ? fmt::format("{}[{}]", name, a()) : fmt::format("{}[{}, {}]", name, a(), a());
      }
      return a();
    case 19: return fmt::format("{}[{}]", pick({"id", "tiny", "big"}), pick({"(" + linear() + ")", a()}));
    case 20: return fmt::format("({} // ({} + 1))", a(), pick(scope_));
    default: return fmt::format("{}({})", pick({"i8", "u4", "i32", "i64", "i4"}), a());
  }
}

// Something that may help to prove a subscript `about`.
std::string RandomIndexKernel::condition(const std::string& about, int depth) {
  switch (between(random_, 0, 9)) {
    case 0: return fmt::format("{} < {}", about, pick({"A", "B", small()}));
    case 1: return fmt::format("{} >= {}", about, small());
    case 2:
    case 3: return fmt::format("0 <= {} < {}", about, pick({"A", "B", "C"}));
    case 4:
      if (depth > 0) return fmt::format("({} and {})", condition(about, depth - 1), condition(about, 0));
      break;
    case 5:
      if (depth > 0) return fmt::format("({} or {})", condition(about, depth - 1), condition(about, 0));
      break;
    case 6:
      if (depth > 0) return fmt::format("not ({})", condition(about, depth - 1));
      break;
    case 7: return fmt::format("{} {} {}", about, pick({"==", "!="}), small());
    case 8: return fmt::format("flag[min(max({}, 0), C - 1)]", pick(scope_));
    default: break;
  }
  return fmt::format("{} {} {}", linear(), pick({"<", "<=", ">", ">="}), linear());
}

std::string RandomIndexKernel::bound() {
  std::vector<std::string> ends = {"A", "B", "C", "A - 1", "B + 1", "(A + 1) // 2", "2 * B", small(), "n"};
  if (!scope_.empty()) {
    std::string i = pick(scope_);
    ends.insert(ends.end(), {i, i + " + 1", i + " // 2", fmt::format("{} - 1", i), fmt::format("min({}, 3)", i),
                             fmt::format("id[{}]", i), fmt::format("tiny[{}] + 1", i)});
  }
  return pick(ends);
}

std::string RandomIndexKernel::read(int depth) {
  auto at = [&] { return chance(random_, 0.5) ? linear() : whole(depth); };
  std::string a = at(), b = at();
  switch (between(random_, 0, 3)) {
    case 0: return fmt::format("x[{}]", a);
    case 1: return fmt::format("xx[{}, {}]", a, b);
    case 2:
      return chance(random_, 0.6) ? fmt::format("(x[{}] if {} else 0)", a, condition("(" + a + ")", 2))
                                  : fmt::format("x[{}]", a);
    default:
      return fmt::format("(xx[{}, {}] if {} and {} else 0)", a, b, condition("(" + a + ")", 1),
                         condition("(" + b + ")", 1));
  }
}

std::string RandomIndexKernel::value(int depth) {
  if (depth <= 0 || chance(random_, 0.3)) return read(2);
  switch (between(random_, 0, 3)) {
    case 0: return fmt::format("({} + {})", value(depth - 1), value(depth - 1));
    case 1: return fmt::format("({} if {} else {})", value(depth - 1), condition(pick(scope_), 2), value(depth - 1));
    default: {
      std::string r = fmt::format("r{}", fresh_++);
      std::string hi = bound(), lo = chance(random_, 0.3) ? bound() + " <= " : "";
      scope_.push_back(r);
      std::string body = value(depth - 1);
      scope_.pop_back();
      return fmt::format("(sum[{}{} < {}] {})", lo, r, hi, body);
    }
  }
}

std::string RandomIndexKernel::text() {
  std::string body;
  auto line = [&](const std::string& l) { body += "  " + l + "\n"; };
  for (int64_t l = between(random_, 0, 2); l > 0; --l) {
    std::string name = fmt::format("t{}", locals_.size());
    int rank = chance(random_, 0.7) ? 1 : 2;
    scope_.clear();
    std::string i = fmt::format("u{}", fresh_++), j = fmt::format("v{}", fresh_++);
    std::string first = fmt::format("{}{} < {}", chance(random_, 0.2) ? small() + " <= " : "", i, bound());
    scope_.push_back(i);
    std::string second = fmt::format(", {} < {}", j, bound());
    if (rank == 2) scope_.push_back(j);
    std::string type = chance(random_, 0.2) ? pick({": i8", ": i32", ": u4"}) : "";
    line(fmt::format("{}[{}{}]{} = {}", name, first, rank == 2 ? second : "", type, whole(3)));
    locals_.emplace_back(name, rank);
  }
  scope_ = {"i", "j"};
  line("y[i < A, j < B] = " + value(2));
  scope_.clear();
  std::string p = bound();
  scope_ = {"p"};
  std::string q = bound();
  scope_ = {"p", "q"};
  std::string at = chance(random_, 0.5) ? linear() : whole(2);
  std::string filter = chance(random_, 0.6) ? " if " + condition(chance(random_, 0.7) ? "(" + at + ")" : "p", 2) : "";
  line(fmt::format("for[p < {}, q < {}{}] z[{}] += {}", p, q, filter, at, value(1)));
  // Everything is used.
  std::string all = "x[0]";
  for (const auto& [name, rank] : locals_) all += fmt::format(" + {}[{}]", name, rank == 1 ? "0" : "0, 0");
  line(fmt::format("w[c < C] = (xx[0, 0] * n + id[c] + tiny[c] + big[c] + {} if flag[c] and A > 0 and B > 0 else 0)",
                   all));
  return fmt::format(
      "kernel f(x: f32[A], xx: f32[A, B], id: i32[C], tiny: i8[C], big: i64[C], flag: bool[C], n: i32) -> (y: f32[A, "
      "B], z: "
      "f32[A] = 0, w: f32[C]) {{\n{}}}\n",
      body);
}

}  // namespace quern::expr::test
