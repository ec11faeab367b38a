// A program of the notation, its derivation, and the ways to run it: as written, serial in tiles, split and merged,
// and as a prefix continued.
#pragma once

#include <memory>
#include <string>

#include "evaluate.h"
#include "fuse/derive.h"
#include "fuse/graph.h"

namespace quern::fuse {

using Outputs = std::vector<std::vector<double>>;

struct Program {
  std::string text;                      // one kernel, or kernels/file.qn:kernel
  std::map<std::string, int64_t> sizes;  // of dimensions that are chosen
  std::string axis = "n";                // that is streamed
  Rules rules;
};

class Derived {
 public:
  explicit Derived(const Program& program);

  // A tensor's elements, row-major; drawn from the generator at first.
  Tensor& tensor(const std::string& name);
  void draw(uint64_t seed);

  Outputs written(bool exact);  // in long double, or as a plain double program
  Outputs serial(int64_t tile);
  Outputs split(const std::vector<int64_t>& cuts, uint64_t order);  // parts [0, c0), [c0, c1), …, [c, N)
  Outputs cascade(int64_t prefix, int64_t tile);
  // merge(init, S) == S, bit for bit.
  bool identity_merges();

  // The derived program at stage `lowered`.
  tile::Program program() const;

  std::string error;        // why there is no derivation
  std::string other_merge;  // what the merge read off the step (fuse/merge_step.h) did otherwise
  Derivation derivation;
  Lowered lowered;
  Graph graph;
  Facts facts;
  tile::AxisId streamed = -1;
  int64_t extent = 0;

 private:
  using Value = Evaluator<double>::Value;
  std::vector<Value> merge(const std::vector<std::vector<Value>>& parts);
  void compare_with_step(Evaluator<double>& e, const std::vector<tile::ExprPtr>& states, tile::AxisId axis,
                         const std::vector<tile::Name>& names, const std::vector<Value>& merged);
  Outputs finish(const std::vector<Value>& state);
  std::vector<Value> part(int64_t lo, int64_t hi, int64_t tile, const std::vector<Value>* from);

  std::vector<tile::ExprPtr> outputs_;
  std::vector<tile::Name> names_;
  std::unique_ptr<Namer> namer_;
  World world_;
  std::vector<SourcePtr> sources_;
};

}  // namespace quern::fuse
