#include "place/operands.h"

#include <algorithm>
#include <map>

#include "place/keep.h"
#include "place/strides.h"
#include "tile/extent.h"
#include "tile/rebuild.h"
#include "tile/reductions.h"
#include "tile/scalar_axes.h"

namespace quern::place {

using namespace tile;

namespace {

constexpr int64_t kUnknown = 1024;
constexpr int64_t kRowsForPacking = 16;   // so often must a panel be read
constexpr int64_t kRowsForComputing = 9;  // so often a computed operand: more than one block of rows
constexpr int64_t kNarrow = 3;            // a row of so many register blocks is its own panel

// A block that encloses a dot: where a name can be defined, and which loop leads on from there.
struct Level {
  Block* block = nullptr;
  size_t walks = 0;                                    // how many walks are outside of it
  std::set<int32_t> inside;                            // names that are not there yet
  std::vector<std::pair<ExprPtr, int32_t>> made = {};  // operands that have their place in it
};

class Operands {
 public:
  Operands(const Program& program, Kernel& kernel, const Machine& machine)
      : program_(program), kernel_(kernel), machine_(machine), walks_(kernel.grid) {}

  void run() {
    make_scalar(kernel_, {});
    each_expression(kernel_.body, [&](const ExprPtr& e) {
      for (int32_t name : names_in(e)) ++uses_[name];
    });
    visit(kernel_.body);
  }

 private:
  void visit(Block& block) {
    levels_.push_back({&block, walks_.size(), {}});
    Block out;
    for (Statement& s : block) {
      if (auto* loop = std::get_if<Loop>(&s.is)) {
        size_t outer = walks_.size();
        walks_.insert(walks_.end(), loop->walks.begin(), loop->walks.end());
        // The bodies stay where they are, so that the levels can point to them.
        visit(loop->body);
        walks_.resize(outer);
      } else if (auto* branch = std::get_if<If>(&s.is)) {
        visit(branch->body);
      } else if (auto* let = std::get_if<Let>(&s.is)) {
        plain_[let->name] = let->value;
        if (row(*let->value).family == Family::dot) {
          for (Statement& made : shaped(*let)) before_[let->name].push_back(std::move(made));
        }
      }
    }
    for (Statement& s : block) {
      if (auto* let = std::get_if<Let>(&s.is)) {
        if (unused_.contains(let->name)) continue;
        for (Statement& made : before_[let->name]) out.push_back(std::move(made));
      }
      out.push_back(std::move(s));
    }
    block = std::move(out);
    // What packing reads is there from the start of its block, which stays where it is until it is complete.
    if (auto front = fronts_.find(&block); front != fronts_.end()) {
      block.insert(block.begin(), front->second.begin(), front->second.end());
      fronts_.erase(front);
    }
    levels_.pop_back();
  }

  int64_t count(AxisSet axes, size_t walks) const {
    int64_t out = 1;
    std::vector<Walk> outer(walks_.begin(), walks_.begin() + static_cast<ptrdiff_t>(walks));
    for (AxisId a : axes.list()) {
      int64_t most = std::max<int64_t>(1, most_indices(program_, kernel_, outer, a).value_or(kUnknown));
      if (__builtin_mul_overflow(out, most, &out)) return int64_t{1} << 60;
    }
    return out;
  }

  static bool is_bare(const ExprPtr& e) { return e->op == Op::kName || e->op == Op::kLoad; }

  // Statements to stand in front of the dot, whose operands are changed.
  Block shaped(Let& let) {
    Block made;
    Expr e = *let.value;
    AxisSet all = e.args[0]->axes | e.args[1]->axes | e.over | e.axes;
    std::vector<ExprPtr> args = e.args;
    for (int i = 0; i < 2; ++i) {
      // A name for a load is the load; a map that only this dot uses, for few rows, is computed in their block.
      if (args[i]->op != Op::kName) continue;
      auto it = plain_.find(args[i]->id);
      if (it == plain_.end()) continue;
      const ExprPtr& value = it->second;
      bool load = value->op == Op::kLoad && !value->guard;
      bool few = count(all - args[i]->axes, walks_.size()) < kRowsForComputing && uses_[args[i]->id] == 1;
      if (!load && (!few || is_reduction(*value))) continue;
      if (--uses_[args[i]->id] == 0) unused_.insert(args[i]->id);
      args[i] = value;
    }
    int columns = column_side(e, args);
    for (int i = 0; i < 2; ++i) {
      int64_t repeats = count(all - args[i]->axes, walks_.size());
      if (!is_bare(args[i]) && repeats >= kRowsForComputing) {
        args[i] = shared(made, args[i], "operand");
      } else if (i == columns && args[i]->op == Op::kLoad && repeats >= kRowsForPacking && wants_panels(e, args, i)) {
        args[i] = packed(args[i], made);
      }
    }
    let.value = with_args(e, args, e.guard);
    return made;
  }

  ExprPtr named(Block& made, const ExprPtr& value, std::string_view like) {
    int32_t id = new_name(kernel_, Symbol(like), value->type, value->axes);
    made.push_back({Let{id, value}});
    return use(kernel_, id);
  }

  // The same, in the block of the dot; what two dots of it take (gate and up of an MLP) is made once.
  ExprPtr shared(Block& made, const ExprPtr& value, std::string_view like) {
    for (const auto& [known, id] : levels_.back().made) {
      if (equal(known, value)) return use(kernel_, id);
    }
    ExprPtr out = named(made, value, like);
    levels_.back().made.emplace_back(value, out->id);
    return out;
  }

  // Which operand has the columns: the one whose own axis lies side by side in a store of the result, else the second.
  int column_side(const Expr& e, const std::vector<ExprPtr>& args) const {
    AxisSet a = args[0]->axes - args[1]->axes - e.over, b = args[1]->axes - args[0]->axes - e.over;
    if (b.empty()) return 0;
    if (a.empty()) return 1;
    int side = 1;
    each_store(kernel_.body, [&](const Store& store) {
      for (AxisId axis : a.list()) {
        if (along(program_, store.parameter, store.subscripts, axis) == Along::unit) side = 0;
      }
    });
    return side;
  }

  template <class F>
  static void each_store(const Block& block, const F& see) {
    for (const Statement& s : block) {
      if (const auto* store = std::get_if<Store>(&s.is)) see(*store);
      if (const auto* loop = std::get_if<Loop>(&s.is)) each_store(loop->body, see);
      if (const auto* branch = std::get_if<If>(&s.is)) each_store(branch->body, see);
    }
  }

  bool wants_panels(const Expr& e, const std::vector<ExprPtr>& args, int side) const {
    const Expr& load = *args[side];
    // What is tested or guarded is read where the program reads it.
    if (load.guard || load.checked != 0) return false;
    AxisSet own = load.axes - args[1 - side]->axes - e.over;
    int64_t columns = count(own, walks_.size());
    if (columns < machine_.lanes(ScalarType::f32)) return false;
    bool side_by_side = false;
    for (AxisId axis : own.list()) {
      side_by_side = side_by_side || along(program_, load.id, load.args, axis) == Along::unit;
    }
    if (!side_by_side) return true;
    auto width = load.args.empty() ? std::nullopt : constant(program_, program_.parameters[load.id].shape.back());
    const DotRule* rule = machine_.dot(load.type, e.type);
    int64_t block = rule ? rule->n : 3 * machine_.lanes(ScalarType::f32);
    return width.value_or(kUnknown) > kNarrow * block;
  }

  // In front of the outermost block that all it needs is known in and where it fits.
  ExprPtr packed(const ExprPtr& load, Block& made) {
    size_t best = levels_.size() - 1;
    for (size_t i = levels_.size() - 1; i-- > 0 && names_in(load).empty();) {
      // Each loop from here on that the load doesn't mention uses the panel again.
      AxisSet walked;
      for (size_t w = levels_[i].walks; w < levels_[i + 1].walks; ++w) walked |= AxisSet::of(walks_[w].axis);
      if (!(axes_mentioned(load) & kernel_.scalar & walked).empty()) break;
      bool known = true;
      std::vector<Walk> outer(walks_.begin(), walks_.begin() + static_cast<ptrdiff_t>(levels_[i].walks));
      for (AxisId a : load->axes.list()) known = known && most_indices(program_, kernel_, outer, a).has_value();
      int64_t bytes = byte_size(load->type, std::min(count(load->axes, levels_[i].walks), int64_t{1} << 50));
      if (!known || bytes > 8 * machine_.near_bytes) break;
      if ((walked & load->axes).empty()) best = i;
    }
    if (best + 1 == levels_.size()) return shared(made, load, "panel");
    // One panel serves all pieces of a loop.
    for (const auto& [known, id] : panels_[best]) {
      if (equal(known, load) && known_blocks_[id] == levels_[best].block) return use(kernel_, id);
    }
    Block front;
    ExprPtr out = named(front, load, "panel");
    panels_[best].emplace_back(load, out->id);
    known_blocks_[out->id] = levels_[best].block;
    auto& at_front = fronts_[levels_[best].block];
    at_front.insert(at_front.end(), front.begin(), front.end());
    return out;
  }

  const Program& program_;
  Kernel& kernel_;
  const Machine& machine_;
  std::vector<Walk> walks_;
  std::vector<Level> levels_;
  std::map<int32_t, int> uses_;       // statements that use a name
  std::set<int32_t> unused_;          // what stands in the dots now
  std::map<int32_t, ExprPtr> plain_;  // values of Lets in scope
  std::map<int32_t, Block> before_;
  std::map<Block*, Block> fronts_;
  std::map<size_t, std::vector<std::pair<ExprPtr, int32_t>>> panels_;
  std::map<int32_t, Block*> known_blocks_;
};

}  // namespace

Result<Program> operands(const Program& tiled, const Machine& machine) {
  Program out = tiled;
  for (Kernel& kernel : out.kernels) Operands(tiled, kernel, machine).run();
  return out;
}

}  // namespace quern::place
