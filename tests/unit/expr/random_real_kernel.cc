#include "random_real_kernel.h"

#include <fmt/format.h>

namespace quern::expr::test {

std::string RandomRealKernel::pick(std::initializer_list<const char*> all) {
  return std::data(all)[between(random_, 0, static_cast<int64_t>(all.size()) - 1)];
}

std::string RandomRealKernel::leaf() {
  for (;;) {
    switch (between(random_, 0, 9)) {
      case 0: return pick({"0.1", "2.5", "1e-3", "3", "-0.7", "1"});
      case 1: return "c[m]";
      case 2: return "s";
      case 3:
        if (n_) return pick({"d[n]", "w[n]"});
        break;
      case 4:
      case 5:
      case 6:
        if (k_) return n_ ? pick({"a[m, k]", "b[k, n]", "e[k]"}) : pick({"a[m, k]", "e[k]"});
        break;
      case 7:
        if (locals_ > 0 && n_) return fmt::format("t{}[m, n]", between(random_, 0, locals_ - 1));
        break;
      case 8: return pick({"m", "(m + 1)", "i[m]"});
      default: return pick({"c[m]", "s", "c[M - 1 - m]"});
    }
  }
}

// What contractions are made of.
std::string RandomRealKernel::product() {
  std::string x =
      pick({"a[m, k]", "e[k] * a[m, k]", "tanh(a[m, k])", "exp(-abs(a[m, k]))", "-a[m, k]", "bf16(a[m, k])"});
  std::string y = pick({"b[k, n]", "b[k, n] * d[n]", "b[k, n] / w[n]", "g[n, k // 4]", "(b[k, n] - 0.5) * g[n, k // 4]",
                        "-sin(b[k, n])"});
  return "sum[k < K] " + x + " * " + y + pick({"", " / sqrt(K)", " * s", " * c[m]"});
}

std::string RandomRealKernel::reduction(int depth) {
  if (n_ && chance(random_, 0.4)) return "(" + product() + ")";
  std::string f = pick({"sum", "sum", "sum", "prod", "max", "min"});
  bool k = std::exchange(k_, true);
  std::string body = real(depth - 1);
  k_ = k;
  return fmt::format("({}[{}] ({}))", f, pick({"k < K", "k < K", "1 <= k < K"}), body);
}

std::string RandomRealKernel::condition(int depth) {
  switch (between(random_, 0, 5)) {
    case 0: return fmt::format("{} {} {}", whole(depth - 1), pick({"<", "==", ">="}), whole(depth - 1));
    case 1: return fmt::format("({} {} {})", condition(depth - 1), pick({"and", "or"}), condition(0));
    case 2:
      if (depth > 0) return fmt::format("not ({})", condition(depth - 1));
      break;
    case 3:
      if (depth > 0 && !k_) {
        k_ = true;
        std::string c = condition(0);
        k_ = false;
        return fmt::format("({}[k < K] ({}))", pick({"any", "all"}), c);
      }
      break;
    default: break;
  }
  return fmt::format("{} {} {}", real(depth - 1), pick({"<", "<=", ">", ">=", "==", "!="}), real(depth - 1));
}

std::string RandomRealKernel::whole(int depth) {
  if (depth <= 0) return pick({"m", "i[m]", "2", "K"});
  switch (between(random_, 0, 5)) {
    case 0: return fmt::format("i32({})", real(depth - 1));
    case 1: return fmt::format("i8(round({}))", real(depth - 1));
    case 2: return fmt::format("({} {} {})", whole(depth - 1), pick({"+", "-", "*", "//", "%", "&"}), whole(depth - 1));
    case 3:
      if (!k_) {
        k_ = true;
        std::string x = real(depth - 1);
        k_ = false;
        return fmt::format("({}[k < K] ({}))", pick({"argmax", "argmin"}), x);
      }
      [[fallthrough]];
    default: return fmt::format("max({}, {})", whole(depth - 1), whole(0));
  }
}

std::string RandomRealKernel::real(int depth) {
  if (depth <= 0) return leaf();
  auto x = [&] { return real(depth - 1); };
  switch (between(random_, 0, 19)) {
    case 0:
    case 1: return fmt::format("({} + {})", x(), x());
    case 2: return fmt::format("({} - {})", x(), x());
    case 3:
    case 4: return fmt::format("({} * {})", x(), x());
    case 5: return fmt::format("({} / {})", x(), x());
    case 6:
      return fmt::format("{}({})", pick({"exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sin", "cos", "tanh", "erf"}),
                         x());
    case 7: return fmt::format("{}(abs({}))", pick({"log", "sqrt", "rsqrt", "floor", "ceil", "round"}), x());
    case 8: return fmt::format("exp(-abs({}))", x());
    case 9: return fmt::format("{}({}, {})", pick({"max", "min"}), x(), x());
    case 10:
    case 11: return fmt::format("({} if {} else {})", x(), condition(depth - 1), x());
    case 12: return fmt::format("{}({})", pick({"bf16", "f16", "f8e4m3", "f8e5m2", "f32", "f64", "f4e2m1"}), x());
    case 13: return fmt::format("pow({}, {})", x(), pick({"2", "3", "0.5", "-1", "s"}));
    case 14: return fmt::format("(0.5 + {})", whole(depth - 1));
    case 15: return fmt::format("sq({})", x());
    case 16: return fmt::format("(-{})", x());
    default: return k_ ? fmt::format("({} * {})", x(), x()) : reduction(depth);
  }
}

std::string RandomRealKernel::text() {
  std::string body;
  auto line = [&](const std::string& l) { body += "  " + l + "\n"; };
  for (int64_t i = between(random_, 0, 2); i > 0; --i) {
    std::string type = pick({"", "", "", ": bf16", ": f32", ": f16"});
    std::string e = real(3);
    line(fmt::format("t{}[m < M, n < N]{} = 0.5 + {}", locals_, type, e));
    ++locals_;
  }
  line("y[m, n] = " + std::string(chance(random_, 0.5) ? product() + " + " : "") + real(4));
  n_ = false;
  std::string filter = chance(random_, 0.5) ? " if " + condition(1) : "";
  line(fmt::format("for[m < M{}] h[{}] += {}", filter, pick({"m % 3", "m", "i[m] % 3", "m // 2"}), real(2)));
  filter = chance(random_, 0.5) ? " if " + condition(1) : "";
  line(fmt::format("for[m < M{}] z[M - 1 - m] = {}", filter, real(2)));
  // Every parameter and local is used.
  std::string all;
  for (int i = 0; i < locals_; ++i) all += fmt::format(" + (sum[n] t{}[m, n])", i);
  line(
      fmt::format("q[m] = (sum[k, n] a[m, k] * b[k, n] * d[n] * w[n] * e[k] * g[n, k // 4]) * s * c[m] * i[m]{}", all));
  std::string r = pick({"f32", "T", "bf16", "f64"});
  return fmt::format(
      "kernel f(a: T[M, K], b: U[K, N], c: f32[M], d: T[N], w: U[N], e: f32[K], g: T[N, (K + 3) // 4], s: f32, "
      "i: i32[M]) -> (y: {}[M, N], h: f32[M + 3] = 0.1, z: {}[M] = 1, q: f32[M]) {{\n{}}}\n",
      r, r, body);
}

}  // namespace quern::expr::test
