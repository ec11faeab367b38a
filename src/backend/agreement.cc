#include "backend/agreement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace quern::backend {
namespace {

constexpr double kLeastNormal = 0x1p-126;
constexpr double kInf = std::numeric_limits<double>::infinity();
using Memory = std::vector<std::vector<std::byte>>;  // by tensor; empty for parameters

int64_t elements(const std::vector<int64_t>& shape) {
  int64_t out = 1;
  for (int64_t n : shape) out *= n;
  return out;
}

double number(ScalarType type, const void* data, int64_t i) {
  uint64_t bits = load_bits(type, data, i);
  return kind(type) == Kind::kReal ? decode_real(type, bits) : static_cast<double>(decode_int(type, bits));
}

// "2, 0, 5" of the element in row-major order.
std::string place(const std::vector<int64_t>& shape, int64_t element) {
  std::vector<int64_t> at(shape.size());
  for (size_t d = shape.size(); d-- > 0; element /= shape[d]) at[d] = element % shape[d];
  return fmt::format("{}", fmt::join(at, ", "));
}

// What only a checked run looks for is left out.
std::set<std::string> codes_of(const Diagnostics& findings) {
  std::set<std::string> out;
  for (const Diagnostic& d : findings) {
    if (d.code != Code::E804 && d.code != Code::E806) out.emplace(row(d.code).name);
  }
  return out;
}

// A NaN has no sign, which would depend on the machine.
std::string shown(double value) { return std::isnan(value) ? "nan" : fmt::format("{}", value); }

class Holder {
 public:
  Holder(const Compiled& compiled, const expr::Program& program, const expr::Binding& binding,
         const std::vector<expr::View>& arguments, const expr::Interpreted& truth)
      : compiled_(compiled), program_(program), binding_(binding), arguments_(arguments), truth_(truth) {}

  Agreement run() {
    for (const expr::Output& o : truth_.outputs) out_.closest.push_back({o.tensor});
    Memory got;
    if (auto done = compute(1, got); !done) {
      out_.wrong = "it did not run: " + render(done.error());
    } else if (auto want = codes_of(truth_.findings), have = codes_of(done->findings); want != have) {
      // What may have any value may have decided about a subscript.
      if (!undetermined()) out_.wrong = fmt::format("it finds {}, the interpreter {}", listed(have), listed(want));
    } else if (truth_.findings.empty()) {
      for (size_t i = 0; i < truth_.outputs.size() && out_.wrong.empty(); ++i) compare(truth_.outputs[i], got, i);
      if (out_.wrong.empty()) again(got);
    }
    return std::move(out_);
  }

 private:
  static std::string listed(const std::set<std::string>& codes) {
    return codes.empty() ? "nothing" : fmt::format("{}", fmt::join(codes, " "));
  }

  ScalarType type(size_t tensor) const { return binding_.type(program_.tensors[tensor].type); }

  Result<Done> compute(int threads, Memory& out) const {
    out.assign(program_.tensors.size(), {});
    std::vector<Tensor> tensors;
    for (size_t t = 0; t < program_.tensors.size(); ++t) {
      bool written = program_.tensors[t].role != expr::Role::kParameter;
      // Not zeros: what is left unwritten shows.
      if (written)
        out[t].assign(static_cast<size_t>(byte_size(type(t), elements(binding_.shapes[t]))), std::byte{0xa5});
      tensors.push_back({arguments_[t].data, written ? out[t].data() : nullptr});
    }
    return backend::run(compiled_, program_, binding_, tensors, {.threads = threads});
  }

  void compare(const expr::Output& o, const Memory& got, size_t result) {
    auto t = static_cast<size_t>(o.tensor);
    int64_t count = elements(binding_.shapes[t]);
    for (int64_t i = 0; i < count; ++i) {
      double want = number(type(t), o.data.data(), i), have = number(type(t), got[t].data(), i);
      double bound = o.bound[static_cast<size_t>(i)];
      Closest& c = out_.closest[result];
      ++c.elements;
      c.free += bound == kInf;
      if (want == have || (std::isnan(want) && std::isnan(have)) || bound == kInf) continue;
      double error = std::fabs(want - have);
      if (!std::isfinite(want) || !std::isfinite(have) || error > bound) {
        std::string at = binding_.shapes[t].empty() ? "" : "[" + place(binding_.shapes[t], i) + "]";
        out_.wrong = fmt::format("{}{} is {}, the interpreter has {} with a bound of {:.3g}",
                                 program_.tensors[t].name.str(), at, shown(have), shown(want), bound);
        return;
      }
      if (bound > kLeastNormal && error / bound > c.share()) c.error = error, c.bound = bound;
    }
  }

  // Some element may have any value.
  bool undetermined() const {
    return std::ranges::any_of(truth_.outputs,
                               [](const expr::Output& o) { return std::ranges::count(o.bound, kInf) > 0; });
  }

  void again(const Memory& first) {
    // Reals that meet in `+=` are added in any order.
    if (std::ranges::any_of(program_.updates, [](const expr::Update& u) { return u.add; })) return;
    Memory second;
    auto done = compute(2, second);
    if (!done) {
      out_.wrong = "it did not run on two threads: " + render(done.error());
    } else if (second != first) {
      out_.wrong = "it gives other bits on two threads";
    }
  }

  const Compiled& compiled_;
  const expr::Program& program_;
  const expr::Binding& binding_;
  const std::vector<expr::View>& arguments_;
  const expr::Interpreted& truth_;
  Agreement out_;
};

}  // namespace

Agreement agree(const Compiled& compiled, const expr::Program& program, const expr::Binding& binding,
                const std::vector<expr::View>& arguments, const expr::Interpreted& truth) {
  return Holder(compiled, program, binding, arguments, truth).run();
}

}  // namespace quern::backend
