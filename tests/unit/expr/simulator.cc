#include "simulator.h"

#include <algorithm>
#include <cmath>

#include "base/philox.h"
#include "simulator_loop.h"

namespace quern::expr::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

double single(double v) { return static_cast<double>(static_cast<float>(v)); }

__extension__ typedef __int128 Wide;  // exact, then wrapped
int64_t wrap(Wide v) { return static_cast<int64_t>(static_cast<uint64_t>(v)); }
int64_t product(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

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

void Simulator::note(const NodePtr& subscript, Symbol tensor, size_t axis, bool write, bool behind) {
  Place place{
      subscript->span.source, subscript->span.begin, subscript->span.end, tensor, static_cast<int>(axis), write};
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
        case Op::kReal:
          out.real = n->real;
          out.literal = true;
          return out;
        case Op::kInf:
          out.real = kInf;
          out.literal = true;
          return out;
        case Op::kNan:
          out.real = kNaN;
          out.literal = true;
          return out;
        default: out.truth = n->op == Op::kTrue; return out;
      }
    case Family::resolved: out.whole = n->op == Op::kIndex ? index(n->id) : binding_.sizes.at(n->name); return out;
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
      out.real = n->op == Op::kAbs     ? std::fabs(out.real)
                 : n->op == Op::kFloor ? std::floor(as(out, out.wide || !random_))
                 : n->op == Op::kCeil  ? std::ceil(as(out, out.wide || !random_))
                                       : std::rint(as(out, out.wide || !random_));
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
    out.whole = from == Kind::kBool  ? wrap_to(to, a.truth)
                : from == Kind::kInt ? wrap_to(to, a.whole)
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
  if (watching_ && program_.tensors[t].role == Role::kInout) reads_.push_back({0, t, at});
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

// --- updates ---

// The element that an instance writes; -1 outside.
int64_t Simulator::element(const Update& u) {
  auto t = static_cast<size_t>(u.tensor);
  const auto& shape = binding_.shapes[t];
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
  return inside ? at : -1;
}

void Simulator::update(const Update& u) {
  auto t = static_cast<size_t>(u.tensor);
  auto number_of = static_cast<size_t>(&u - program_.updates.data());
  loop(u.binders, 0, [&] {
    size_t read_before = reads_.size();
    if (watching_) {
      locals_.clear();
      reductions_.clear();
    }
    bool holds = !u.filter || eval(u.filter).truth;
    if (!holds && !watching_) return;
    int64_t at = element(u);
    Value v;
    if (holds) v = quern::kind(arguments_.type(t)) == Kind::kReal ? number(u.value) : eval(u.value);
    for (size_t r = read_before; r < reads_.size(); ++r) {
      reads_[r].update = number_of;
      reads_[r].own = reads_[r].tensor == t && reads_[r].element == at;
    }
    if (!holds || at < 0) return;
    if (watching_) writes_.push_back({number_of, t, at});
    if (u.value->kind == Kind::kBool) v.whole = v.truth;
    auto place = static_cast<size_t>(at);
    if (u.add) {
      added_[t][at].push_back(v);
      tensors_.whole[t][place] = wrap(static_cast<Wide>(tensors_.whole[t][place]) + v.whole);
    } else {
      bool wide = v.wide || !random_ || v.literal;
      tensors_.real[t][place] = as(v, wide);
      tensors_.whole[t][place] = v.whole;
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
