#include "tile/reductions.h"

#include "tile/rebuild.h"

namespace quern::tile {

namespace {

// Takes reductions out of expressions; the Lets for them go to `out`.
class Namer {
 public:
  Namer(Kernel& kernel, Block& out) : kernel_(kernel), out_(out) {}

  // Without any reduction.
  ExprPtr flat(const ExprPtr& e) {
    if (!e || !has_reduction(e)) return e;
    return rebuild(e, [&](const ExprPtr& part) { return is_reduction(*part) ? named(part, row(*part).text) : part; });
  }

  // Without any reduction but `e` itself.
  ExprPtr rooted(const ExprPtr& e) {
    if (!is_reduction(*e)) return flat(e);
    std::vector<ExprPtr> args;
    for (const ExprPtr& a : e->args) args.push_back(flat(a));
    return with_args(*e, std::move(args), e->guard);
  }

  // A name for the value, or what is a name or a constant already.
  ExprPtr name_or_constant(const ExprPtr& e, Symbol like) {
    if (e->op == Op::kName || is_constant_fill(e)) return e;
    ExprPtr value = rooted(e);
    int32_t id = new_name(kernel_, like, value->type, value->axes);
    out_.push_back({Let{id, value}});
    return use(kernel_, id);
  }

 private:
  ExprPtr named(const ExprPtr& value, std::string_view like) {
    for (const auto& [known, id] : known_) {
      if (equal(known, value)) return use(kernel_, id);
    }
    int32_t id = new_name(kernel_, Symbol(like), value->type, value->axes);
    out_.push_back({Let{id, value}});
    known_.emplace_back(value, id);
    return use(kernel_, id);
  }

  Kernel& kernel_;
  Block& out_;
  std::vector<std::pair<ExprPtr, int32_t>> known_;
};

Block named_in(Kernel& kernel, const Block& block);

Loop named_in(Kernel& kernel, const Loop& loop, Namer& outside) {
  Loop out = loop;
  for (Walk& w : out.walks) w.lo = outside.flat(w.lo), w.hi = outside.flat(w.hi);
  for (Carry& c : out.carries) c.init = outside.name_or_constant(c.init, kernel.names[c.name].name);
  out.body = named_in(kernel, loop.body);
  Namer inside(kernel, out.body);
  for (Carry& c : out.carries) c.next = inside.name_or_constant(c.next, kernel.names[c.name].name);
  return out;
}

Block named_in(Kernel& kernel, const Block& block) {
  Block out;
  Namer namer(kernel, out);
  for (const Statement& statement : block) {
    if (const auto* let = std::get_if<Let>(&statement.is)) {
      ExprPtr value = namer.rooted(let->value);
      out.push_back({Let{let->name, value}});
    } else if (const auto* store = std::get_if<Store>(&statement.is)) {
      Store s = *store;
      for (ExprPtr& subscript : s.subscripts) subscript = namer.flat(subscript);
      s.value = namer.flat(s.value);
      s.when = namer.flat(s.when);
      out.push_back({s});
    } else if (const auto* loop = std::get_if<Loop>(&statement.is)) {
      Loop l = named_in(kernel, *loop, namer);
      out.push_back({std::move(l)});
    } else if (const auto* branch = std::get_if<If>(&statement.is)) {
      If b{namer.flat(branch->condition), named_in(kernel, branch->body)};
      out.push_back({std::move(b)});
    } else {
      out.push_back(statement);
    }
  }
  return out;
}

}  // namespace

void name_reductions(Kernel& kernel) { kernel.body = named_in(kernel, kernel.body); }

bool is_reduction(const Expr& e) { return row(e).family == Family::reduce || row(e).family == Family::dot; }

bool has_reduction(const ExprPtr& e) {
  bool found = false;
  each_part(e, [&](const ExprPtr& part) { found = found || is_reduction(*part); });
  return found;
}

bool is_constant_fill(const ExprPtr& e) {
  if (row(*e).family == Family::fill) return is_constant_fill(e->args[0]);
  return row(*e).family == Family::literal;
}

}  // namespace quern::tile
