// The checker's state: one object a kernel (or function), whose pieces stand in the other files of this folder.
//
// Ranges are inferred while expressions are elaborated: an index that gets no bound collects the dimension or bound
// of every place where it stands bare (a Use), and is resolved when its scope ends.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "expr/check.h"

namespace quern::expr {

// One index while it is in scope.
struct Bound {
  Symbol name;
  IndexId id = kNoIndex;
  Span span;
  std::optional<Domain> domain;  // once known
  struct Use {
    Domain domain;
    std::string owner;  // the tensor, local or function whose position this is
    Span span;
  };
  std::vector<Use> uses;
  bool parameter = false;  // an index parameter of the function being expanded: `[i]` in its body has this range
  bool failed = false;     // its range has been complained about
  size_t position = 0;     // in the stack of open indices
};

// What one index name stands for: usually one index; several when a call gave several binders for one parameter.
using Group = std::vector<Bound*>;

// What a lower-case name means, in kernels (indices) and in functions (everything).
struct Meaning {
  enum class What { kIndex, kForbidden, kValue, kFunction, kPoison } what = What::kPoison;
  Group group;                             // kIndex
  NodePtr value;                           // kValue, and kFunction: the body over the indices of `over`
  std::vector<Group> over;                 // kFunction: one for each subscript
  bool limited = false;                    // kFunction: a local of a function, to be read inside its ranges only (E802)
  const Function* forbidden_by = nullptr;  // kForbidden: the call whose parameter `formal` must not mention it
  size_t formal = 0;
};

struct Environment {
  const Environment* parent;
  Symbol name;
  Meaning meaning;
};

// Where an expression stands.
struct Context {
  const Environment* environment = nullptr;
  const Callable* function = nullptr;  // null: in the kernel, whose tensors and dimensions are visible
  bool captures = false;               // some local of the function depends on its index parameters
};

class Elaborator {
 public:
  explicit Elaborator(const Declarations& declarations) : declarations_(declarations) {}

  Checked kernel(const Kernel& kernel);
  Diagnostics function(const Callable& callable);

 private:
  // --- errors.cc ---
  void report(Diagnostic diagnostic);
  void unknown_name(const NodePtr& node, const Context& context);
  std::string near_name(Symbol name, const Context& context) const;
  std::string what_is(Symbol name, const Context& context) const;  // "tensor", "local", "scalar", "index" or empty
  bool defines(Symbol name, const Context& context) const;         // some definition of the kernel or function does

  // --- expression.cc: each gives null after an error ---
  NodePtr expression(const NodePtr& node, const Context& context);
  NodePtr lower_name(const NodePtr& node, const Context& context);
  NodePtr upper_name(const NodePtr& node, const Context& context);
  NodePtr reduction(const NodePtr& node, const Context& context);
  NodePtr cast(const NodePtr& node, ElementType type, const Context& context);
  NodePtr typed(Op op, std::vector<NodePtr> args, const NodePtr& source);
  bool require_integer(const NodePtr& value, const NodePtr& written, std::string what);

  // --- subscript.cc ---
  struct Subscript {
    NodePtr value;                 // null for several indices, or after an error
    const Group* group = nullptr;  // bare: the index or indices
    Span span;
  };
  NodePtr subscript(const NodePtr& node, const Context& context);
  bool subscripts(const NodePtr& node, const Context& context, std::vector<Subscript>& out);
  NodePtr read_tensor(int32_t tensor, const std::vector<Subscript>& subscripts, const NodePtr& node);
  NodePtr read_local(int32_t local, const std::vector<Subscript>& subscripts, const NodePtr& node);
  NodePtr read_function(const Meaning& meaning, const std::vector<Subscript>& subscripts, const NodePtr& node);
  bool count_matches(const NodePtr& node, size_t rank);

  // --- call.cc ---
  NodePtr call(const NodePtr& node, const Context& context);
  NodePtr builtin(const NodePtr& node, const Context& context);
  NodePtr expand(const NodePtr& node, const Callable& callable, const Context& context);
  NodePtr body(const Function& function, Context inside);
  bool function_local(const Definition& definition, Context& inside);

  // --- range.cc ---
  struct Scope {
    std::vector<Bound*> bounds;  // in order
    std::vector<Symbol> names;   // of the binders so far
    Context context;             // with the binders visible
    size_t opened = 0;
    bool good = true;
  };
  Scope enter(const std::vector<Binder>& binders, const Context& context, const std::vector<NodePtr>& scope);
  bool add_binder(Scope& scope, const Binder& binder, const std::vector<NodePtr>& body, bool share_outer);
  void leave(const Scope& scope);
  bool resolve(Bound& bound);
  bool resolve(const std::vector<Bound*>& bounds);
  void record(Bound& bound, Domain domain, std::string owner, Span span);
  std::optional<Domain> written_domain(const Binder& binder, const Context& context);
  static Binder binder_of(const Bound& bound);
  Bound* new_bound(Symbol name, IndexId id, Span span);
  size_t arity(Symbol name, const std::vector<NodePtr>& scope, const Context& context) const;

  // --- signature.cc ---
  void signature(const Kernel& kernel);
  void tensor(const Parameter& parameter, Role role);
  void solve_dimensions(const Kernel& kernel);
  NodePtr dimension(const NodePtr& node, bool of_result);
  void declare_upper(Symbol name, bool type, Span span);

  // --- definition.cc ---
  void definition(const Definition& definition);
  void local(const Definition& definition);
  void update(const Definition& definition, int32_t tensor);
  bool update_left(const Definition& definition, const Tensor& tensor, Scope& scope, std::vector<Binder>& left,
                   std::vector<NodePtr>& subscripts, std::vector<Bound*>& bounds);
  bool kind_fits(std::string name, const ElementType& type, const NodePtr& value, Span span);
  void default_fits(const ElementType& type, const NodePtr& value, Span span);
  Diagnostic defined_twice(const Definition& definition) const;
  std::string not_total(const Update& update, const std::vector<Bound*>& bounds) const;

  // --- whole.cc: what is known only once all definitions are ---
  void every_result_written(const Kernel& kernel);
  void everything_used(const Kernel& kernel);
  void reads_before_writes();

  // --- environment ---
  const Environment* bind(const Environment* parent, Symbol name, Meaning meaning);
  const Meaning* find(Symbol name, const Context& context) const;
  IndexId fresh(Symbol name);
  NodePtr substituted(const NodePtr& node, std::map<IndexId, NodePtr> replacements);

  const Declarations& declarations_;
  Diagnostics errors_;
  std::set<std::tuple<Code, const Source*, uint32_t, uint32_t>> reported_;
  std::vector<std::pair<std::string, Span>> calls_;  // functions being expanded, outermost first
  std::deque<Bound> bounds_;
  std::deque<Environment> environments_;
  std::deque<Group> groups_;
  std::vector<IndexId> open_;   // indices in scope, outermost first
  std::vector<Symbol> closed_;  // indices of reductions that this definition has left
  std::vector<Symbol> later_;   // indices bound after the bound at hand, in the same brackets

  // The kernel at hand.
  const Kernel* kernel_ = nullptr;
  Program program_;
  std::unordered_map<Symbol, int32_t> tensors_;
  std::unordered_map<Symbol, int32_t> locals_;
  std::unordered_map<Symbol, bool> uppers_;  // true: a type
  std::vector<int> writes_left_;             // for each tensor: definitions of it still to come
  std::vector<int> writes_seen_;
  std::set<Symbol> poisoned_;  // defined with an error
  std::set<Symbol> unclear_;   // declared with an error: no more is said about them
  Symbol defining_;
  bool kernel_ready_ = false;  // the first line has been read
  bool damaged_ = false;
  bool too_large_ = false;  // E113 or E118 was given: nothing more is expanded
};

}  // namespace quern::expr
