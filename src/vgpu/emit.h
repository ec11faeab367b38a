// PTX to LLVM's text: one function, one warp. The state that all families of instructions share, and the verbs they are
// written with. Each family has a file, emit_<family>.cc.
//
// A register lives in a slot of the frame (LLVM makes SSA of it): one number where its shape is uniform, else a vector
// of 32 lanes, or the parts that its shape names. Instructions read operands as values of a type and write results;
// both hide the shape. Lanes that don't run keep what they had only where somebody still needs it (Shapes::blend).
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "ptx/module.h"
#include "vgpu/abi.h"
#include "vgpu/flow.h"
#include "vgpu/ir.h"
#include "vgpu/launch.h"
#include "vgpu/matrix/fragment.h"
#include "vgpu/matrix/matrix.h"
#include "vgpu/matrix_frame.h"
#include "vgpu/memory.h"
#include "vgpu/real.h"
#include "vgpu/shape.h"
#include "vgpu/slow.h"
#include "vgpu/texture/call.h"

namespace quern::vgpu {

struct Target {
  AddressSpace space;
  Checks checks;
  BlockClass block;
  bool lane_masks = false;  // masks as vectors of 32-bit lanes: faster where the machine has no mask registers (AVX2)
  bool avx512 = false;
  bool f16c = true;
  bool count = false;         // executions of each block
  int threads_per_block = 0;  // 0: any
};

// Where variables of a function lie.
struct Frame {
  std::vector<int64_t> offset;  // of Function::variables: in shared or local memory, or in the parameters of calls
  std::vector<int64_t> shared_offset;  // of Module::variables that are .shared; -1: not used
  int64_t shared_bytes = 0;            // static
  int64_t local_bytes = 0;             // a thread: the distance of lanes
};
Frame lay_out(const ptx::Module& module, const ptx::Function& function);

// An address as its lanes have it, all 64 bits, of real memory.
struct Address {
  Shape::Kind kind = Shape::kUniform;  // kUniform, kPattern, kWide, kIndexed or kVarying
  Value base;                          // i64; of kPattern: lane l is at base + lanes[l]
  Lanes lanes{};                       // bytes
  Value index;                         // kWide: i32, kIndexed: <32 x i32>
  bool sign = false;
  int64_t scale = 1;
  Value all;            // kVarying: <32 x i64>
  int align = 0;        // base of kUniform and kPattern is a multiple of 1 << align
  bool shared = false;  // in the block's own memory: no test of the range is needed, nobody else writes it
  bool safe = false;    // known to be inside (parameters)
};

// Which lanes an instruction acts on.
struct Mask {
  bool full = false;
  Value lanes;  // <32 x i1>
};

// What a check looked at, for the report: accesses of instructions, each at an offset from the addresses of the lanes,
// which are base + lanes[l], or listed in Warp::address.
struct CheckRecord {
  struct Member {
    int32_t instruction = 0;
    int64_t offset = 0;
    int32_t bytes = 0;
    bool write = false;
  };
  std::vector<Member> members;
  Lanes lanes{};
  bool listed = false;
};

class Emit {
 public:
  Emit(const ptx::Module& module, const ptx::Function& function, const Target& target);
  // The whole module's text. `loop`: the function runs blocks begin … end - 1 (BlocksCode, no waiting) instead of one
  // warp.
  Result<std::string> text(bool loop);
  const Frame& frame() const { return frame_; }
  const Flow& flow() const { return flow_; }
  const std::vector<CheckRecord>& records() const { return records_; }
  // Whether a warp may wait for others, so that each needs a stack of its own.
  static bool waits(const ptx::Function& function);

  // --- verbs for families ---
  Ir ir;
  const ptx::Module& module;
  const ptx::Function& function;
  const Target& target;
  const ptx::Instruction* in = nullptr;  // the current one

  static std::string llvm_type(ptx::Type type);             // of arithmetic: f32 float, u8 i8, f16 half, f16x2 i32
  static std::string storage_type(ptx::Type type);          // of a register: f16 i16
  Value read(const ptx::Operand& operand, ptx::Type type);  // arithmetic type
  Value read_bits(const ptx::Operand& operand, int bits);   // as an integer
  Value read(size_t operand) { return read(in->operands[operand], in->type()); }
  Value read_register(int32_t reg);                      // storage type; a vector unless uniform
  Value predicate(const ptx::Operand& operand);          // i1, negation applied
  void write(const ptx::Operand& operand, Value value);  // any type of the register's size, or narrower
  void write(size_t operand, const Value& value) { write(in->operands[operand], value); }
  // Sign- or zero-extends what is narrower than the register.
  void write_extended(const ptx::Operand& operand, Value value, bool sign);
  Shape shape(const ptx::Operand& operand) const;
  std::optional<int64_t> constant(const ptx::Operand& operand) const;

  Mask mask();                         // of the current instruction: the block's lanes and the guard
  Value mask_lanes(const Mask& mask);  // <32 x i1>
  Value mask_bits(const Mask& mask);   // i32
  Value warp_field(size_t offset, const std::string& type);  // of Warp
  std::string warp_pointer(size_t offset);
  // Calls the runtime; leaves the warp unless it returns zero.
  void service(Service what, const Value& lanes, const std::string& data = "null");
  void leave(Service what, const Value& lanes);  // never comes back: ends the IR block
  // One pass for each lane that is set; `body` gets the lane's number (i32). Values that leave the loop go through
  // slots.
  void each_lane(const Mask& mask, const std::function<void(const Value& lane)>& body);
  // A vector (or number) in memory, to be read lane by lane: its slot; and one lane of it.
  std::string spill(const Value& vector);
  Value spilled(const std::string& slot, const Value& like, const Value& lane);
  // An instruction that this file can't do: an error that names it.
  void unsupported(std::string why = {});
  Value address_vector(const Address& address);  // <32 x i64>
  Address address(const ptx::Operand& operand, ptx::Space space);
  // Makes sure that `bytes` at the address may be read (or written) in all lanes of the mask; else the warp ends.
  // Not called where checks are off, but isolation is kept: see emit_check.cc.
  void check(const Address& address, int64_t bytes, bool write, const Mask& mask);
  void mark_written(const Address& address, int64_t bytes, const Mask& mask);
  std::vector<Value> load_elements(const Address& a, int bits, int count, const Mask& m);    // checked
  void store_elements(const Address& a, const std::vector<Value>& elements, const Mask& m);  // checked, and marked

  // --- families ---
  void arithmetic();
  void multiply_add();
  void carry();
  void special_function();
  void compare();
  void logic();
  void shift();
  void convert();
  void move();
  void load();
  void store();
  void atomic();
  void barrier();
  void fence();
  void warp();
  void matrix();
  void async_copy();
  void bulk_copy();
  void mbarrier();
  void texture();
  std::string texture_frame(const TextureForm& form, const ptx::Operand& object);
  void video();
  void system();
  void call();
  std::vector<Value> argument_words(const ptx::Operand& operand, const Mask& m);

  // --- parts of families ---
  void float_arithmetic();
  void float_multiply_add();
  void convert_narrow();  // to and from reals of 16 bits and fewer
  void copy_lanes(const Address& to, const Address& from, int64_t bytes, const Mask& m);
  void copy_pieces(const Address& to, const Address& from, const Value& bytes, const Mask& m);
  void copy_parts(const Address& to, const Address& from, int64_t bytes, const Value& given, const Mask& m);
  void multiply_matrices();
  void multiply_sparse();
  void fragment_access();
  void matrix_access();
  Value transposed_rows(const Value& v);
  void shuffle();
  Value companions(const Mask& m);
  Value of_each_group(const Value& groups, const Mask& m, const std::function<Value(const Mask&)>& reduce);
  Value reduced(const char* how, const Value& v, int64_t neutral, const Mask& m);
  void reduce_floats(const Mask& m);
  Value atomic_result(const Value& old, const Value& b, const Value& c);
  Value atomic_in_memory(const std::string& pointer, const Value& b, const Value& c);
  void atomic_packed();  // pairs, vectors, 16-bit reals and 128 bits
  Value packed_update(const Value& old, const Value& b);
  Value compare_and_swap(const std::string& pointer, const std::string& type,
                         const std::function<Value(const Value&)>& change);
  void half_arithmetic();  // f16, bf16 and their pairs: arithmetic, multiply_add, compare and special_function
  void packed_integer();
  struct Carried {
    Value value, carry;
  };
  bool writes_carry() const;
  Carried sum_with_carry(const Value& a, const Value& b, const Value& carry);
  Carried difference_with_borrow(const Value& a, const Value& b, const Value& borrow);
  void set_carry(const Carried& c);
  Value product(const Value& a, const Value& b, bool sign, int bits);
  Value lop3(const Value& a, const Value& b, const Value& c, unsigned table);
  Value shifted(std::string_view how, const Value& v, const Value& by);
  void find_nth_set();
  void permute();
  Value comparison(ptx::Modifier how, ptx::Type type, const Value& a, const Value& b);
  Value minimum(const std::vector<Value>& v, bool least);  // or maximum; of floats or doubles
  // Sum, product, quotient, root of floats or doubles, rounded as asked; directed() are the instructions that need it.
  Value rounded(ptx::Op op, const std::vector<Value>& v, Round round);
  Value slow(Slow what, const std::vector<Value>& v, Round round, const std::string& type);
  void directed();
  Value polynomial(const Value& x, std::initializer_list<uint32_t> coefficients);
  Value exponential(const Value& x);  // of 2
  Value logarithm(const Value& x);    // to base 2
  Value sine(const Value& x, bool cosine);
  Value hyperbolic_tangent(const Value& x);
  void high_word_function();
  // Reals of 16 bits are i16 in registers and floats in between; a pair is an i32.
  std::vector<Value> elements(const ptx::Operand& operand, int bits, int count);  // integers, the lowest first
  Value packed(const std::vector<Value>& elements);
  Value half_flushed(ptx::Type type, const Value& bits);
  Value half_operand(ptx::Type type, const Value& bits);  // with .ftz
  Value half_result(ptx::Type type, Value v);             // with .ftz, .sat and .relu
  Value half_operation(ptx::Op op, ptx::Type type, const std::vector<Value>& v);
  void half_compare();
  void mixed_arithmetic();
  void float_pairs();
  Value set_value(const Value& is, ptx::Type type, int parts);
  Value as_float(const ptx::Operand& operand, ptx::Type from);
  Value clamped(Value v);
  Value narrowed(ptx::Type to, const Value& v, const Value& random, int random_bits);
  void narrow_packed();
  void write_integer(const Value& v, ptx::Type to, ptx::Type from);
  static const char* integer_rounding(ptx::Modifier how);  // LLVM's function for .rni and its kin
  void convert_pack();
  Value video_source(const ptx::Operand& operand, ptx::Type type);  // i64
  Value video_action(const Value& a, const Value& b);
  void video_result(Value v, bool sign);
  void video_elements(int count, bool to_sign, ptx::Type of_a, ptx::Type of_b);
  void video_multiply_add();

  // Values of one float operand with .ftz applied, and of a result with .ftz and .sat.
  Value float_operand(size_t operand);
  Value float_result(Value value);
  Value flushed(const Value& value);

 private:
  // --- addresses and checks ---
  Address straight(const Address& a, Value& is);
  void fault(const Address& a, const std::vector<CheckRecord::Member>& members, const Mask& m, const std::string& from);
  void fault_exit();
  // Accesses of the block that are at constant distances are checked together, at the first of them.
  bool check_group(const Address& a, int64_t bytes, bool write, const Mask& m,
                   std::vector<CheckRecord::Member>& members);
  void check_words(const Address& a, const std::vector<CheckRecord::Member>& members, bool write,
                   const std::string& bad);
  std::vector<Value> bent_elements(const Address& a, int bits, int count, const Mask& m);
  void store_bent(const Address& a, const std::vector<Value>& elements, const Mask& m);
  Value bent_address(const Address& a, const Value& lane);
  std::string shadow_pointer(const Value& address);
  Value in_range(const Value& address, int64_t slack);
  int64_t needed(int64_t bytes, bool write) const;
  Value either_nibble(const Value& shadow, bool write);
  void require_lanes(Value bits, const Mask& m, const std::string& bad);
  void require(const Value& ok, const std::string& bad);
  Value spread(const std::string& pointer, const std::string& type, const std::vector<int>& which, int count);
  Value gather(const std::string& type, const Value& pointers, const Mask& m, int64_t align);
  Value pointers(const Value& addresses);
  void check_uniform(const Address& a, int64_t bytes, bool write, const std::string& bad);
  void check_pattern(const Address& a, int64_t bytes, bool write, const Mask& m, const std::string& bad);
  void check_indexed(const Address& a, int64_t bytes, bool write, const Mask& m, const std::string& bad);
  void check_lanes(const Value& all, int64_t bytes, bool write, const Mask& m, const std::string& bad);
  void check_shadow(Value shadow, int64_t bytes, bool write, const Mask& m, const Value& byte, const std::string& bad);
  std::vector<Value> gather_elements(const Address& a, int bits, int count, const Mask& m);
  std::vector<Value> either(const Value& first, const std::string& type, int count,
                            const std::function<std::vector<Value>()>& likely,
                            const std::function<std::vector<Value>()>& other);
  Value interleaved(const std::vector<Value>& v);
  void store_lanes(const Address& a, const std::vector<Value>& v, const Mask& m);

  bool fixed_place(const ptx::Operand& address);
  void slots();
  std::string slot_of(int32_t reg);
  bool writes_all_lanes();
  std::optional<int64_t> kept_place(const ptx::Operand& reg, int bits) const;
  int64_t spare_place(const ptx::Operand& reg, int bits, bool result);
  Value spare_value(int64_t place, int bits);
  void call_multiplier(const std::vector<MatrixCall>& calls);
  void move_fragment(const FragmentCall& call, const Address& base, const Value& stride, const Mask& m);
  void slot(const std::string& name, const std::string& type, bool vector, bool kept);  // kept from block to block
  void place_kept();
  void prologue(bool loop);
  void control(int32_t block);
  void instruction(int32_t index);
  bool affine();
  Value pattern_base(const ptx::Operand& operand);
  Shape wide_source() const;
  Value special(ptx::Special special);
  Value thread_index(int which);
  void go(const std::vector<int32_t>& candidates);  // to the first that has lanes; the last is sure to have some
  void chains();
  void dense_chains();
  void ended(const Value& lanes);                  // of what is only known of dense code: who waits nowhere
  void go_but(const Value& lanes);                 // to the first block with lanes other than these
  void arrive(int32_t block, const Value& lanes);  // lanes wait at its head
  void follow(int32_t from, int32_t to);           // all lanes go there
  void turn(int32_t from, int32_t to);             // what is due on the way back of a loop
  void around(int32_t from, int32_t to, const std::vector<int32_t>& all);
  void park(int32_t block);
  std::vector<int32_t> with(int32_t block, std::vector<int32_t> more) const;  // waiting lanes' blocks and these, sorted
  std::string head(int32_t block) const;
  Value waiting(int32_t block);
  Value block_lanes();
  bool masked(int32_t block) const;
  bool joined(int32_t block) const;  // to the one before it, without a label
  bool has_wait(int32_t block) const { return dense_ || masked(block); }

  Flow flow_;
  Shapes shapes_;
  Frame frame_;
  bool loop_ = false;
  bool guard_is_uniform_ = false;
  Value guard_;  // of the current instruction, if any; i1 or <32 x i1>
  int32_t block_ = 0;
  int32_t index_ = 0;  // of the current instruction
  std::optional<Value> block_mask_;
  Value thread_lanes_;  // that exist, where a warp may have fewer than 32 threads
  bool dense_ = false;  // see emit_chain.cc
  std::vector<std::pair<std::string, int64_t>> kept_;
  int64_t kept_bytes_ = 0;
  std::set<std::string> chains_;
  std::vector<std::pair<std::string, std::vector<int32_t>>> chain_queue_;
  std::string texture_frame_;  // one is enough for all instructions
  std::vector<CheckRecord> records_;
  MatrixFrame matrix_;                // where registers of fragments lie in %matrix
  std::set<int32_t> matrix_named_;    // those of its registers that have a slot's name
  int64_t spare_used_ = 0;            // of the places in it for others, by the current instruction
  std::set<int32_t> multiplied_;      // instructions that an earlier one's call does
  bool ahead_ = false;                // what is read need not have been written
  std::vector<int32_t> only_writer_;  // of each register: the one instruction that writes it; -1: none or several
  std::vector<bool> grouped_;         // instructions whose access an earlier one's check has covered
  Diagnostics problems_;
};

}  // namespace quern::vgpu
