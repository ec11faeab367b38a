// The state of one function that is being emitted, and the parts that emit it:
//
//   emit.cc        the three functions, the grid
//   statements.cc  loops, carries, ifs, keeps
//   near.cc        near memory: sizes, addresses by layout
//   nest.cc        block loops, strips, accumulators
//   dot.cc         dot products of small types in one instruction
//   accumulate.cc  reductions inside of strips
//   cut.cc         how a range is cut into blocks and their tails
//   expression.cc  values, by family
//   access.cc      addresses, loads, stores, checks
//   across.cc      loads of squares that are turned in registers
//   threads.cc     what is different where lanes are threads of a warp and a core is a thread block
//
// In a nest a value is asked for at a *position*: which of the unrolled indices of each block axis, which vector of the
// axis in lanes. It is a vector exactly if it has the axis in lanes, else a scalar.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "target/convert.h"
#include "target/features.h"
#include "target/ir_text.h"
#include "tile/program.h"
#include "tile/range.h"

namespace quern::target {

// What an axis is at this place of the program.
struct AxisNow {
  Value low, high;               // the indices now in range, high exclusive
  std::vector<int64_t> extents;  // all that high - low can be; empty: not known
  std::optional<Value> index;    // walked one at a time: where it stands
  // In a nest: `count` positions from `base` on; rel = base - low is a multiple of `align`.
  bool in_nest = false, strip = false, lanes = false;
  int count = 1;
  int64_t align = 1;
  Value base, rel;
  std::optional<Value> mask;  // of the last vector, if it is not full
};

// An integer that is linear in the lane number: sum of terms + constant + lane * the lane's number + vector.
struct Linear {
  std::vector<std::pair<Value, Value>> terms;  // scalar, factor; all i64
  int64_t constant = 0;
  Value lane = i64(0);
  std::optional<Value> vector;  // i64 lanes
  bool is_scalar() const { return lane.is(0) && !vector; }
};

// A name in near memory.
struct Near {
  Value pointer;
  ScalarType type = ScalarType::f32;
  std::vector<tile::Digit> digits;    // innermost first
  std::vector<Value> strides;         // of each, in elements
  std::map<tile::AxisId, Value> low;  // where the axes began when it was defined
  bool defined = false;
};

// One stretch of a range: blocks of `count` positions from `begin` on while they are below `end`.
struct Cut {
  Value begin, end;  // relative to the range's low end
  int count = 1;
  int64_t align = 1;
  bool masked = false;   // the last vector
  bool certain = false;  // there is at least one
  bool once = false;     // there is exactly one
};

struct Accumulator {
  const tile::Expr* reduction = nullptr;
  std::vector<std::vector<int>> positions;
  int parts = 1;                          // independent chains a position, by the strip's position
  std::vector<Value> values;              // position * parts + part
  int turn = 0;                           // which part is next
  std::vector<std::vector<int>> pending;  // positions of the strip that wait for their neighbours
};

class Emitter {
 public:
  Emitter(const tile::Program& program, const tile::Kernel& kernel, const Features& has, Writer& writer);

  void emit_kernel();
  void emit_points();
  std::optional<int64_t> emit_arena();  // the number of bytes, if that does not depend on dimensions

 private:
  using Expr = tile::Expr;
  using ExprPtr = tile::ExprPtr;
  using AxisId = tile::AxisId;

  // --- emit.cc
  void start();
  Value dim(int32_t id);
  Value parameter(int32_t id);
  const std::vector<Value>& strides(int32_t parameter);
  struct GridAxis {
    const tile::Walk* walk;
    Value low, high, trips;
  };
  std::vector<GridAxis> flat_grid(std::vector<const tile::Walk*>& rest);
  void walk_rest(const std::vector<const tile::Walk*>& rest, size_t next);
  std::pair<Value, Value> range_of(const tile::Walk& walk);
  void enter(const tile::Walk& walk, const Value& at, const Value& low, const Value& high);

  // --- statements.cc
  void block(const tile::Block& block);
  void statement(const tile::Statement& s);
  void loop(const tile::Loop& loop);
  void loop_walks(const tile::Loop& loop, size_t next);
  void store_whole(const Near& to, const ExprPtr& value, tile::AxisSet axes);
  bool in_place(const tile::Loop& loop, const tile::Carry& carry) const;

  // --- near.cc
  Value plan_near();  // reserves all near memory; bytes in all
  void reserve(const tile::Block& block, std::vector<Value> extents, Value& used);
  std::vector<Value> whole_extents();
  Value widest(const tile::Walk& walk, const std::vector<Value>& extents);
  void define(int32_t name);
  Linear near_address(const Near& near);
  int64_t alignment(const AxisNow& now, const Value& low) const;
  int64_t multiple_of(const ExprPtr& e, const ExprPtr& below);

  // --- nest.cc
  void nest(const tile::Nest& nest);
  int lanes_of(const tile::Nest& nest) const;
  std::vector<int> key(tile::AxisSet axes) const;
  void nest_blocks(size_t next);
  void stand(AxisNow& now, const Cut& c, const std::optional<Writer::Loop>& loop);
  void nest_body();
  void strips(size_t next);
  void each_position(tile::AxisSet axes, bool strip_axes, const std::function<void()>& visit);
  void run(const tile::Statement& s);

  // --- threads.cc
  void shared_nest();
  void deal(AxisNow& now, const Cut& c, int64_t step, size_t next);
  Value joined_lanes(tile::Op op, bool nan_ignored, Value v);
  Value first_thread();
  void all_lanes_here();
  bool of_one_warp(const tile::Store& s) const;
  void barrier();

  // --- accumulate.cc
  Value identity(const Expr& reduction, Type type);
  Value combine(tile::Op op, bool nan_ignored, const Value& a, const Value& b);
  void weighed_strips(size_t first);
  void strip_body();
  void accumulate(Accumulator& a, size_t position);
  void finish(Accumulator& a);

  // --- dot.cc
  void find_multiplied();
  std::optional<Value> narrowed(const Expr& cast);
  int taken_together(const Accumulator& a) const;
  void take_pending(Accumulator& a);

  // --- cut.cc
  std::vector<Cut> cut(AxisId axis, int64_t size, bool near_equal);
  bool equal_parts_allowed(AxisId axis) const;

  // --- expression.cc
  Value value(const ExprPtr& e);
  Value compute(const ExprPtr& e);
  Value scalar(const ExprPtr& e);  // of rank 0, outside nests
  Value spread(const Value& v);    // in all lanes
  Type type_of(const Expr& e) const;
  bool in_lanes(const Expr& e) const { return lane_axis_ >= 0 && e.axes.has(lane_axis_); }
  bool fits_i32(const ExprPtr& e);
  Base integer_base(const Expr& e, bool vector);
  Value arithmetic(const Expr& e);
  Value bit_operation(const Expr& e);
  Value rounding(const Expr& e);
  Value function(const ExprPtr& e);
  Value divide(const ExprPtr& a, const ExprPtr& b, bool remainder, Base base, int lanes);
  Value named(const Expr& e);
  Value axis_index(AxisId axis);
  void both(Value& a, Value& b);  // equal lanes
  void as_integers(const Expr& e, Value& a, Value& b);

  // --- access.cc
  Linear linear(const ExprPtr& e);
  Value scalar_of(const Linear& l);
  Value value_of(const Linear& l);  // i64, a vector if it has lanes
  Value pointer_to(const Value& base, const Linear& l, int bytes);
  std::optional<Value> lane_mask() const;
  Value unknown_truth();
  Linear element(int32_t parameter, const std::vector<ExprPtr>& subscripts);
  std::optional<Value> allowed(const ExprPtr& guard, const std::vector<ExprPtr>& subscripts, uint32_t checked,
                               int32_t parameter, int32_t site);
  std::optional<Value> both_hold(std::optional<Value> a, std::optional<Value> b);
  void report(const Value& fails, const Value& value, const Value& extent, int32_t site, int subscript);
  Value load(const Expr& e);
  Value load_at(ScalarType type, const Value& base, const Linear& at, std::optional<Value> mask, bool movable);
  Value load_nibbles(const Value& base, const Linear& at, std::optional<Value> mask, bool movable);
  void store(const tile::Store& s);
  void store_at(ScalarType type, const Value& base, const Linear& at, Value value, std::optional<Value> mask);
  void store_nibbles(const Value& base, const Linear& at, Value value, std::optional<Value> mask);
  void add_at(const tile::Store& s, const Value& base, const Linear& at, Value value, std::optional<Value> mask);
  void each_lane(const Linear& at, const Value& base, int bytes, std::optional<Value> mask,
                 const std::function<void(const Value&, int)>& visit);
  bool even(const Linear& at) const;

  // --- across.cc
  std::optional<Value> load_across(const Expr& e);

  const tile::Program& program_;
  const tile::Kernel& kernel_;
  const Features& has_;
  Writer& w_;
  tile::Ranges ranges_;
  std::vector<AxisNow> axes_;
  std::map<int32_t, std::vector<Value>> strides_;
  std::vector<bool> written_;         // parameters that this kernel stores to
  std::set<const Expr*> multiplied_;  // casts to bf16 that only vdpbf16ps reads
  std::map<int32_t, Value> scalars_;
  std::map<int32_t, ExprPtr> scalar_values_;  // what they were computed from
  std::map<int32_t, Near> near_;
  std::map<const Expr*, int32_t> kept_;  // reductions that stand in near memory: by which name
  bool in_kernel_ = false;  // not in a function of sizes
  Value point_;             // of the grid
  // Where steps of a walk begin: at a multiple of its size from where the walk began.
  std::map<std::string, std::pair<std::string, int64_t>> steps_;
  std::string arena_ = "null";

  // the nest that is being emitted
  const tile::Nest* nest_ = nullptr;
  std::vector<tile::NestAxis> nest_axes_;
  AxisId lane_axis_ = -1;
  int lanes_ = 0;  // indices that a vector takes
  int width_ = 0;  // lanes of its type: these, or kThreads
  std::map<int32_t, ExprPtr> lets_;
  std::vector<int> at_;  // the position, by axis
  std::vector<std::map<std::pair<const Expr*, std::vector<int>>, Value>> known_;
  std::vector<Accumulator> accumulators_;
  std::vector<const tile::Statement*> strip_statements_;
  AxisId dealt_axis_ = -1;     // whose blocks warps take turns at; -1: one warp does the nest
  int64_t turns_ = 0;          // single blocks that were dealt
  bool only_present_ = false;  // elements of weight -0 are left out
  std::map<std::pair<const Expr*, std::vector<int>>, Value> reduced_;
};

// A fault of whoever made the program; a target makes a B001 of it (not_laid). Never leaves target/.
struct NotLaid {
  std::string what;
};
Diagnostic not_laid(const tile::Kernel& kernel, const NotLaid& fault);

// The two functions of a kernel's sizes, "<entry>_points" and "<entry>_arena", for the processor that launches it;
// gives the bytes of near memory if they don't depend on dimensions.
std::optional<int64_t> emit_sizes(const tile::Program& program, const tile::Kernel& kernel, const Features& has,
                                  const std::string& entry, Module& module);

}  // namespace quern::target
