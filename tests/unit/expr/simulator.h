// A second, independent reading of checked programs, slow and plain: one recursive function over the nodes. It serves
// two laws. *Exactly*, it visits every subscript of every instance and notes which leave their range: what the prover
// calls proved never may. As an *f32 implementation*, it takes every liberty that section 7 of the notation gives
// (orders of sums, fused multiply and add, functions off by what the table says, operands rounded to 16 bits) by the
// throw of dice: the result must lie within the interpreter's bound of the interpreter's value. Asked to, it notes
// which elements of inout tensors each instance reads and writes.
#pragma once

#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "call.h"

namespace quern::expr::test {

class Simulator {
 public:
  struct Place {
    const Source* source;
    uint32_t begin, end;
    Symbol tensor;
    int axis;
    bool write;
    auto operator<=>(const Place& o) const {
      return std::tuple(source, begin, end, tensor.str(), axis, write) <=>
             std::tuple(o.source, o.begin, o.end, o.tensor.str(), o.axis, o.write);
    }
    bool operator==(const Place&) const = default;
  };
  struct Tensors {
    std::vector<std::vector<double>> real;  // by tensor
    std::vector<std::vector<int64_t>> whole;
  };

  // Exact without a random source.
  Simulator(const Program& program, const Binding& binding, const Arguments& arguments, Random* random = nullptr);

  const Tensors& run();
  // Every local at every place of its domain, as if it were stored.
  void visit_locals();
  // Places that were outside, each with the values of the indices in scope, by name.
  using Instances = std::map<Place, std::vector<std::map<std::string, int64_t>>>;
  const Instances& outside() const { return outside_; }
  // Later subscripts of a local where an earlier one was outside, so that nobody looked.
  const Instances& behind() const { return behind_; }
  // What each instance reads of inout tensors (in its bounds: not noted) and writes of them, if asked before run().
  struct Touch {
    size_t update;
    size_t tensor;
    int64_t element;
    bool own = false;  // read: it is the one that this instance writes, or would if its filter held
  };
  void watch() { watching_ = true; }
  const std::vector<Touch>& reads() const { return reads_; }
  const std::vector<Touch>& writes() const { return writes_; }

 private:
  struct Value {
    int64_t whole = 0;
    double real = 0;
    bool truth = false;
    bool wide = false;     // f64
    bool literal = false;  // takes the precision of its operation
  };

  Value eval(const NodePtr& n);
  Value eval_node(const NodePtr& n);
  bool is_wide(const NodePtr& n);
  Value number(const NodePtr& n);  // integers converted, not yet rounded: see as()
  static double as(const Value& v, bool wide);
  Value real(double v, bool wide);
  Value arithmetic(const NodePtr& n);
  Value whole_arithmetic(const NodePtr& n);
  Value function(const NodePtr& n);
  Value compare(const NodePtr& n);
  Value cast(const NodePtr& n);
  Value extremum(const NodePtr& n);
  Value read(const NodePtr& n);
  Value local(const NodePtr& n);
  Value within(const NodePtr& n);
  Value reduce(const NodePtr& n);
  Value reduce_fresh(const NodePtr& n);
  double sum(std::vector<double> terms, bool wide);
  double contracted(const NodePtr& n);
  double perturbed(double v, int units, bool wide);
  bool dice(double p = 0.5) { return random_ && chance(*random_, p); }
  template <class Body>
  void loop(const std::vector<Binder>& binders, size_t depth, Body&& body);
  int64_t& index(IndexId id) { return indices_[static_cast<size_t>(id)]; }
  void note(const NodePtr& subscript, Symbol tensor, size_t axis, bool write, bool behind = false);
  void update(const Update& u);
  int64_t element(const Update& u);
  void finish(size_t tensor);

  const Program& program_;
  const Binding& binding_;
  const Arguments& arguments_;
  Random* random_;
  std::vector<int64_t> indices_;
  std::set<IndexId> bound_;
  Tensors tensors_;
  std::vector<std::map<int64_t, std::vector<Value>>> added_;  // '+=' terms of each element
  std::map<std::pair<int32_t, std::vector<int64_t>>, Value> locals_;
  std::map<std::pair<const Node*, std::vector<int64_t>>, Value> reductions_;
  std::unordered_map<const Node*, std::vector<IndexId>> free_;
  std::unordered_map<const Node*, bool> wide_;
  Instances outside_, behind_;
  bool watching_ = false;
  std::vector<Touch> reads_, writes_;
};

}  // namespace quern::expr::test
