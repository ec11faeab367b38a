// The streaming derivation: reductions over one range that read each other's results, as the fewest passes over it.
//
//     m = max s;  l = sum exp(s - m);  o = sum exp(s - m) / l * v        three passes as written
//     m, l, a carried, rescaled when m grows;  o = a / l                 one pass, derived
//
// Nothing about softmax is built in. A later sum is split into sums of terms without earlier results,
// `sum f(x, r) = Σ c_k(r) * sum u_k(x)`; each raw sum is kept in a representation that neither overflows nor cancels,
// scaled by a running exponent (a *gauge*) or taken about a running *centre*; gauge and centre may be any finite value,
// because the number that is represented does not change when they move. One rule, `combine`, gives the step over a
// tile, the merge of parts and both at once. The source's results are expressions of the raw sums, evaluated once
// (*finish*), with exponents cancelled as symbols. docs/derivation.md tells the algebra.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "tile/program.h"

namespace quern::fuse {

namespace algebra {
class Algebra;
}

// What is known of sizes and ranges; both must outlive the derivation.
struct Facts {
  const tile::Program* program = nullptr;
  const std::vector<tile::Axis>* axes = nullptr;
};

// Rules that a test may switch off, to see that its suite notices; all on otherwise.
struct Rules {
  bool rescale = true;        // old accumulators move to the new gauge
  bool raw_old_gauge = true;  // the correction takes the old gauge as it is; off: finite
  bool finite_gauge = true;   // the new gauge is made finite
  bool binomials = true;      // old moments move to the new centre
  bool drop_guards = true;    // `h > -inf` beside exp(h) is dropped
  bool first_moment = true;   // a centre that is a mean is corrected by the first moment about it
  bool running_count = true;  // a static size in a centre is replaced by the running count
  bool stepped_gauge = true;  // gauges that cancel move in steps of 8 powers of two
};

// A running exponent.
struct Gauge {
  bool constant = false;
  double value = 0;      // constant
  int extremum = -1;     // the accumulator (max or min) that it follows
  bool stepped = false;  // 8 * ceil(m * log2(e) / 8), in powers of two; otherwise the extremum itself
  bool invented = false;
};

// What a difference (y + rho)^j is taken about: rho follows earlier results.
struct Centre {
  std::vector<tile::ExprPtr> y;  // parts, added
  tile::ExprPtr rho;             // over results, as the source has it
  tile::ExprPtr running;         // what is kept instead while the pass runs; null: rho
  tile::ExprPtr stored;          // over stored accumulators
};
struct Difference {
  int centre = -1;
  int power = 1;
};

// `sum exp(k * (h - g)) * w * (y + rho)^j` over elements where the guard holds, or another reduction of w.
struct Accumulator {
  tile::Op op = tile::Op::kSum;
  ScalarType type = ScalarType::f32;
  tile::AxisSet axes;
  tile::ExprPtr guard;                           // null: everywhere
  std::vector<tile::ExprPtr> weights, divisors;  // factors, as written; none: 1
  tile::ExprPtr exponent;                        // h; null: none
  double k = 1;
  int gauge = -1;
  bool masked = false;   // elements may be left out, by the guard or by an h that is -inf there
  bool careful = false;  // an element of weight 0 may have an infinite factor and is skipped
  std::vector<Difference> differences;
  // (y / a)^power besides, a the running maximum of |y|: squares that neither overflow nor vanish.
  int amplitude = -1;  // the accumulator of a
  int amplitude_power = 0;
  tile::ExprPtr amplitude_of;  // y
  // Only elements whose key equals this result (a maximum, a minimum, a selected index), emptied when it changes.
  tile::ExprPtr key, selected;  // selected: over results
  tile::ExprPtr selected_stored;
  bool unordered = false;  // a key that is NaN counts as equal to a result that is NaN
  int level = 0;
  bool live = true;
};

// A reduction of the source and what it is in terms of the accumulators.
struct Answer {
  tile::ExprPtr reduction;
  tile::ExprPtr finish;  // exact algebra, over raw sums
  tile::ExprPtr value;   // as computed, over stored accumulators
};

struct Pass {
  std::vector<Accumulator> accumulators;
  std::vector<Gauge> gauges;
  std::vector<Centre> centres;
  std::vector<Answer> answers;
};

struct Derivation {
  std::shared_ptr<algebra::Algebra> algebra;
  tile::AxisSet streamed;
  bool regroups = true;  // their range is long enough that sums may take factors out
  std::vector<Pass> passes;
  // What replaces the outputs: over stored accumulators of the last pass and answers of earlier ones (reductions).
  std::vector<tile::ExprPtr> outputs;
  Diagnostics remarks;  // why something waits (R20), or is written per element (R22)
  Rules rules;
};

// Derives the outputs' reductions over `streamed` (one axis, or several that are always reduced together). Outputs are
// free of these axes outside reductions. Fails with R21 where an element is compared with all others.
Result<Derivation> derive(const std::vector<tile::ExprPtr>& outputs, tile::AxisSet streamed, const Facts& facts,
                          const Rules& rules = {});

// Names of a kernel: makes new ones.
class Namer {
 public:
  explicit Namer(std::vector<tile::Name>& names) : names_(names) {}
  int32_t add(std::string_view hint, ScalarType type, tile::AxisSet axes);

 private:
  std::vector<tile::Name>& names_;
};

// One pass as statements: a loop over the streamed axes, whole, and the state that it carries.
struct LoweredPass {
  tile::Block before;  // values that the loop needs (answers of earlier passes)
  tile::Loop loop;
  std::vector<int32_t> state;    // by live accumulator, in order of level: its name in the kernel
  std::vector<int> accumulator;  // and its place in Pass::accumulators
};
struct Lowered {
  std::vector<LoweredPass> passes;
  tile::Block finish;                  // after the last loop
  std::vector<tile::ExprPtr> outputs;  // in the order of the originals
};
Lowered lower_derivation(const Derivation& derivation, Namer& namer);

// The statements of all passes and the finish in order.
tile::Block block_of(const Lowered& lowered);

// `combine` with the tile empty: states of the parts, each with the axis `parts` besides its own, become one state.
struct Merged {
  tile::Block body;
  std::vector<tile::ExprPtr> state;
};
Merged merge_parts(const Derivation& derivation, int pass, const std::vector<tile::ExprPtr>& states, tile::AxisId parts,
                   Namer& namer);
// The outputs (last pass) from a state that lies elsewhere, such as a merged one.
Lowered finish_from(const Derivation& derivation, const std::vector<tile::ExprPtr>& state, Namer& namer);

// The algebra, step by step. `program` and `axes` name what is loaded and summed over.
std::string print(const Derivation& derivation, const Facts& facts);

// What must hold of a derivation whatever it was derived from (docs/derivation.md, "verifier"): an error is ours.
Result<void> verify(const Derivation& derivation);

}  // namespace quern::fuse
