#include "worked_case.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "worked.h"

namespace quern::tile {
namespace {

using Dims = std::map<std::string, int64_t>;
constexpr double kInf = std::numeric_limits<double>::infinity();

int64_t value_of(const Program& program, const ExprPtr& e) {
  switch (e->op) {
    case Op::kInteger: return e->integer;
    case Op::kDim: return *program.dims[static_cast<size_t>(e->id)].value;
    default: break;
  }
  int64_t a = value_of(program, e->args[0]), b = value_of(program, e->args[1]);
  switch (e->op) {
    case Op::kAdd: return a + b;
    case Op::kSub: return a - b;
    case Op::kMul: return a * b;
    default: return a / b;
  }
}

// softmax(scores) @ values, where `scores` may be -inf; 0 if all are.
std::vector<double> attend(const std::vector<double>& scores, int64_t e_count,
                           const std::function<double(int64_t, int64_t)>& value) {
  double largest = -kInf, total = 0;
  for (double s : scores) largest = std::max(largest, s);
  std::vector<double> out(static_cast<size_t>(e_count));
  if (largest == -kInf) return out;
  for (size_t n = 0; n < scores.size(); ++n) {
    if (scores[n] == -kInf) continue;  // its value is not looked at
    double p = std::exp(scores[n] - largest);
    total += p;
    for (int64_t e = 0; e < e_count; ++e) out[static_cast<size_t>(e)] += p * value(static_cast<int64_t>(n), e);
  }
  for (double& x : out) x /= total;
  return out;
}

Arguments softmax_reference(const Dims& d, Arguments& in) {
  Numbers y{{d.at("R"), d.at("N")}, {}};
  for (int64_t r = 0; r < d.at("R"); ++r) {
    double largest = -kInf, total = 0;
    for (int64_t n = 0; n < d.at("N"); ++n) largest = std::max(largest, in["x"]({r, n}));
    for (int64_t n = 0; n < d.at("N"); ++n) total += std::exp(in["x"]({r, n}) - largest);
    for (int64_t n = 0; n < d.at("N"); ++n) y.at.push_back(std::exp(in["x"]({r, n}) - largest) / total);
  }
  return {{"y", y}};
}

Arguments matmul_reference(const Dims& d, Arguments& in) {
  Numbers c{{d.at("M"), d.at("N")}, {}};
  for (int64_t m = 0; m < d.at("M"); ++m) {
    for (int64_t n = 0; n < d.at("N"); ++n) {
      double x = in["bias"]({n});
      for (int64_t k = 0; k < d.at("K"); ++k) x += in["a"]({m, k}) * in["b"]({k, n});
      c.at.push_back(round_to(ScalarType::f16, x * 0.5 * (1 + std::erf(x / std::sqrt(2.0)))));
    }
  }
  return {{"c", c}};
}

Arguments attention_reference(const Dims& d, Arguments& in) {
  Numbers o{{}, {}};
  for (int64_t b = 0; b < d.at("B"); ++b) {
    for (int64_t h = 0; h < d.at("H"); ++h) {
      int64_t g = h / d.at("R");
      for (int64_t m = 0; m < d.at("M"); ++m) {
        std::vector<double> s;
        for (int64_t n = 0; n < d.at("N"); ++n) {
          double x = 0;
          for (int64_t k = 0; k < d.at("D"); ++k) x += in["q"]({b, h, m, k}) * in["k"]({b, g, n, k});
          s.push_back(n <= m + d.at("N") - d.at("M") ? x * in["scale"]({}) : -kInf);
        }
        for (double x : attend(s, d.at("D"), [&](int64_t n, int64_t e) { return in["v"]({b, g, n, e}); })) {
          o.at.push_back(x);
        }
      }
    }
  }
  return {{"o", o}};
}

Arguments decoding_reference(const Dims& d, Arguments& in) {
  Numbers o{{}, {}};
  for (int64_t b = 0; b < d.at("B"); ++b) {
    for (int64_t h = 0; h < d.at("G") * d.at("R"); ++h) {
      int64_t g = h / d.at("R");
      std::vector<double> s;
      for (int64_t n = 0; n < d.at("N"); ++n) {
        double x = 0;
        for (int64_t k = 0; k < d.at("D"); ++k) x += in["q"]({b, h, k}) * in["k"]({b, g, n, k});
        s.push_back(x);
      }
      for (double x : attend(s, d.at("D"), [&](int64_t n, int64_t e) { return in["v"]({b, g, n, e}); })) {
        o.at.push_back(x);
      }
    }
  }
  return {{"o", o}};
}

Arguments layernorm_reference(const Dims& d, Arguments& in) {
  Numbers y{{}, {}};
  for (int64_t m = 0; m < d.at("M"); ++m) {
    double mean = 0, variance = 0;
    for (int64_t k = 0; k < d.at("K"); ++k) mean += in["x"]({m, k}) / static_cast<double>(d.at("K"));
    for (int64_t k = 0; k < d.at("K"); ++k) {
      variance += std::pow(in["x"]({m, k}) - mean, 2) / static_cast<double>(d.at("K"));
    }
    for (int64_t j = 0; j < d.at("J"); ++j) {
      double total = 0;
      for (int64_t k = 0; k < d.at("K"); ++k) {
        total += (in["x"]({m, k}) - mean) / std::sqrt(variance + in["eps"]({})) * in["gamma"]({k}) * in["w"]({k, j});
      }
      y.at.push_back(total);
    }
  }
  return {{"y", y}};
}

Arguments int4_reference(const Dims& d, Arguments& in) {
  Numbers y{{}, {}};
  for (int64_t m = 0; m < d.at("M"); ++m) {
    for (int64_t n = 0; n < d.at("N"); ++n) {
      double total = 0;
      for (int64_t k = 0; k < d.at("K"); ++k) {
        auto byte = static_cast<int64_t>(in["q"]({n, k / 2}));
        total += in["x"]({m, k}) * static_cast<double>((byte >> (k % 2 * 4) & 15) - 8) * in["scale"]({n, k / 32});
      }
      y.at.push_back(total);
    }
  }
  return {{"y", y}};
}

Arguments paged_reference(const Dims& d, Arguments& in) {
  Numbers o{{}, {}};
  int64_t l = d.at("L");
  for (int64_t i = 0; i < d.at("I"); ++i) {
    for (int64_t h = 0; h < d.at("G") * d.at("R"); ++h) {
      int64_t g = h / d.at("R");
      std::vector<double> s;
      auto page = [&](int64_t n) { return static_cast<int64_t>(in["page"]({i, n / l})); };
      for (int64_t n = 0; n < static_cast<int64_t>(in["length"]({i})); ++n) {
        double x = 0;
        for (int64_t k = 0; k < d.at("D"); ++k) x += in["q"]({i, h, k}) * in["kp"]({page(n), n % l, g, k});
        s.push_back(x);
      }
      for (double x : attend(s, d.at("D"), [&](int64_t n, int64_t e) { return in["vp"]({page(n), n % l, g, e}); })) {
        o.at.push_back(x);
      }
    }
  }
  return {{"o", o}};
}

Arguments grouped_reference(const Dims& d, Arguments& in) {
  Numbers y{{}, std::vector<double>(static_cast<size_t>(d.at("T") * d.at("N")))};
  y.shape = {d.at("T"), d.at("N")};
  for (int64_t x = 0; x < d.at("X"); ++x) {
    for (auto t = static_cast<int64_t>(in["off"]({x})); t < static_cast<int64_t>(in["off"]({x + 1})); ++t) {
      for (int64_t n = 0; n < d.at("N"); ++n) {
        for (int64_t k = 0; k < d.at("K"); ++k) {
          y({t, n}) += in["x"]({static_cast<int64_t>(in["perm"]({t})), k}) * in["w"]({x, k, n});
        }
      }
    }
  }
  return {{"y", y}};
}

Arguments conv_reference(const Dims& d, Arguments& in) {
  Numbers y{{}, {}};
  for (int64_t b = 0; b < d.at("B"); ++b) {
    for (int64_t i = 0; i < d.at("H") - d.at("R") + 1; ++i) {
      for (int64_t j = 0; j < d.at("W") - d.at("S") + 1; ++j) {
        for (int64_t k = 0; k < d.at("K"); ++k) {
          double total = 0;
          for (int64_t r = 0; r < d.at("R"); ++r) {
            for (int64_t s = 0; s < d.at("S"); ++s) {
              for (int64_t c = 0; c < d.at("C"); ++c) {
                total += in["x"]({b, i + r, j + s, c}) * in["w"]({r, s, c, k});
              }
            }
          }
          y.at.push_back(total);
        }
      }
    }
  }
  return {{"y", y}};
}

Arguments cross_entropy_reference(const Dims& d, Arguments& in) {
  Numbers loss{{}, {}};
  for (int64_t r = 0; r < d.at("R"); ++r) {
    double largest = -kInf, total = 0;
    for (int64_t v = 0; v < d.at("V"); ++v) largest = std::max(largest, in["logits"]({r, v}));
    for (int64_t v = 0; v < d.at("V"); ++v) total += std::exp(in["logits"]({r, v}) - largest);
    auto target = static_cast<int64_t>(in["target"]({r}));
    loss.at.push_back(largest + std::log(total) - in["logits"]({r, target}));
  }
  return {{"loss", loss}};
}

Arguments argmax_reference(const Dims& d, Arguments& in) {
  Numbers y{{}, {}};
  for (int64_t r = 0; r < d.at("R"); ++r) {
    int64_t best = 0;
    for (int64_t v = 1; v < d.at("V"); ++v) {
      if (in["x"]({r, v}) > in["x"]({r, best})) best = v;
    }
    y.at.push_back(static_cast<double>(best));
  }
  return {{"y", y}};
}

// Reals around 0, of the parameter's type; integers are set by each program.
Arguments random_arguments(const Program& program, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  Arguments out;
  for (const Parameter& p : program.parameters) {
    if (p.role == Role::kOut || p.role == Role::kTmp) continue;
    Numbers n{shape_of(program, p), {}};
    int64_t count = 1;
    for (int64_t d : n.shape) count *= d;
    for (int64_t i = 0; i < count; ++i) {
      bool is_real = kind(p.type) == Kind::kReal;
      n.at.push_back(is_real ? round_to(p.type, normal(random)) : static_cast<double>(random() % 256));
    }
    out[p.name.str()] = n;
  }
  return out;
}

// Data that the programs are about: lengths with a part of a page, an empty expert, pages behind the end that hold NaN.
void set_integers(const std::string& name, const Dims& d, Arguments& in) {
  std::mt19937_64 random(7);
  if (name == "paged_attention") {
    for (int64_t i = 0; i < d.at("I"); ++i) {
      in["length"]({i}) =
          static_cast<double>(i == 0 ? 0 : 1 + random() % static_cast<uint64_t>(d.at("NP") * d.at("L")));
      for (int64_t p = 0; p < d.at("NP"); ++p) {
        auto used = static_cast<int64_t>(in["length"]({i}));
        int64_t page = i * d.at("NP") + p;
        in["page"]({i, p}) = static_cast<double>(page);
        for (int64_t l = 0; l < d.at("L"); ++l) {
          if (p * d.at("L") + l < used) continue;
          for (int64_t g = 0; g < d.at("G"); ++g) {
            for (int64_t e = 0; e < d.at("D"); ++e) {
              in["kp"]({page, l, g, e}) = in["vp"]({page, l, g, e}) = std::nan("");
            }
          }
        }
      }
    }
  }
  if (name == "grouped_gemm") {
    int64_t x = d.at("X"), t = d.at("T");
    for (int64_t e = 0; e <= x; ++e)
      in["off"]({e}) = static_cast<double>(e == 0 ? 0 : e == x ? t : t * (e / 2 * 2) / x);
    for (int64_t i = 0; i < t; ++i) in["perm"]({i}) = static_cast<double>((i * 5 + 3) % t);
  }
  if (name == "cross_entropy") {
    for (int64_t r = 0; r < d.at("R"); ++r)
      in["target"]({r}) = static_cast<double>(random() % static_cast<uint64_t>(d.at("V")));
  }
  if (name == "argmax") {
    // Ties, also across tiles.
    for (double& v : in["x"].at) v = std::round(v * 2);
  }
  if (name == "layernorm_matmul") {
    for (double& v : in["x"].at) v = round_to(ScalarType::f32, v + 100);
    in["eps"]({}) = round_to(ScalarType::f32, 1e-5);
  }
  if (name == "int4_matmul") {
    for (double& v : in["scale"].at) v = round_to(ScalarType::f16, v * 0.1);
  }
}

const std::map<std::string, std::function<Arguments(const Dims&, Arguments&)>>& references() {
  static const std::map<std::string, std::function<Arguments(const Dims&, Arguments&)>> all = {
      {"argmax", argmax_reference},
      {"attention", attention_reference},
      {"attention_laid", attention_reference},
      {"conv2d", conv_reference},
      {"cross_entropy", cross_entropy_reference},
      {"flash_decoding", decoding_reference},
      {"grouped_gemm", grouped_reference},
      {"int4_matmul", int4_reference},
      {"layernorm_matmul", layernorm_reference},
      {"matmul", matmul_reference},
      {"matmul_laid", matmul_reference},
      {"paged_attention", paged_reference},
      {"softmax_laid", softmax_reference},
      {"softmax_resident", softmax_reference},
      {"softmax_streamed", softmax_reference},
  };
  return all;
}

// More than one tile with a rest, and less than one.
const std::map<std::string, Dims>& larger_dims() {
  static const std::map<std::string, Dims> all = {
      {"argmax", {{"V", 101}}},
      {"attention", {{"M", 19}, {"N", 11}, {"D", 3}}},  // rows above the diagonal see nothing
      {"attention_laid", {{"M", 19}, {"N", 11}, {"D", 3}}},
      {"conv2d", {{"H", 4}, {"W", 14}, {"C", 7}}},
      {"cross_entropy", {{"V", 3}}},
      {"flash_decoding", {{"N", 5}, {"L", 1}}},
      {"grouped_gemm", {{"T", 30}, {"K", 3}}},
      {"int4_matmul", {{"K", 160}, {"M", 1}}},
      {"layernorm_matmul", {{"K", 41}}},
      {"matmul", {{"M", 1}, {"N", 17}, {"K", 47}}},
      {"matmul_laid", {{"M", 1}, {"N", 17}, {"K", 47}}},
      {"paged_attention", {{"L", 3}}},
      {"softmax_laid", {{"N", 65}}},
      {"softmax_resident", {{"N", 1}}},
      {"softmax_streamed", {{"N", 100}, {"R", 1}}},
  };
  return all;
}

}  // namespace

double& Numbers::operator()(std::initializer_list<int64_t> index) {
  int64_t linear = 0;
  size_t d = 0;
  for (int64_t i : index) {
    EXPECT_TRUE(i >= 0 && i < shape[d]) << "the reference leaves an array";
    linear = linear * shape[d++] + i;
  }
  return at[static_cast<size_t>(linear)];
}

Dims dims_of(const Program& program) {
  Dims out;
  for (const Dim& d : program.dims) out[d.name.str()] = *d.value;
  return out;
}

std::vector<int64_t> shape_of(const Program& program, const Parameter& parameter) {
  std::vector<int64_t> out;
  for (const ExprPtr& s : parameter.shape) out.push_back(value_of(program, s));
  return out;
}

std::vector<Case> worked_cases(bool larger) {
  std::vector<Case> out;
  for (const std::string& name : worked_names()) {
    auto reference = references().find(name);
    if (reference == references().end()) {
      ADD_FAILURE() << name << " has no reference";
      continue;
    }
    Case c{name, worked(name), {}, reference->second};
    if (larger) {
      for (const auto& [dim, value] : larger_dims().at(name)) {
        for (Dim& d : c.program.dims) {
          if (d.name == Symbol(dim)) d.value = value;
        }
      }
    }
    c.arguments = random_arguments(c.program, 1);
    set_integers(name, dims_of(c.program), c.arguments);
    out.push_back(std::move(c));
  }
  return out;
}

Ran run(const Program& program, const Arguments& arguments, Mode mode) {
  std::vector<std::vector<std::byte>> bytes;
  Launch launch;
  launch.mode = mode;
  for (const Dim& d : program.dims) launch.dims.push_back(*d.value);
  for (const Parameter& p : program.parameters) {
    auto given = arguments.find(p.name.str());
    std::vector<std::byte> data;
    if (given != arguments.end()) {
      auto n = static_cast<int64_t>(given->second.at.size());
      data.resize(static_cast<size_t>(byte_size(p.type, n)) + 1);
      for (int64_t i = 0; i < n; ++i) {
        double v = given->second.at[static_cast<size_t>(i)];
        bool is_real = kind(p.type) == Kind::kReal;
        store_bits(p.type, data.data(), i,
                   is_real ? encode_real(p.type, v) : encode_int(p.type, static_cast<int64_t>(v)));
      }
    }
    bytes.push_back(std::move(data));
  }
  for (const auto& b : bytes) launch.arguments.push_back(b.empty() ? nullptr : b.data());
  auto result = interpret(program, launch);
  Ran out;
  if (!result) {
    out.fault = render(result.error());
    return out;
  }
  out.findings = std::move(result->findings);
  for (Output& o : result->outputs) {
    out.outputs[program.parameters[static_cast<size_t>(o.parameter)].name.str()] = std::move(o);
  }
  return out;
}

}  // namespace quern::tile
