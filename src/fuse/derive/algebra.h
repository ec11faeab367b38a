// The algebra of the streaming derivation: terms are tile expressions, interned, so that equal terms are one object.
//
// Two kinds of construction. What the derivation makes (results, finishes) goes through the builders below, which fold
// constants and drop zeros and ones. What the source wrote about one element is never rebuilt: it keeps its operations
// and so its rounding. To *compare* such terms there is a normal form, a polynomial over atoms, which is a key only.
//
// Classes of a term, by what it contains outside the scope of reductions: kElement, if it varies along the streamed
// axes; kResult, if it contains a reduction over them that is not finished in an earlier pass; both; or neither.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "fuse/intern.h"
#include "tile/program.h"

namespace quern::fuse::algebra {

using tile::AxisId;
using tile::AxisSet;
using tile::Expr;
using tile::ExprPtr;
using tile::Family;
using tile::Op;

inline constexpr int kElement = 1;
inline constexpr int kResult = 2;

// Names that stand for what the derivation introduces, not for names of a kernel: raw values of accumulators, their
// stored values, gauges. Their ids are kSymbols and up.
inline constexpr int32_t kSymbols = 1 << 24;
inline constexpr int32_t kSymbolKind = 1 << 20;
enum class Symbols : int32_t { kRaw = 0, kStored = 1, kGauge = 2, kAnswer = 3 };

// coefficient * product of factors, each an atom or the reciprocal 1 / atom; factors sorted by age.
struct Monomial {
  double coefficient = 0;
  std::vector<ExprPtr> factors;
};
using Poly = std::vector<Monomial>;  // sorted; no two with equal factors

class Algebra {
 public:
  explicit Algebra(AxisSet streamed) : n(streamed) {}

  const AxisSet n;                           // the streamed axes
  std::unordered_set<const Expr*> finished;  // reductions over n that earlier passes have computed
  std::vector<ExprPtr> results;              // the same, in order
  void finish(const ExprPtr& reduction);     // adds to `finished`

  // Interns a whole tree; reductions over more than n are split into one over n of one over the rest.
  ExprPtr take(const ExprPtr& e);
  ExprPtr take_as_is(const ExprPtr& e);  // without splitting
  int class_of(const ExprPtr& e);
  bool is_answer(const ExprPtr& e) const;  // a reduction over n
  uint32_t age(const ExprPtr& e);

  ExprPtr number(double value, ScalarType type);
  ExprPtr symbol(Symbols kind, int32_t index, ScalarType type, AxisSet axes);
  ExprPtr apply(Op op, std::vector<ExprPtr> args);  // interned as it is
  ExprPtr add(const ExprPtr& a, const ExprPtr& b);
  ExprPtr sub(const ExprPtr& a, const ExprPtr& b);
  ExprPtr mul(const ExprPtr& a, const ExprPtr& b);
  ExprPtr div(const ExprPtr& a, const ExprPtr& b);
  ExprPtr neg(const ExprPtr& a);
  ExprPtr exp(const ExprPtr& a);
  ExprPtr power(const ExprPtr& a, double exponent);
  ExprPtr select(const ExprPtr& c, const ExprPtr& then, const ExprPtr& otherwise);
  ExprPtr both(const ExprPtr& a, const ExprPtr& b);  // and; null is true
  ExprPtr negation(const ExprPtr& c);
  ExprPtr reduce(Op op, AxisSet over, const ExprPtr& body);
  ExprPtr cast(ScalarType type, const ExprPtr& a);

  // `e` with other arguments, folded where a builder folds.
  ExprPtr rebuild(const ExprPtr& e, const std::vector<ExprPtr>& args, const ExprPtr& guard);
  using Map = std::unordered_map<const Expr*, ExprPtr>;
  // `e` with the keys of the map replaced; what is inside reductions over n stays unless `inside`.
  ExprPtr substitute(const ExprPtr& e, const Map& map, bool inside = true);

  Poly poly(const ExprPtr& e);
  ExprPtr expression(const Poly& p, ScalarType type);
  ExprPtr normal(const ExprPtr& e) { return expression(poly(e), e->type); }  // a key, not to be computed
  Poly scaled(Poly p, double by);
  Poly sum(const Poly& a, const Poly& b);

 private:
  void sort(Poly& p);
  Poly product(const Poly& a, const Poly& b);
  Poly compute_poly(const ExprPtr& e);
  ExprPtr substitute(const ExprPtr& e, const Map& map, bool inside, Map& memo);
  ExprPtr made(ExprPtr e);

  Interner intern_;
  std::unordered_map<const Expr*, uint32_t> age_;
  std::unordered_map<const Expr*, int> class_;
  Map taken_;
  std::unordered_map<const Expr*, Poly> poly_;
  std::vector<ExprPtr> kept_;
};

std::optional<double> number_of(const ExprPtr& e);  // of a literal, or of a cast of one
inline bool is_number(const ExprPtr& e, double v) {
  auto x = number_of(e);
  return x && *x == v;
}
bool is_minus_infinity(const ExprPtr& e);
// The binomial coefficient.
double choose(int n, int k);
bool is_real(const ExprPtr& e);
// Is the symbol of that kind; its index.
std::optional<int32_t> symbol_index(const ExprPtr& e, Symbols kind);
// Visits every node once, children first.
void visit(const ExprPtr& e, const std::function<void(const ExprPtr&)>& f);
bool contains(const ExprPtr& e, const std::function<bool(const ExprPtr&)>& f);

}  // namespace quern::fuse::algebra
