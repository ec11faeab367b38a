// Writing LLVM IR as text. The one idea: an instruction without effect is put into the *outermost* scope in which its
// operands exist, and is written once. Loops are emitted with their preheaders still open, so whatever does not depend
// on a loop stands before it, and what two users share is one value, without an optimiser having to find out.
//
//   scope 0: the function's entry
//     open_loop   scope d + 1: the preheader, reached only if the loop runs at all; scope d + 2: the body
//     open_if     scope d + 1: one of the branches
//
// Loads of memory that does not change may move too, but never out of a branch or of a loop that may run zero times:
// there the address need not be valid.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace quern::target {

enum class Base : uint8_t { i1, i8, i16, i32, i64, f16, f32, f64, ptr };
// Lanes of what each thread of a warp has one of: in the text it is a scalar.
inline constexpr int kThreads = 1 << 16;

struct Type {
  Base base = Base::i64;
  int lanes = 0;  // 0: a scalar; a vector's, or kThreads
  bool operator==(const Type&) const = default;
};
std::string text(Type type);    // "<8 x float>"
std::string suffix(Type type);  // "v8f32", of intrinsics
int bits(Base base);
bool is_real(Type type);
inline bool is_vector(Type type) { return type.lanes > 0 && type.lanes != kThreads; }
inline Type with(Type t, Base base) { return {base, t.lanes}; }
inline Type vector_of(Base base, int lanes) { return {base, lanes}; }
Base integer_of(int bits);

struct Value {
  std::string name;  // "%12", or a constant
  Type type;
  int depth = 0;                   // of the scope that defines it
  std::optional<int64_t> known{};  // of integer constants: the value, of all lanes
  bool is(int64_t v) const { return known && *known == v; }
  std::string typed() const { return text(type) + " " + name; }
};

Value constant(Type type, int64_t value);
Value real_constant(Type type, double value);  // rounded to the type
inline Value i64(int64_t value) { return constant({Base::i64}, value); }

// Declarations, globals and functions of one text.
struct Module {
  std::set<std::string> declarations;
  std::map<std::string, std::string> globals;  // name -> definition
  std::map<std::string, std::string> helpers;  // name -> text of internal functions
  std::string functions;
  std::string print() const;
};

class Writer {
 public:
  Writer(Module& module, std::string header);  // header: "define void @k(ptr %params)"
  Module& module() { return module_; }

  // --- without effect ---
  Value pure(Type type, std::string body, std::initializer_list<Value> operands);
  Value pure(Type type, std::string body, const std::vector<Value>& operands);
  Value binary(std::string_view op, const Value& a, const Value& b);  // "add", "fmul"; integers fold
  Value add(const Value& a, const Value& b) { return binary("add", a, b); }
  Value sub(const Value& a, const Value& b) { return binary("sub", a, b); }
  Value mul(const Value& a, const Value& b) { return binary("mul", a, b); }
  Value compare(std::string_view predicate, const Value& a, const Value& b);  // "slt", "ogt"
  Value convert(std::string_view op, const Value& a, Base to);                // "sext", "bitcast" of equal lanes
  Value bitcast(const Value& a, Type to);
  Value select(const Value& c, const Value& a, const Value& b);  // a scalar c serves vectors too
  Value intrinsic(std::string_view name, Type type, std::initializer_list<Value> arguments);  // llvm.<name>.<suffix>
  Value call(std::string_view name, Type type, std::initializer_list<Value> arguments);       // as named, no effect
  Value splat(const Value& scalar, int lanes);
  Value extract(const Value& vector, int lane);  // of kThreads: each thread its own
  Value insert(const Value& vector, const Value& scalar, int lane);
  Value shuffle(const Value& a, const Value& b, const std::vector<int>& lanes);
  Value iota(Base base, int lanes);  // 0, 1, 2 ...; of kThreads: %lane, an i32 that the function begins with
  Value any(const Value& lanes);     // whether it holds in some lane; of kThreads: each thread for itself
  Value neg(const Value& a);
  Value smin(const Value& a, const Value& b) { return select(compare("slt", a, b), a, b); }
  Value smax(const Value& a, const Value& b) { return select(compare("sgt", a, b), a, b); }
  Value offset(const Value& pointer, const Value& bytes);  // pointer or vector of pointers

  // --- memory ---
  // Of a pointer for all lanes, lanes are side by side from there. `movable`: nothing writes there while the function
  // runs.
  Value load(Type type, const Value& pointer, int align, bool movable);
  Value load_masked(Type type, const Value& pointer, int align, const Value& mask, bool movable);
  Value gather(Type type, const Value& pointers, int align, bool movable);
  void store(const Value& value, const Value& pointer, int align);
  void store_masked(const Value& value, const Value& pointer, int align, const Value& mask);
  Value stack(int64_t bytes);                 // of the function's frame, 64-byte aligned; one for all
  Value effect(Type type, std::string body);  // stays here
  void effect(std::string line);

  // --- control ---
  struct Loop {
    Value index, low, high, step;
    bool certain = false;  // runs at least once
    std::string pre, head, after;
    struct Phi {
      Value phi, init, next;
    };
    std::vector<Phi> phis;
  };
  // index = low; do { } while ((index += step) < high), if low < high. `certain`: it is known that low < high.
  Loop open_loop(const Value& low, const Value& high, const Value& step, bool certain);
  Value carry(Loop& loop, const Value& init);  // a value of the loop; set loop.phis[i].next before closing
  std::vector<Value> close_loop(Loop& loop);   // what is carried, after the last trip

  struct Branch {
    Value condition;
    std::string then, otherwise, after;
    std::string then_text, then_end;
    std::vector<Value> then_values;
    bool in_else = false;
  };
  // `cold`: nothing of the branches moves out of them.
  Branch open_if(const Value& condition, bool cold = false);
  void open_else(Branch& branch, std::vector<Value> then_values);
  // The values of the branch that was taken: in order, those given to open_else or those given here.
  std::vector<Value> close_if(Branch& branch, std::vector<Value> values = {});

  void finish(std::string terminator = "ret void");  // adds the function to the module
  int depth() const { return static_cast<int>(scopes_.size()) - 1; }
  std::string fresh() { return "%v" + std::to_string(next_++); }

 private:
  struct Scope {
    std::string text, label;
    std::unordered_map<std::string, Value> seen;
    bool barrier = false;  // memory may not be touched before it
    bool cold = false;
  };
  Value placed(Type type, std::string body, int scope);
  Value memory(Type type, std::string body, int operand_depth, bool movable);
  Value side_by_side(Type element, const Value& pointer);
  void push(std::string label, bool barrier, bool cold);
  Scope pop();
  std::string label(std::string_view stem) { return std::string(stem) + std::to_string(next_++); }

  Module& module_;
  std::string header_;
  std::vector<Scope> scopes_;
  int64_t next_ = 0;
};

}  // namespace quern::target
