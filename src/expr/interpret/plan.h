// A program made ready to be evaluated for one binding: dimensions are numbers, types are known, indices are slots of
// one array. Structure is the program's own; sharing of nodes is kept.
#pragma once

#include <deque>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/running_error.h"
#include "expr/bind.h"
#include "expr/contraction.h"
#include "expr/program.h"

namespace quern::expr {

struct Step;  // one node

struct Range {
  int slot = 0;
  const Step* lo = nullptr;  // null: 0
  const Step* hi = nullptr;
  // A bound by data is cut to the dimension in which the index surely stands bare, once a loop.
  int64_t limit = -1;         // -1: none
  Symbol limited_by;          // the tensor that has that dimension
  bool limits_write = false;  // … on the left of an update
};

struct SumParts {  // of a contraction
  struct Factor {
    const Step* value;
    int operand;
    bool inverse;
    bool hoisted;                // may be taken out of the sum, or of a block of it
    bool apart;                  // or of the sum over one of its indices
    std::vector<Factor> inside;  // of an unannotated local that is a product, with the local's indices
  };
  std::vector<Factor> factors;  // as they stand in the body, left to right
  std::vector<Op> body;         // how they stand there: postfix, kRead for the next factor
  bool computed[2] = {false, false};
  ScalarType type{};     // what computed operands may be rounded to
  double unit = 0;       // its unit roundoff; 0: no rounding
  double underflow = 0;  // its absolute error near zero
  double largest = 0;    // its largest number
  bool flushes = false;  // what is below f32's least normal number may count as 0
};

// A sum whose terms hold the product of gates from their index on: Horner's rule may compute it, so that gates multiply
// partial sums.
struct GatedSum {
  struct Factor {
    const Step* value;
    bool inverse;
  };
  const Step* gates;           // the product
  std::vector<Factor> others;  // the other factors of a term
};

struct Step {
  Op op = Op::kInteger;
  Family family = Family::literal;
  Kind kind = Kind::kInt;
  double unit = kSingle;     // roundoff of the precision this is done in
  ScalarType type{};         // of a cast; of what is read
  bool nonnegative = false;  // a real that no rounding makes negative (or it is NaN)
  bool masks = false;        // where it is 0, what it is multiplied with may be absent: a mask or exp(-inf)
  bool remembered = false;   // the last value is kept for the slots in `free`
  int memo = -1;
  int target = -1;                 // slot, tensor or local
  const int64_t* shape = nullptr;  // of the tensor that is read
  bool result = false;             // which is a result
  union {
    int64_t integer = 0;
    double real;
  };
  std::vector<const Step*> args;
  std::vector<Range> ranges;
  std::vector<int> free;
  const SumParts* parts = nullptr;
  const GatedSum* gated = nullptr;
  const Node* node = nullptr;
  int depth = 1;
};

struct LocalPlan {
  std::vector<Range> ranges;
  const Step* value = nullptr;
  std::optional<ScalarType> type;
  Kind kind = Kind::kReal;
  int depth = 1;
};

struct UpdatePlan {
  const Update* update = nullptr;
  std::vector<Range> ranges;
  const Step* filter = nullptr;
  std::vector<const Step*> subscripts;
  const Step* value = nullptr;
};

struct Plan {
  const Program* program = nullptr;
  const Binding* binding = nullptr;
  std::deque<Step> steps;
  std::deque<SumParts> parts;
  std::deque<GatedSum> gated;
  std::vector<LocalPlan> locals;
  std::vector<UpdatePlan> updates;
  int memos = 0;
};

// E706 for an exact division in a bound that is not whole, E113 for evaluation nested too deep.
Result<Plan> make_plan(const Program& program, const Binding& binding);

}  // namespace quern::expr
