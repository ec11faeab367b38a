#include "simulator.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/philox.h"
#include "expr/contraction.h"
#include "expr/substitute.h"

namespace quern::expr::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

double single(double v) { return static_cast<double>(static_cast<float>(v)); }

// Sum of two floats, rounded once: exact in double for all but far apart exponents, where it makes no difference.
double add_single(double a, double b) { return static_cast<double>(static_cast<float>(a) + static_cast<float>(b)); }

__extension__ typedef __int128 Wide;  // exact, then wrapped
int64_t wrap(Wide v) { return static_cast<int64_t>(static_cast<uint64_t>(v)); }
int64_t product(int64_t a, int64_t b) { return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b)); }

}  // namespace

Simulator::Simulator(const Program& program, const Binding& binding, const Arguments& arguments, Random* random)
    : program_(program), binding_(binding), arguments_(arguments), random_(random), indices_(program.indices.size()) {
  size_t n = program.tensors.size();
  tensors_.real.resize(n);
  tensors_.whole.resize(n);
  added_.resize(n);
  for (size_t t = 0; t < n; ++t) {
    const Tensor& tensor = program.tensors[t];
    if (tensor.role == Role::kParameter) continue;
    auto size = static_cast<size_t>(arguments.elements(t));
    tensors_.real[t].resize(size);
    tensors_.whole[t].resize(size);
    for (size_t i = 0; i < size; ++i) {
      if (tensor.role == Role::kInout) {
        uint64_t bits = load_bits(arguments.type(t), arguments.data(t), static_cast<int64_t>(i));
        if (quern::kind(arguments.type(t)) == Kind::kReal) {
          tensors_.real[t][i] = decode_real(arguments.type(t), bits);
        } else {
          tensors_.whole[t][i] = decode_int(arguments.type(t), bits);
        }
      } else if (tensor.value) {
        Value first = number(tensor.value);
        tensors_.real[t][i] = as(first, arguments.type(t) == ScalarType::f64 || !random_);
        tensors_.whole[t][i] = tensor.value->kind == Kind::kBool ? first.truth : first.whole;
      }
    }
  }
}

const Simulator::Tensors& Simulator::run() {
  for (size_t u = 0; u < program_.updates.size(); ++u) {
    reductions_.clear();
    locals_.clear();
    const Update& now = program_.updates[u];
    update(now);
    bool last = true;
    for (size_t v = u + 1; v < program_.updates.size(); ++v) last &= program_.updates[v].tensor != now.tensor;
    if (last) finish(static_cast<size_t>(now.tensor));
  }
  return tensors_;
}

void Simulator::visit_locals() {
  for (const Local& l : program_.locals) {
    loop(l.binders, 0, [&] { eval(l.value); });
  }
}

// Long ranges, as data may ask for, are visited at their ends and around zero.
template <class Body>
void Simulator::loop(const std::vector<Binder>& binders, size_t depth, Body&& body) {
  if (depth == binders.size()) return body();
  const Binder& b = binders[depth];
  int64_t lo = b.lo ? eval(b.lo).whole : 0, hi = eval(b.hi).whole;
  int64_t before = index(b.id);
  bool was = bound_.contains(b.id);
  bool far = hi > lo && (hi < 0) == (lo < 0) ? hi - lo > 600 : hi > lo && (hi > 300 || lo < -300);
  for (int64_t i = lo; i < hi; ++i) {
    if (far && i > lo + 8 && i < hi - 8 && (i < -8 || i > 24)) {
      i = i < -8 ? std::min<int64_t>(-8, hi - 8) : hi - 8;
      if (i <= lo || i >= hi) break;
    }
    index(b.id) = i;
    bound_.insert(b.id);
    loop(binders, depth + 1, body);
    if (i == INT64_MAX) break;
  }
  index(b.id) = before;
  if (!was) bound_.erase(b.id);
}

void Simulator::note(const NodePtr& subscript, Symbol tensor, size_t axis, bool write, bool behind) {
  Place place{subscript->span.source, subscript->span.begin, subscript->span.end, tensor, static_cast<int>(axis), write};
  std::map<std::string, int64_t> at;
  for (IndexId id : bound_) at[program_.indices[static_cast<size_t>(id)].str()] = index(id);
  auto& all = (behind ? behind_ : outside_)[place];
  if (all.size() < 4096) all.push_back(std::move(at));
}

// --- values ---

double Simulator::as(const Value& v, bool wide) { return wide ? v.real : single(v.real); }

Simulator::Value Simulator::real(double v, bool wide) {
  Value out;
  out.wide = wide || !random_;
  out.real = out.wide ? v : single(v);
  return out;
}

Simulator::Value Simulator::number(const NodePtr& n) {
  Value v = eval(n);
  if (n->kind != Kind::kInt) return v;
  v.real = static_cast<double>(v.whole);
  v.literal = true;  // exact so far: rounded where it is used
  v.wide = false;
  return v;
}

double Simulator::perturbed(double v, int units, bool wide) {
  if (!random_ || !std::isfinite(v)) return v;
  double u = wide ? 0x1p-53 : 0x1p-24;
  if (!wide && std::fabs(v) < 0x1p-126 && dice()) return 0;
  double dial = dice() ? 2.0 * static_cast<double>((*random_)() >> 11) * 0x1p-53 - 1 : dice() ? 1 : -1;
  return v * (1 + dial * (units - 1) * u * 0.999);
}

// f64 if an operand is: known from the text, whatever is evaluated.
bool Simulator::is_wide(const NodePtr& n) {
  if (n->kind != Kind::kReal) return false;
  auto [it, added] = wide_.try_emplace(n.get(), false);
  if (!added) return it->second;
  bool wide = false;
  if (n->op == Op::kRead) {
    wide = arguments_.type(static_cast<size_t>(n->id)) == ScalarType::f64;
  } else if (n->op == Op::kLocal) {
    const Local& l = program_.locals[static_cast<size_t>(n->id)];
    wide = l.type ? binding_.type(*l.type) == ScalarType::f64 : is_wide(l.value);
  } else if (n->op == Op::kCast) {
    wide = binding_.type(n->type) == ScalarType::f64;
  } else {
    for (size_t i = 0; i < n->args.size(); ++i) wide |= is_wide(n->args[i]);
  }
  return wide_[n.get()] = wide;
}

Simulator::Value Simulator::eval(const NodePtr& n) {
  Value v = eval_node(n);
  v.wide = !random_ || is_wide(n);
  if (v.wide && n->kind == Kind::kReal) v.literal = false;
  return v;
}

Simulator::Value Simulator::eval_node(const NodePtr& n) {
  Value out;
  switch (row(*n).family) {
    case Family::literal:
      switch (n->op) {
        case Op::kInteger: out.whole = n->integer; return out;
        case Op::kReal: out.real = n->real; out.literal = true; return out;
        case Op::kInf: out.real = kInf; out.literal = true; return out;
        case Op::kNan: out.real = kNaN; out.literal = true; return out;
        default: out.truth = n->op == Op::kTrue; return out;
      }
    case Family::resolved:
      out.whole = n->op == Op::kIndex ? index(n->id) : binding_.sizes.at(n->name);
      return out;
    case Family::read: return n->op == Op::kRead ? read(n) : local(n);
    case Family::within: return within(n);
    case Family::cast: return cast(n);
    case Family::arithmetic:
    case Family::bits: return n->kind == Kind::kReal ? arithmetic(n) : whole_arithmetic(n);
    case Family::negate:
      out = number(n->args[0]);
      out.real = -out.real;
      out.whole = wrap(-static_cast<Wide>(out.whole));
      return out;
    case Family::compare: return compare(n);
    case Family::negation: out.truth = !eval(n->args[0]).truth; return out;
    case Family::logic:
      out.truth = eval(n->args[0]).truth;
      if (out.truth == (n->op == Op::kAnd)) out.truth = eval(n->args[1]).truth;
      return out;
    case Family::select: {
      const NodePtr& taken = eval(n->args[1]).truth ? n->args[0] : n->args[2];
      return n->kind == Kind::kReal ? number(taken) : eval(taken);
    }
    case Family::function:
    case Family::function2: return function(n);
    case Family::rounding:
      out = number(n->args[0]);
      if (n->kind == Kind::kInt) {
        if (n->op == Op::kAbs && out.whole < 0) out.whole = wrap(-static_cast<Wide>(out.whole));
        return out;
      }
      out.real = n->op == Op::kAbs ? std::fabs(out.real) : n->op == Op::kFloor ? std::floor(as(out, out.wide || !random_))
                 : n->op == Op::kCeil ? std::ceil(as(out, out.wide || !random_)) : std::rint(as(out, out.wide || !random_));
      return out;
    case Family::extremum: return extremum(n);
    case Family::random: out.whole = random_bits(eval(n->args[0]).whole, eval(n->args[1]).whole); return out;
    case Family::reduction: return reduce(n);
    default: ADD_FAILURE() << "a source node in a checked program"; return out;
  }
}

Simulator::Value Simulator::arithmetic(const NodePtr& n) {
  // A product and a sum may be one operation.
  bool sums = n->op == Op::kAdd || n->op == Op::kSub;
  for (size_t k : {0, 1}) {
    if (!sums || n->args[k]->op != Op::kMul || n->args[k]->kind != Kind::kReal || !dice()) continue;
    const auto& factors = n->args[k]->args;
    Value x = number(factors[0]), y = factors[0] == factors[1] ? x : number(factors[1]), c = number(n->args[1 - k]);
    if (is_wide(n)) break;
    double sign_product = n->op == Op::kSub && k == 1 ? -1 : 1, sign_other = n->op == Op::kSub && k == 0 ? -1 : 1;
    return real(std::fmaf(static_cast<float>(sign_product * as(x, false)), static_cast<float>(as(y, false)),
                          static_cast<float>(sign_other * as(c, false))),
                false);
  }
  Value a = number(n->args[0]), b = n->args[0] == n->args[1] ? a : number(n->args[1]);  // a square has one root
  bool wide = a.wide || b.wide || !random_;
  double x = as(a, wide), y = as(b, wide);
  // Two floats: + - * / in double, then to float, is the float operation.
  switch (n->op) {
    case Op::kAdd: return real(x + y, wide);
    case Op::kSub: return real(x - y, wide);
    case Op::kMul: return real(x * y, wide);
    default: return real(x / y, wide);
  }
}

Simulator::Value Simulator::whole_arithmetic(const NodePtr& n) {
  Value out;
  int64_t x = eval(n->args[0]).whole, y = eval(n->args[1]).whole;
  Wide a = x, b = y;
  switch (n->op) {
    case Op::kAdd: out.whole = wrap(a + b); break;
    case Op::kSub: out.whole = wrap(a - b); break;
    case Op::kMul: out.whole = product(x, y); break;
    case Op::kDiv:
    case Op::kFloorDiv:
    case Op::kMod: {
      if (b == 0) break;
      Wide q = a / b;
      if (a % b != 0 && (a < 0) != (b < 0)) --q;
      out.whole = wrap(n->op == Op::kMod ? a - q * b : q);
      break;
    }
    case Op::kBitAnd: out.whole = x & y; break;
    case Op::kBitOr: out.whole = x | y; break;
    case Op::kBitXor: out.whole = x ^ y; break;
    case Op::kShl: out.whole = y < 0 || y > 63 ? 0 : static_cast<int64_t>(static_cast<uint64_t>(x) << y); break;
    default: out.whole = y < 0 || y > 63 ? 0 : x >> y; break;
  }
  return out;
}

Simulator::Value Simulator::function(const NodePtr& n) {
  Value a = number(n->args[0]);
  Value b = n->args.size() > 1 ? number(n->args[1]) : Value{};
  bool wide = a.wide || b.wide || !random_;
  double x = as(a, wide), v = 0;
  switch (n->op) {
    case Op::kExp: v = std::exp(x); break;
    case Op::kExp2: v = std::exp2(x); break;
    case Op::kLog: v = std::log(x); break;
    case Op::kLog2: v = std::log2(x); break;
    case Op::kSqrt: v = std::sqrt(x); break;
    case Op::kRsqrt: v = 1 / std::sqrt(x); break;
    case Op::kSin: v = std::sin(x); break;
    case Op::kCos: v = std::cos(x); break;
    case Op::kTanh: v = std::tanh(x); break;
    case Op::kErf: v = std::erf(x); break;
    default: v = std::pow(x, as(b, wide)); break;
  }
  int units = row(*n).error;
  return real(units > 1 ? perturbed(v, units, wide) : v, wide);
}

Simulator::Value Simulator::compare(const NodePtr& n) {
  Value out;
  auto decide = [&](auto a, auto b) {
    switch (n->op) {
      case Op::kLt: return a < b;
      case Op::kLe: return a <= b;
      case Op::kGt: return a > b;
      case Op::kGe: return a >= b;
      case Op::kEq: return a == b;
      default: return a != b;
    }
  };
  if (n->args[0]->kind == Kind::kInt && n->args[1]->kind == Kind::kInt) {
    out.truth = decide(eval(n->args[0]).whole, eval(n->args[1]).whole);
    return out;
  }
  Value a = number(n->args[0]), b = number(n->args[1]);
  bool wide = a.wide || b.wide || !random_;
  out.truth = decide(as(a, wide), as(b, wide));
  return out;
}

Simulator::Value Simulator::cast(const NodePtr& n) {
  ScalarType to = binding_.type(n->type);
  Value a = eval(n->args[0]), out;
  Kind from = n->args[0]->kind;
  if (n->kind == Kind::kReal) {
    double v = from == Kind::kInt ? static_cast<double>(a.whole) : as(a, a.wide || a.literal || !random_);
    out.real = round_to(to, v);
    out.wide = to == ScalarType::f64 || !random_;
  } else if (n->kind == Kind::kBool) {
    out.truth = from == Kind::kBool ? a.truth : from == Kind::kInt ? a.whole != 0 : a.real != 0;
  } else {
    out.whole = from == Kind::kBool ? wrap_to(to, a.truth) : from == Kind::kInt ? wrap_to(to, a.whole)
                : truncate_to(to, as(a, a.wide || !random_));
  }
  return out;
}

Simulator::Value Simulator::extremum(const NodePtr& n) {
  bool max = n->op == Op::kMaxOf;
  Value best;
  std::vector<Value> all;
  for (const NodePtr& arg : n->args) all.push_back(number(arg));
  bool wide = !random_ || std::ranges::any_of(all, [](const Value& v) { return v.wide; });
  for (size_t i = 0; i < all.size(); ++i) {
    Value v = all[i];
    if (n->kind == Kind::kInt) {
      if (i == 0 || (max ? v.whole > best.whole : v.whole < best.whole)) best.whole = v.whole;
      continue;
    }
    v.real = as(v, wide || is_wide(n));
    if (i == 0 || (!std::isnan(best.real) && (std::isnan(v.real) || (max ? v.real > best.real : v.real < best.real)))) {
      best.real = v.real;
    }
  }
  best.wide = wide;
  return best;
}

// --- reads ---

Simulator::Value Simulator::read(const NodePtr& n) {
  auto t = static_cast<size_t>(n->id);
  const auto& shape = binding_.shapes[t];
  bool inside = true;
  int64_t at = 0;
  for (size_t i = 0; i < n->args.size(); ++i) {
    int64_t s = eval(n->args[i]).whole;
    if (s < 0 || s >= shape[i]) {
      inside = false;
      note(n->args[i], program_.tensors[t].name, i, false);
    }
    if (inside) at = at * shape[i] + s;
  }
  Value out;
  ScalarType type = arguments_.type(t);
  out.wide = type == ScalarType::f64 || !random_;
  if (!inside) return out;
  if (program_.tensors[t].role == Role::kResult) {
    out.real = tensors_.real[t][static_cast<size_t>(at)];
    out.whole = tensors_.whole[t][static_cast<size_t>(at)];
  } else if (quern::kind(type) == Kind::kReal) {
    out.real = decode_real(type, load_bits(type, arguments_.data(t), at));
  } else {
    out.whole = decode_int(type, load_bits(type, arguments_.data(t), at));
  }
  out.truth = out.whole != 0;
  return out;
}

Simulator::Value Simulator::local(const NodePtr& n) {
  const Local& l = program_.locals[static_cast<size_t>(n->id)];
  std::vector<int64_t> at;
  for (const NodePtr& arg : n->args) at.push_back(eval(arg).whole);
  std::vector<int64_t> before;
  std::set<IndexId> bound_before = bound_;
  for (const Binder& b : l.binders) before.push_back(index(b.id));
  auto restore = [&] {
    for (size_t i = 0; i < before.size(); ++i) index(l.binders[i].id) = before[i];
    bound_ = bound_before;
  };
  for (size_t i = 0; i < at.size(); ++i) {
    const Binder& b = l.binders[i];
    int64_t lo = b.lo ? eval(b.lo).whole : 0, hi = eval(b.hi).whole;
    if (at[i] < lo || at[i] >= hi) {
      restore();
      note(n->args[i], l.name, i, false);
      for (size_t later = i + 1; later < at.size(); ++later) note(n->args[later], l.name, later, false, true);
      return {};
    }
    index(b.id) = at[i];
  }
  auto key = std::pair(n->id, at);
  auto known = locals_.find(key);
  if (known == locals_.end()) {
    bound_.clear();
    for (const Binder& b : l.binders) bound_.insert(b.id);
    Value v = l.kind == Kind::kReal ? number(l.value) : eval(l.value);
    if (l.kind == Kind::kReal && l.type) {
      ScalarType to = binding_.type(*l.type);
      v.real = round_to(to, as(v, v.wide || v.literal || !random_));
      v.wide = to == ScalarType::f64 || !random_;
      v.literal = false;
    } else if (l.kind == Kind::kInt && l.type) {
      v.whole = wrap_to(binding_.type(*l.type), v.whole);
    } else if (l.kind == Kind::kReal && !v.wide && random_) {
      v = real(v.real, false);
    }
    known = locals_.emplace(key, v).first;
  }
  restore();
  return known->second;
}

Simulator::Value Simulator::within(const NodePtr& n) {
  int64_t at = eval(n->args[1]).whole, lo = eval(n->args[2]).whole, hi = eval(n->args[3]).whole;
  return at >= lo && at < hi ? eval(n->args[0]) : Value{};
}

// --- reductions ---

Simulator::Value Simulator::reduce(const NodePtr& n) {
  auto [it, added] = free_.try_emplace(n.get());
  if (added) it->second = free_indices(n);
  std::pair<const Node*, std::vector<int64_t>> key{n.get(), {}};
  for (IndexId id : it->second) key.second.push_back(index(id));
  auto known = reductions_.find(key);
  if (known != reductions_.end()) return known->second;
  Value v = reduce_fresh(n);
  reductions_.emplace(std::move(key), v);
  return v;
}

Simulator::Value Simulator::reduce_fresh(const NodePtr& n) {
  const NodePtr& body = n->args[0];
  Value out;
  switch (n->op) {
    case Op::kSum:
    case Op::kProd: {
      bool product = n->op == Op::kProd;
      if (n->kind == Kind::kInt) {
        uint64_t total = product;
        loop(n->binders, 0, [&] {
          auto v = static_cast<uint64_t>(eval(body).whole);
          total = product ? total * v : total + v;
        });
        out.whole = static_cast<int64_t>(total);
        return out;
      }
      bool wide = !random_ || is_wide(n);
      if (!product && !wide) {
        double v = contracted(n);
        if (!std::isnan(v)) return real(v, false);
      }
      std::vector<Value> terms;
      loop(n->binders, 0, [&] { terms.push_back(number(body)); });
      std::vector<double> values;
      for (const Value& v : terms) values.push_back(as(v, wide));
      if (!product) return real(sum(std::move(values), wide), wide);
      if (random_) std::ranges::shuffle(values, *random_);
      double total = 1;
      for (double v : values) total = wide ? total * v : single(total * v);
      return real(total, wide);
    }
    case Op::kMax:
    case Op::kMin: {
      bool max = n->op == Op::kMax;
      out.whole = max ? INT64_MIN : INT64_MAX;
      out.real = max ? -kInf : kInf;
      out.wide = !random_;
      loop(n->binders, 0, [&] {
        Value v = number(body);
        v.real = as(v, v.wide || is_wide(n) || !random_);
        if (max ? v.whole > out.whole : v.whole < out.whole) out.whole = v.whole;
        if (!std::isnan(out.real) && (std::isnan(v.real) || (max ? v.real > out.real : v.real < out.real))) out.real = v.real;
      });
      return out;
    }
    case Op::kArgmax:
    case Op::kArgmin: {
      bool max = n->op == Op::kArgmax, first = true;
      double best = 0;
      int64_t best_whole = 0;
      out.whole = -1;
      loop(n->binders, 0, [&] {
        Value v = number(body);
        double r = as(v, v.wide || !random_);
        bool better = body->kind == Kind::kInt ? (max ? v.whole > best_whole : v.whole < best_whole)
                      : !std::isnan(best) && (std::isnan(r) || (max ? r > best : r < best));
        if (!first && !better) return;
        first = false;
        best = r;
        best_whole = v.whole;
        out.whole = index(n->binders[0].id);
      });
      return out;
    }
    default: {
      bool all = n->op == Op::kAll;
      out.truth = all;
      loop(n->binders, 0, [&] { out.truth = all ? eval(body).truth && out.truth : eval(body).truth || out.truth; });
      return out;
    }
  }
}

// In any order: as they come, shuffled, in pairs, in four lanes.
double Simulator::sum(std::vector<double> x, bool wide) {
  auto plus = [&](double a, double b) { return wide ? a + b : add_single(a, b); };
  if (!random_) return std::accumulate(x.begin(), x.end(), 0.0);
  if (dice()) std::ranges::shuffle(x, *random_);
  switch (between(*random_, 0, 2)) {
    case 0: return std::accumulate(x.begin(), x.end(), 0.0, plus);
    case 1: {
      if (x.empty()) return 0;
      for (; x.size() > 1; x.resize((x.size() + 1) / 2)) {
        for (size_t i = 0; 2 * i < x.size(); ++i) x[i] = 2 * i + 1 < x.size() ? plus(x[2 * i], x[2 * i + 1]) : x[2 * i];
      }
      return x[0];
    }
    default: {
      double lane[4] = {};
      for (size_t i = 0; i < x.size(); ++i) lane[i % 4] = plus(lane[i % 4], x[i]);
      return plus(plus(lane[0], lane[2]), plus(lane[1], lane[3]));
    }
  }
}

// A sum as tensor cores or fused multiply and add would do it; NaN: do it the plain way.
double Simulator::contracted(const NodePtr& n) {
  auto c = dice(0.25) ? std::nullopt : contraction(program_, binding_, n);
  if (!c) {
    // A sum of products by fused multiply and add.
    if (n->args[0]->op != Op::kMul || !dice()) return kNaN;
    double total = 0;
    loop(n->binders, 0, [&] {
      Value a = number(n->args[0]->args[0]), b = number(n->args[0]->args[1]);
      total = std::fmaf(static_cast<float>(as(a, false)), static_cast<float>(as(b, false)), static_cast<float>(total));
    });
    return total;
  }
  // Every run decides anew: round the operands? take the factors that do not change out of them, before or after?
  bool round = c->rounds_to && dice(0.8);
  std::vector<bool> apart;
  for (const auto& f : c->factors) apart.push_back(f.hoisted && dice());
  std::vector<double> terms;
  double sign = 1;  // the contraction lists factors without their signs
  loop(n->binders, 0, [&] {
    double side[2] = {1, 1};
    bool any[2] = {false, false};
    for (size_t i = 0; i < c->factors.size(); ++i) {
      const auto& f = c->factors[i];
      if (apart[i]) continue;
      Value v = number(f.value);
      double x = as(v, false);
      double& s = side[f.operand];
      s = f.inverse ? single(s / x) : any[f.operand] ? single(s * x) : x;
      any[f.operand] = true;
    }
    for (int k : {0, 1}) {
      if (round && c->computed[static_cast<size_t>(k)]) side[k] = round_to(*c->rounds_to, side[k]);
    }
    double term = single(side[0] * side[1]);
    for (size_t i = 0; i < c->factors.size(); ++i) {
      if (!apart[i]) continue;
      double x = as(number(c->factors[i].value), false);
      term = c->factors[i].inverse ? single(term / x) : single(term * x);
    }
    // The sign of the body, from the body: negations are exact and stand anywhere.
    int negations = 0;
    auto count = [&](auto& self, const NodePtr& node) -> void {
      if (node->op == Op::kNeg) {
        ++negations;
        self(self, node->args[0]);
      } else if (node->op == Op::kMul || node->op == Op::kDiv) {
        for (const NodePtr& arg : node->args) self(self, arg);
      }
    };
    count(count, n->args[0]);
    sign = negations % 2 ? -1 : 1;
    terms.push_back(sign * term);
  });
  return sum(std::move(terms), false);
}

// --- updates ---

void Simulator::update(const Update& u) {
  auto t = static_cast<size_t>(u.tensor);
  const auto& shape = binding_.shapes[t];
  loop(u.binders, 0, [&] {
    if (u.filter && !eval(u.filter).truth) return;
    bool inside = true;
    int64_t at = 0;
    for (size_t i = 0; i < u.subscripts.size(); ++i) {
      int64_t s = eval(u.subscripts[i]).whole;
      if (s < 0 || s >= shape[i]) {
        inside = false;
        note(u.subscripts[i], program_.tensors[t].name, i, true);
      }
      if (inside) at = at * shape[i] + s;
    }
    Value v = quern::kind(arguments_.type(t)) == Kind::kReal ? number(u.value) : eval(u.value);
    if (!inside) return;
    if (u.value->kind == Kind::kBool) v.whole = v.truth;
    auto element = static_cast<size_t>(at);
    if (u.add) {
      added_[t][at].push_back(v);
      tensors_.whole[t][element] = wrap(static_cast<Wide>(tensors_.whole[t][element]) + v.whole);
    } else {
      bool wide = v.wide || !random_ || v.literal;
      tensors_.real[t][element] = as(v, wide);
      tensors_.whole[t][element] = v.whole;
    }
  });
}

void Simulator::finish(size_t t) {
  ScalarType to = arguments_.type(t);
  bool wide = to == ScalarType::f64 || !random_;
  for (auto& [at, values] : added_[t]) {
    std::vector<double> terms{tensors_.real[t][static_cast<size_t>(at)]};
    for (const Value& v : values) terms.push_back(as(v, wide));
    tensors_.real[t][static_cast<size_t>(at)] = sum(std::move(terms), wide);
  }
  if (quern::kind(to) == Kind::kReal) {
    for (double& v : tensors_.real[t]) v = round_to(to, v);
  } else {
    for (int64_t& v : tensors_.whole[t]) v = wrap_to(to, v);
  }
}

}  // namespace quern::expr::test
