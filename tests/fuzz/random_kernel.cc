#include "random_kernel.h"

#include <fmt/format.h>

#include <set>
#include <vector>

#include "choices.h"

namespace quern::fuzz {
namespace {

enum class Kind { kInt, kReal, kBool };

struct Index {
  std::string name;
  std::string dimension;  // empty: it has a bound, and any bare use is free
};

struct Readable {
  std::string name;
  Kind kind;
  std::vector<std::string> shape;
};

// Text is put together with all parentheses: printing the checked kernel removes what isn't needed.
class Writer {
 public:
  explicit Writer(uint64_t seed) : choose_(seed) {}

  std::string file() {
    parameters();
    locals();
    results();
    std::string text = "fn twice(v) = v + v\n\nfn spread[u](v[u]) = max[u] v[u] - min[u] v[u]\n\n";
    text += "fn center[u](v[u]) {\n  c = mean[u](v[u])\n  return v[u] - c\n}\n\nconst WIDTH = 3\n\n";
    text += fmt::format("kernel f{}({}) -> ({}) {{\n{}}}\n", given_, fmt::join(parameters_, ", "), fmt::join(results_, ", "), body_);
    return text;
  }

 private:
  // --- signature ---
  std::string dimension() { return choose_.of<std::string>({"M", "N", "K", "N + 1", "2 * K", "M // 2 + 3"}); }

  void parameters() {
    // These give every dimension its number.
    add("a", Kind::kReal, {"M", "N"}, "T[M, N]");
    add("b", Kind::kReal, {"N", "K"}, "f32[N, K]");
    for (int i = choose_.below(4); i > 0; --i) {
      Kind kind = choose_.of<Kind>({Kind::kInt, Kind::kReal, Kind::kBool});
      std::vector<std::string> shape;
      for (int r = choose_.below(4); r > 0; --r) shape.push_back(dimension());
      std::string type = kind == Kind::kInt    ? choose_.of<std::string>({"i32", "u8", "i64", "u32"})
                         : kind == Kind::kReal ? choose_.of<std::string>({"T", "f32", "bf16", "f64", "U"})
                                               : "bool";
      std::string name = fmt::format("p{}", i);
      add(name, kind, shape, shape.empty() ? type : fmt::format("{}[{}]", type, fmt::join(shape, ", ")));
    }
    if (choose_.one_in(3)) given_ = choose_.of<std::string>({"[W]", "[W = 4]", "[W, F = 0]", "[dyn M, W]"});
    if (!given_.empty()) sizes_.push_back("W");
  }

  void add(const std::string& name, Kind kind, std::vector<std::string> shape, const std::string& type) {
    parameters_.push_back(name + ": " + type);
    unused_.insert(name);
    readable_.push_back({name, kind, std::move(shape)});
  }

  // --- definitions ---
  void locals() {
    for (int i = choose_.below(4); i > 0; --i) {
      Readable local{fmt::format("t{}", i), choose_.of<Kind>({Kind::kInt, Kind::kReal, Kind::kBool}), {}};
      std::vector<Index> before = scope_;
      std::vector<std::string> left;
      for (int r = choose_.below(3); r > 0; --r) {
        std::string bound = choose_.one_in(2) ? dimension() : integer(1);
        std::string name = fresh();
        left.push_back(name + (choose_.one_in(4) ? " <= " : " < ") + "(" + bound + ")");
        scope_.push_back({name, ""});
        local.shape.push_back("");  // read at computed subscripts only: it may be bounded
      }
      std::string value = expression(local.kind, 3);
      std::string type = local.kind == Kind::kReal && choose_.one_in(4) ? ": bf16" : "";
      if (local.kind == Kind::kInt && choose_.one_in(4)) type = ": i32";
      scope_ = before;
      body_ += fmt::format("  {}{}{} = {}\n", local.name, left.empty() ? "" : fmt::format("[{}]", fmt::join(left, ", ")), type, value);
      unused_.insert(local.name);
      readable_.push_back(std::move(local));
    }
  }

  void results() {
    result("y", Kind::kReal, "f32");
    if (choose_.one_in(2)) result("z", Kind::kInt, "i32");
    if (choose_.one_in(3)) {
      std::string at = fresh();
      scope_ = {{at, ""}};
      results_.push_back("h: i32[K] = 0");
      std::string filter = choose_.one_in(2) ? " if " + expression(Kind::kBool, 2) : "";
      body_ += fmt::format("  for[{} < {}{}] h[({}) % K] += {}\n", at, dimension(), filter, integer(2), integer(2));
    }
  }

  void result(const std::string& name, Kind kind, const std::string& type) {
    scope_.clear();
    std::vector<std::string> shape, left;
    for (int r = choose_.below(3); r > 0; --r) {
      shape.push_back(choose_.of<std::string>({"M", "N", "K", "N + 1"}));
      left.push_back(fresh());
      scope_.push_back({left.back(), shape.back()});
    }
    results_.push_back(name + ": " + type + (shape.empty() ? "" : fmt::format("[{}]", fmt::join(shape, ", "))));
    std::string value = expression(kind, 4);
    // Everything has to be used somewhere.
    for (const Readable& r : readable_) {
      if (name == "y" && unused_.contains(r.name)) value = fmt::format("({}) + {}", value, as_number(r));
    }
    body_ += fmt::format("  {}{} = {}\n", name, left.empty() ? "" : fmt::format("[{}]", fmt::join(left, ", ")), value);
  }

  std::string as_number(const Readable& r) {
    std::string text = read(r, 0);
    return r.kind == Kind::kBool ? "(1 if " + text + " else 0)" : text;
  }

  // --- expressions ---
  std::string fresh() { return fmt::format("j{}", ++indices_); }

  std::string read(const Readable& r, int depth) {
    unused_.erase(r.name);
    if (r.shape.empty()) return r.name;
    std::vector<std::string> at;
    for (const std::string& dimension : r.shape) {
      std::vector<std::string> bare;
      for (const Index& i : scope_) {
        bool fits = i.dimension.empty() || (!dimension.empty() && i.dimension == dimension);
        if (fits) bare.push_back(i.name);
      }
      at.push_back(!bare.empty() && !choose_.one_in(4) ? choose_.of(bare) : "(" + integer(depth - 1) + ") + 0");
    }
    return fmt::format("{}[{}]", r.name, fmt::join(at, ", "));
  }

  std::string some_read(Kind kind, int depth) {
    std::vector<const Readable*> fitting;
    for (const Readable& r : readable_) {
      if (r.kind == kind) fitting.push_back(&r);
    }
    if (!fitting.empty()) return read(*choose_.of(fitting), depth);
    return kind == Kind::kBool ? "true" : "1";
  }

  std::string expression(Kind kind, int depth) {
    return kind == Kind::kInt ? integer(depth) : kind == Kind::kReal ? real(depth) : boolean(depth);
  }

  // `op[i] body` with an index that has a bound, or that the body uses bare.
  std::string reduction(const std::string& op, Kind kind, int depth) {
    std::vector<Index> before = scope_;
    std::string name = choose_.one_in(4) && !scope_.empty() ? scope_.front().name : fresh();
    std::erase_if(scope_, [&](const Index& i) { return i.name == name; });
    std::string text;
    if (choose_.one_in(2)) {
      std::string lo = choose_.one_in(3) ? "(" + integer(depth - 2) + ") <= " : "";
      std::string hi = "(" + integer(depth - 2) + ")";
      scope_.push_back({name, ""});
      text = fmt::format("({}[{}{} < {}] ({}))", op, lo, name, hi, expression(kind, depth - 1));
    } else {
      scope_.push_back({name, "K"});
      std::string use = fmt::format("b[({}) + 0, {}]", integer(depth - 2), name);
      unused_.erase("b");
      std::string body = expression(kind, depth - 1);
      text = kind == Kind::kBool ? fmt::format("({}[{}] ({} and {} < 1))", op, name, body, use)
             : kind == Kind::kInt ? fmt::format("({}[{}] ({} + i32({})))", op, name, body, use)
                                  : fmt::format("({}[{}] ({} * {}))", op, name, body, use);
    }
    scope_ = before;
    return text;
  }

  std::string integer(int depth) {
    if (depth <= 0) {
      switch (choose_.below(4)) {
        case 0: return choose_.of<std::string>({"0", "1", "7", "0x10", "WIDTH"});
        case 1: return choose_.of(sizes_);
        default: return scope_.empty() ? "2" : choose_.of(scope_).name + " + 0";
      }
    }
    auto two = [&](std::string op) { return fmt::format("({}) {} ({})", integer(depth - 1), op, integer(depth - 1)); };
    switch (choose_.below(10)) {
      case 0: return "(" + some_read(Kind::kInt, depth) + ")";
      case 1:
      case 2: return two(choose_.of<std::string>({"+", "-", "*"}));
      case 3: return two(choose_.of<std::string>({"//", "%", "&", "|", "^", "<<", ">>"}));
      case 4: return choice(Kind::kInt, depth);
      case 5: return fmt::format("i32({})", real(depth - 1));
      case 6: return reduction(choose_.of<std::string>({"sum", "prod", "max", "min", "argmax", "argmin"}), Kind::kInt, depth);
      case 7: return fmt::format("max({}, {})", integer(depth - 1), integer(depth - 1));
      case 8: return fmt::format("twice({})", integer(depth - 1));
      default: return "-(" + integer(depth - 1) + ")";
    }
  }

  std::string choice(Kind kind, int depth) {
    return fmt::format("(({}) if ({}) else ({}))", expression(kind, depth - 1), boolean(depth - 1), expression(kind, depth - 1));
  }

  std::string real(int depth) {
    if (depth <= 0) return choose_.one_in(3) ? choose_.of<std::string>({"0.5", "1e-3", "inf", "-inf"}) : some_read(Kind::kReal, 0);
    switch (choose_.below(10)) {
      case 0:
      case 1: return some_read(Kind::kReal, depth);
      case 2:
      case 3: {
        std::string op = choose_.of<std::string>({"+", "-", "*", "/"});
        return fmt::format("({}) {} ({})", real(depth - 1), op, choose_.one_in(4) ? integer(depth - 1) : real(depth - 1));
      }
      case 4: return choice(Kind::kReal, depth);
      case 5: return fmt::format("{}({})", choose_.of<std::string>({"exp", "sqrt", "tanh", "abs", "gelu", "relu", "twice", "bf16", "T"}), real(depth - 1));
      case 6: return fmt::format("clamp({}, {}, {})", real(depth - 1), integer(0), real(0));
      case 7: return reduction(choose_.of<std::string>({"sum", "prod", "max", "min"}), Kind::kReal, depth);
      case 8: return call(depth);
      default: return fmt::format("min({}, {})", real(depth - 1), integer(depth - 1));
    }
  }

  // Of functions over an index: one that gives a single value, or, bound outside and within a sum, one that doesn't.
  std::string call(int depth) {
    std::vector<Index> before = scope_;
    std::string name = fresh();
    std::string text, hi = dimension();
    scope_.push_back({name, ""});
    std::string argument = real(depth - 1);
    if (choose_.one_in(2)) {
      text = fmt::format("{}[{} < {}]({})", choose_.of<std::string>({"mean", "logsumexp", "spread", "var"}), name, hi, argument);
    } else {
      std::string f = choose_.of<std::string>({"softmax", "center", "rank"});
      text = fmt::format("(sum[{} < {}] ({}[{} < {}]({}) * 2))", name, hi, f, name, hi, argument);
    }
    scope_ = before;
    return text;
  }

  std::string boolean(int depth) {
    if (depth <= 0) return choose_.of<std::string>({"true", "false", "1 < 2"});
    switch (choose_.below(7)) {
      case 0: return some_read(Kind::kBool, depth);
      case 1: return fmt::format("({}) {} ({})", integer(depth - 1), choose_.of<std::string>({"<", "<=", "==", "!="}), integer(depth - 1));
      case 2: return fmt::format("({}) < ({}) <= ({})", integer(depth - 1), real(depth - 1), integer(depth - 1));
      case 3: return fmt::format("({}) {} ({})", boolean(depth - 1), choose_.of<std::string>({"and", "or"}), boolean(depth - 1));
      case 4: return "(not (" + boolean(depth - 1) + "))";
      case 5: return reduction(choose_.of<std::string>({"any", "all"}), Kind::kBool, depth);
      default: return choice(Kind::kBool, depth);
    }
  }

  Choices choose_;
  std::string given_, body_;
  std::vector<std::string> parameters_, results_, sizes_ = {"M", "N", "K"};
  std::vector<Readable> readable_;
  std::set<std::string> unused_;
  std::vector<Index> scope_;
  int indices_ = 0;
};

}  // namespace

std::string random_kernel(uint64_t seed) { return Writer(seed).file(); }

}  // namespace quern::fuzz
