#include "case.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "base/philox.h"

namespace quern::compile {
namespace {

int64_t elements(const std::vector<int64_t>& shape) {
  int64_t out = 1;
  for (int64_t n : shape) out *= n;
  return out;
}

}  // namespace

Case make_case(const std::string& text, const std::map<std::string, int64_t>& sizes, uint64_t seed, int64_t lo,
               int64_t hi) {
  Case c;
  c.unit = lang::load(Source::make("case.qn", text));
  if (!c.unit.errors.empty() || c.unit.kernels.empty()) throw std::runtime_error(render(c.unit.errors));
  c.program = &*c.unit.kernels.front().program;
  expr::Request request;
  for (const auto& [name, size] : sizes) request.dimensions[Symbol(name)] = size;
  auto binding = expr::bind(*c.program, request);
  if (!binding) throw std::runtime_error(render(binding.error()));
  c.binding = *std::move(binding);
  for (size_t t = 0; t < c.program->tensors.size(); ++t) {
    ScalarType type = c.binding.type(c.program->tensors[t].type);
    int64_t count = elements(c.binding.shapes[t]);
    std::vector<std::byte> bytes(static_cast<size_t>(byte_size(type, count)));
    for (int64_t i = 0; i < count; ++i) {
      uint64_t r = random_bits(static_cast<int64_t>(seed * 100 + t), i) % 1000;
      uint64_t bits = kind(type) == Kind::kReal ? encode_real(type, static_cast<double>(r) / 250 - 2)
                      : kind(type) == Kind::kBool
                          ? r % 2
                          : encode_int(type, lo + static_cast<int64_t>(r) % std::max<int64_t>(hi - lo, 1));
      store_bits(type, bytes.data(), i, bits);
    }
    c.inputs.push_back(std::move(bytes));
  }
  return c;
}

expr::Interpreted truth(const Case& c) {
  std::vector<expr::View> views;
  for (const auto& bytes : c.inputs) views.push_back({bytes.data()});
  auto out = expr::interpret(*c.program, c.binding, views);
  if (!out) throw std::runtime_error(render(out.error()));
  return *std::move(out);
}

Result<Computed> computed(const Case& c, const backend::Compiled& code, int threads, size_t shift) {
  Computed out;
  std::vector<std::vector<std::byte>> inputs, outputs;
  std::vector<backend::Tensor> tensors;
  for (size_t t = 0; t < c.program->tensors.size(); ++t) {
    inputs.emplace_back(shift + c.inputs[t].size());
    std::ranges::copy(c.inputs[t], inputs.back().begin() + static_cast<std::ptrdiff_t>(shift));
    bool written = c.program->tensors[t].role != expr::Role::kParameter;
    outputs.emplace_back(written ? shift + c.inputs[t].size() : 0);
    tensors.push_back({inputs.back().data() + shift, written ? outputs.back().data() + shift : nullptr});
  }
  auto done = backend::run(code, *c.program, c.binding, tensors, {.threads = threads});
  if (!done) return fail(std::move(done.error()));
  for (auto& o : outputs)
    out.outputs.emplace_back(o.begin() + static_cast<std::ptrdiff_t>(o.empty() ? 0 : shift), o.end());
  out.findings = std::move(done->findings);
  return out;
}

std::string difference(const Case& c, const expr::Interpreted& truth, const Computed& computed) {
  for (const expr::Output& o : truth.outputs) {
    auto t = static_cast<size_t>(o.tensor);
    ScalarType type = c.binding.type(c.program->tensors[t].type);
    for (int64_t i = 0; i < elements(c.binding.shapes[t]); ++i) {
      uint64_t have = load_bits(type, computed.outputs[t].data(), i), want = load_bits(type, o.data.data(), i);
      if (have == want) continue;
      double bound = o.bound[static_cast<size_t>(i)];
      double x = kind(type) == Kind::kReal ? decode_real(type, have) : static_cast<double>(decode_int(type, have));
      double y = kind(type) == Kind::kReal ? decode_real(type, want) : static_cast<double>(decode_int(type, want));
      if (std::isinf(bound) || (std::isnan(x) && std::isnan(y)) || std::fabs(x - y) <= bound) continue;
      return c.program->tensors[t].name.str() + " element " + std::to_string(i) + ": " + std::to_string(x) +
             ", the truth is " + std::to_string(y) + " within " + std::to_string(bound);
    }
  }
  return {};
}

}  // namespace quern::compile
