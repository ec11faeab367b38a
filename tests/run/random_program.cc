#include "random_program.h"

#include <fmt/format.h>

#include <cctype>
#include <set>

namespace quern::expr::test {
namespace {

struct Parameter {
  const char* name;
  std::vector<std::string> types;  // one of them
};

const std::vector<Parameter>& all_parameters() {
  static const std::vector<Parameter> all = {
      {"q", {"T[M, K]", "T[M, K]", "f32[M, K]", "f8e4m3[M, K]"}},
      {"x", {"U[N, K]", "U[N, K]", "T[N, K]", "f8e5m2[N, K]", "f4e2m1[N, K]"}},
      {"v", {"T[N, E]", "U[N, E]", "f32[N, E]", "f64[N, E]"}},
      {"c", {"f32[M]", "T[M]", "f64[M]"}},
      {"d", {"f32[N]", "U[N]"}},
      {"w", {"f32[K]", "T[K]"}},
      {"g", {"f32[N, (K + 3) // 4]", "U[N, (K + 3) // 4]"}},
      {"wo", {"U[E, K]", "f32[E, K]"}},
      {"a", {"u8[M, K]", "i8[M, K]", "i32[M, K]"}},
      {"b", {"i8[N, K]", "u8[N, K]", "i16[N, K]", "u4[N, K]", "i4[N, K]"}},
      {"s", {"f32"}},
      {"len", {"i32[M]"}},
      {"start", {"i32[1 + M]"}},
      {"id", {"i32[N]", "i64[N]"}},
      {"on", {"bool[N]"}},
      {"z", {"f32[M]"}},  // inout
      {"o", {"f32[M, N]", "f64[M, N]"}},
  };
  return all;
}

std::set<std::string> words(const std::string& text) {
  std::set<std::string> out;
  std::string word;
  for (char c : text + " ") {
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '_') {
      word += c;
    } else if (!word.empty()) {
      out.insert(std::exchange(word, ""));
    }
  }
  return out;
}

}  // namespace

std::string RandomProgram::pick(const std::vector<std::string>& all) {
  return all[static_cast<size_t>(below(std::ssize(all)))];
}

std::string RandomProgram::result(const std::string& shape, const std::string& type, const std::string& first) {
  std::string name = fmt::format("y{}", results_.size());
  results_.push_back(fmt::format("{}: {}{}{}", name, type, shape, first));
  return name;
}

// Where n runs for a row m.
std::string RandomProgram::range() {
  return pick({"n < N", "n < N", "n < min(m + 1, N)", "n < len[m]", "start[m] <= n < start[m + 1]",
               "max(0, m - 2) <= n < min(m + 3, N)", "m <= n < N", "start[m] <= n < min(m + 1, N)"});
}

std::string RandomProgram::mapped(std::string x, int most) {
  static const std::vector<std::string> kMaps = {"(-{0})",
                                                 "({0} * 0.5)",
                                                 "({0} + 1)",
                                                 "tanh({0})",
                                                 "exp(-abs({0}))",
                                                 "relu({0})",
                                                 "sq({0})",
                                                 "sigmoid({0})",
                                                 "({0} if {0} > 0 else 0.1 * {0})",
                                                 "log(abs({0}) + 1)",
                                                 "({0} * s)",
                                                 "bf16({0})",
                                                 "f16({0})",
                                                 "f8e4m3({0})",
                                                 "({0} / sqrt(K + 1))",
                                                 "soft_cap({0}, 5)"};
  for (int64_t i = below(most + 1); i > 0; --i) x = fmt::format(fmt::runtime(pick(kMaps)), x);
  return x;
}

// A sum over k for m and n.
std::string RandomProgram::product() {
  std::string left = pick({"q[m, k]", "q[m, k]", "q[m, k]", "(q[m, k] * w[k])", "a[m, k]", "tanh(q[m, k])"});
  std::string right = pick({"x[n, k]", "x[n, k]", "x[n, k]", "x[id[n], k]", "((b[n, k] - 3) * g[n, k // 4])",
                            "(b[n, k] * d[n])", "(x[n, k - 1] if k > 0 else 0)", "(x[n, k] if on[n] else 0)"});
  std::string tail = pick({"", "", " / sqrt(K)", " * s", " * c[m]", " * d[n]"});
  return fmt::format("(sum[{}] {} * {}{})", pick({"k < K", "k < K", "1 <= k < K"}), left, right, tail);
}

std::string RandomProgram::element() {
  if (chance(random_, 0.2)) return product();
  return pick({"(c[m] + d[n])", "(c[m] * d[n])", "(d[n] - abs(m - n) * 0.25)", "((d[n - 1] if n > 0 else 0) * c[m])",
               "(d[id[n]] * 2)"});
}

std::string RandomProgram::condition() {
  return pick(
      {"n <= m", "d[n] > c[m]", "n % 3 != 1", "n < len[m]", "on[n]", "n <= m + N - M and d[n] < 1", "m - 3 < n <= m"});
}

std::string RandomProgram::scores() {
  std::string s = mapped(chance(random_, 0.6) ? product() : element(), 2);
  return chance(random_, 0.3) ? fmt::format("({} if {} else -inf)", s, condition()) : s;
}

// Something for each m, of the scores t[m, n] over the range.
std::string RandomProgram::row_value() {
  static const std::vector<std::string> kRows = {
      "logsumexp[{0}](t[m, n])",
      "mean[{0}]({1})",
      "var[{0}]({1})",
      "(1 if any[{0}] ({1} > 0.5) else 0.25)",
      "(1 if all[{0}] ({1} > -1) else -2)",
      "(0.5 + argmax[{0}] ({1}))",
      "(0.5 + argmin[{0}] ({1}))",
      "(sum[{0}] softmax[{0}](t[m, n]) * d[n])",
      "(0.5 * count[{0}]({1} > 0))",
      "(sum[{0}] ({1}))",
      "(sum[{0}] ({1}))",
      "(prod[{0}] ({1}))",
      "(max[{0}] ({1}))",
      "(min[{0}] ({1}))",
  };
  return fmt::format(fmt::runtime(pick(kRows)), range_, mapped("t[m, n]", 1));
}

// Weights of the scores and a sum of rows of v by them.
void RandomProgram::weighted_sum() {
  std::string p = fmt::format("p{}", locals_++);
  std::string how = pick({"softmax[{0}](t[m, n])", "softmax[{0}](t[m, n])", "softmax[{0}](t[m, n])",
                          "exp(t[m, n] - max[{0}] t[m, n])", "exp(t[m, n] - logsumexp[{0}](t[m, n]))",
                          "layernorm[{0}](t[m, n], 1e-3)", "t[m, n] / (1 + sum[{0}] abs(t[m, n]))", "exp(t[m, n])"});
  line(
      fmt::format("{}[m < M, {}]{} = {}", p, range_, pick({"", "", ": bf16"}), fmt::format(fmt::runtime(how), range_)));
  std::string row = pick({"v[n, e]", "v[n, e]", "v[id[n], e]", "(v[n, e] * d[n])"});
  std::string o = result("[M, E]", real_type());
  line(fmt::format("{}[m < M, e] = {}", o, mapped(fmt::format("(sum[{}] {}[m, n] * {})", range_, p, row), 1)));
}

// Scores, and what is made of them.
void RandomProgram::chain() {
  range_ = range();
  line(fmt::format("t[m < M, {}]{} = {}", range_, pick({"", "", "", "", ": bf16", ": f16"}), scores()));
  for (int64_t i = 1 + below(2); i > 0; --i) {
    switch (below(9)) {
      case 0:
      case 1:
      case 2: weighted_sum(); break;
      case 3: {
        std::string o = result("[M, E]", real_type());
        line(fmt::format("{}[m < M, e] = sum[{}] {} * v[n, e]", o, range_, mapped("t[m, n]", 2)));
        break;
      }
      case 4: {
        std::string o = result("[M, E]", real_type());
        std::string x = mapped(fmt::format("({} * v[n, e])", mapped("t[m, n]", 1)), 1);
        line(fmt::format("{}[m < M, e] = {}[{}] ({})", o, pick({"max", "min", "sum", "prod"}), range_, x));
        break;
      }
      case 5: {
        std::string o = result("[M]", "i32");
        line(fmt::format("{}[m < M] = {}[{}] ({})", o, pick({"argmax", "argmin"}), range_, mapped("t[m, n]", 1)));
        break;
      }
      case 6: {
        std::string j = fmt::format("j{}", locals_++), o = result("[M, E]", real_type());
        line(fmt::format("{}[m < M] = argmax[{}] (t[m, n])", j, range_));
        line(fmt::format("{0}[m < M, e] = (v[{1}[m], e] if {1}[m] >= 0 else 0)", o, j));
        break;
      }
      default: {
        std::string o = result("[M]", real_type());
        line(fmt::format("{}[m < M] = {}", o, mapped(row_value(), 1)));
        if (chance(random_, 0.7)) break;
        o = result("[M]", "f32");
        line(fmt::format("{}[m < M] = {} + {}", o, row_value(), row_value()));
      }
    }
  }
}

// What stands beside a chain: elementwise results, integers, products that feed products, quantisation, rows.
void RandomProgram::pieces() {
  switch (below(6)) {
    case 0: {
      std::string h = fmt::format("u{}", locals_++), o = result("[M, E]", pick({"f32", "T", "f64"}));
      line(fmt::format("{}[m < M, k < K] = {}", h, mapped("(sum[n < N] d[n] * x[n, k] * c[m])", 2)));
      line(fmt::format("{}[m < M, e] = sum[k < K] {}[m, k] * wo[e, k]", o, h));
      break;
    }
    case 1: {
      std::string h = fmt::format("u{}", locals_++), o = result("[M, E]", pick({"f32", "T", "bf16"}));
      line(fmt::format("{}[m < M, n < N] = {}", h, mapped(product(), 2)));
      line(fmt::format("{}[m < M, e] = sum[n < N] {}[m, n] * v[n, e]", o, h));
      break;
    }
    case 2: {
      std::string o = result("[M, N]", pick({"i32", "i64", "i16", "u8", "i8"}));
      line(fmt::format("{}[m, n] = {}", o,
                       pick({"sum[k < K] a[m, k] * b[n, k]", "max[k < K] (a[m, k] - b[n, k])",
                             "(sum[k < K] (a[m, k] & b[n, k])) ^ (m << 2)", "(a[m, 0] if K > 0 else 7) // 3 + n % 5",
                             "argmax[k < K] (a[m, k] * b[n, k])", "min[k < K] (a[m, k] % (b[n, k] * b[n, k] + 1))"})));
      break;
    }
    case 3: {
      std::string o = result("[M, N]", pick({"f8e4m3", "f8e5m2", "f16", "bf16", "f64"}));
      line(fmt::format("{}[m, n] = {}", o, mapped(element(), 3)));
      break;
    }
    case 4: {
      std::string o = result("[N, K]", "i8");
      line(fmt::format("{}[n, k] = i8(round(x[n, k] / ((max[k < K] abs(x[n, k])) / 127 + 1e-6)))", o));
      break;
    }
    default: {
      std::string o = result("[M, K]", pick({"f32", "T"}));
      line(fmt::format("{}[m, k] = {}", o,
                       pick({"softmax[k](q[m, k])", "rmsnorm[k](q[m, k], 1e-5)", "layernorm[k](q[m, k], 1e-5)",
                             "q[m, k] - logsumexp[k](q[m, k])", "sum[j <= k] q[m, j]"})));
    }
  }
}

void RandomProgram::updates() {
  switch (below(5)) {
    case 0: {
      std::string h = result("[N]", "f32", " = 0.5");
      line(fmt::format("for[n < N{}] {}[id[n]] += d[n]", pick({"", " if n % 2 == 0", " if on[n]"}), h));
      break;
    }
    case 1:
      line(fmt::format("for[n < N] {}[id[n]] = d[n]", result("[N]", pick({"f32", "T", "f64"}), " = 0.25")));
      break;
    case 2: line(fmt::format("for[n < N] {}[id[n]] += 1", result("[N]", "i32", " = 0"))); break;
    case 3: line(fmt::format("z[m] = z[m] * 0.9 + {}", mapped("c[m]", 1))); break;
    default: line(fmt::format("o[m, n] += {}", mapped(element(), 1)));
  }
}

std::string RandomProgram::real_type() { return pick({"f32", "T", "bf16", "f16", "f64"}); }

std::string RandomProgram::text() {
  chain();
  if (chance(random_, 0.4)) pieces();
  if (chance(random_, 0.3)) updates();
  std::vector<std::string> parameters;
  std::set<std::string> used = words(body_);
  for (const Parameter& p : all_parameters()) {
    if (!used.contains(p.name)) continue;
    bool inout = p.name == std::string("z") || p.name == std::string("o");
    parameters.push_back(fmt::format("{}{}: {}", inout ? "inout " : "", p.name, pick(p.types)));
  }
  // A dimension may be dyn where a parameter gives it its number.
  std::string head = fmt::format("{}", fmt::join(parameters, ", "));
  auto given = [&](const std::string& name) {
    bool solved = head.find("[" + name) != std::string::npos || head.find(", " + name + "]") != std::string::npos;
    return (solved && chance(random_, 0.1) ? "dyn " : "") + name;
  };
  std::string names = fmt::format("{}, {}, {}, {}", given("M"), given("N"), given("K"), given("E"));
  return fmt::format("kernel f[{}]({}) -> ({}) {{\n{}}}\n", names, head, fmt::join(results_, ", "), body_);
}

}  // namespace quern::expr::test
