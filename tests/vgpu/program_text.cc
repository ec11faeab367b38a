// What moves control in a random program, and the modules around it.
#include "program_text.h"

#include "program_function.h"

namespace quern::oracle {

void Function::assign() {
  if (chance(8)) return vectors();
  Type t = kTypes[below(kTypes.size())];
  std::string v = value(t, 1 + static_cast<int>(below(4)));
  if (chance(4)) {
    std::string at = address(t);
    if (real(t)) v = number_or_one(t, v);  // it may be read as an integer
    line("store {} {}, ptr {}, align {}", name(t), v, at, bits(t) / 8);
  } else {
    line("store {} {}, ptr %{}.{}", name(t), v, suffix(t), below(kVariables));
  }
}

void Function::statement(int depth) {
  uint64_t kind = depth > 0 ? below(9) : 0;
  if (kind < 5) return assign();
  if (kind == 5) return choose(depth - 1);
  if (kind == 6) return loop(depth - 1);
  branch(depth - 1);
}

void Function::statements(int count, int depth) {
  for (int i = 0; i < count; ++i) statement(depth);
}

void Function::branch(int depth) {
  std::string c = condition(1), yes = label(), no = label(), end = label();
  bool both = chance(2);
  line("br i1 {}, label %{}, label %{}", c, yes, both ? no : end);
  open(yes);
  statements(1 + static_cast<int>(below(3)), depth);
  line("br label %{}", end);
  if (both) {
    open(no);
    statements(1 + static_cast<int>(below(3)), depth);
    line("br label %{}", end);
  }
  open(end);
}

// As often as a value says, 15 times at most and inner ones 3 times; left in the middle or begun anew where another
// says so.
void Function::loop(int depth) {
  std::string count = let("and i32 {}, {}", value(Type::kI32, 1), depth < 2 ? 3 : chance(3) ? 15 : 7);
  std::string counter = fmt::format("%counter.{}", next_++), head = label(), in = label(), end = label();
  line("{} = alloca i32", counter);
  line("store i32 {}, ptr {}", count, counter);
  line("br label %{}", head);
  open(head);
  std::string left = let("load i32, ptr {}", counter);
  line("store i32 {}, ptr {}", let("sub i32 {}, 1", left), counter);
  line("br i1 {}, label %{}, label %{}", let("icmp sgt i32 {}, 0", left), in, end);
  open(in);
  statements(1 + static_cast<int>(below(2)), depth);
  if (chance(2)) {
    std::string c = condition(1), on = label();
    line("br i1 {}, label %{}, label %{}", c, chance(2) ? end : head, on);
    open(on);
    statements(1, depth);
  }
  line("br label %{}", head);
  open(end);
}

void Function::choose(int depth) {
  int cases = 2 + static_cast<int>(below(6));
  bool dense = chance(2);
  std::string v = let("and i32 {}, {}", value(Type::kI32, 1), dense ? 7 : 255);
  std::vector<std::string> labels;
  std::string list, end = label();
  for (int i = 0; i < cases; ++i) {
    labels.push_back(label());
    list += fmt::format(" i32 {}, label %{}", dense ? i : i * 31 % 256, labels.back());
  }
  line("switch i32 {}, label %{} [{} ]", v, end, list);
  for (int i = 0; i < cases; ++i) {
    open(labels[static_cast<size_t>(i)]);
    statements(1, depth);
    bool falls = i + 1 < cases && chance(3);  // into the next
    line("br label %{}", falls ? labels[static_cast<size_t>(i + 1)] : end);
  }
  open(end);
}

// Blocks that jump anywhere, until the fuel is gone.
void Function::jumps() {
  int count = 3 + static_cast<int>(below(12));
  std::vector<std::string> labels;
  for (int i = 0; i < count; ++i) labels.push_back(label());
  std::string end = label();
  auto target = [&]() { return chance(12) ? end : labels[below(labels.size())]; };
  line("%fuel = alloca i32");
  std::string fuel = let("and i32 {}, 63", value(Type::kI32, 1));
  line("store i32 {}, ptr %fuel", fuel);
  line("br label %{}", labels[0]);
  for (const std::string& l : labels) {
    open(l);
    std::string left = let("load i32, ptr %fuel"), on = label();
    line("store i32 {}, ptr %fuel", let("sub i32 {}, 1", left));
    line("br i1 {}, label %{}, label %{}", let("icmp slt i32 {}, 0", left), end, on);
    open(on);
    statements(static_cast<int>(below(4)), chance(6) ? 1 : 0);
    switch (below(6)) {
      case 0: line("br label %{}", target()); break;
      case 1: {
        std::string v = let("and i32 {}, 7", value(Type::kI32, 1)), list;
        int cases = 2 + static_cast<int>(below(6));
        for (int i = 0; i < cases; ++i) list += fmt::format(" i32 {}, label %{}", i, target());
        line("switch i32 {}, label %{} [{} ]", v, target(), list);
        break;
      }
      default: {
        std::string c = condition(1);
        line("br i1 {}, label %{}, label %{}", c, target(), target());
      }
    }
  }
  open(end);
}

std::string Function::text(const Signature& self, Shape shape, bool main) {
  std::vector<std::string> parameters;
  for (size_t i = 0; i < self.parameters.size(); ++i)
    parameters.push_back(fmt::format("{} %p{}", name(self.parameters[i]), i));
  parameters.push_back("ptr %memory");
  parameters.push_back("ptr %near");
  for (Type t : kTypes) {
    for (int i = 0; i < kVariables; ++i) line("%{}.{} = alloca {}", suffix(t), i, name(t));
    line("%array.{} = alloca [{} x {}], align 16", suffix(t), kArray, name(t));
  }
  // Each variable begins as a parameter of its type, or as a constant; the arrays hold constants and parameters.
  for (Type t : kTypes) {
    std::vector<std::string> given;
    for (size_t i = 0; i < self.parameters.size(); ++i) {
      if (self.parameters[i] == t) given.push_back(fmt::format("%p{}", i));
    }
    size_t used = 0;
    for (int i = 0; i < kVariables; ++i) {
      line("store {} {}, ptr %{}.{}", name(t), used < given.size() ? given[used++] : constant(t), suffix(t), i);
    }
    for (int i = 0; i < kArray; ++i) {
      std::string at = let("getelementptr {}, ptr %array.{}, i32 {}", name(t), suffix(t), i);
      std::string v = !given.empty() && chance(2) ? given[below(given.size())] : constant(t);
      line("store {} {}, ptr {}", name(t), v, at);
    }
  }
  switch (shape) {
    case Shape::kStraight: statements(6 + static_cast<int>(below(20)), 0); break;
    case Shape::kNested: statements(3 + static_cast<int>(below(5)), main ? 3 : 2); break;
    case Shape::kJumps: jumps(); break;
  }
  std::string result;
  if (!main && self.parameters[0] == Type::kI32 && chance(2)) {  // calls itself up to 7 times, by three bits
    std::string again = label(), on = label(), left = let("and i32 %p0, 7");
    line("br i1 {}, label %{}, label %{}", let("icmp eq i32 {}, 0", left), on, again);
    open(again);
    std::vector<std::string> arguments = {fmt::format("i32 {}", let("sub i32 %p0, 1"))};
    for (size_t i = 1; i < self.parameters.size(); ++i) {
      arguments.push_back(fmt::format("{} {}", name(self.parameters[i]), leaf(self.parameters[i])));
    }
    arguments.push_back("ptr %near");  // the other way round
    arguments.push_back("ptr %memory");
    std::string r = call(name(self.result), self.name, arguments);
    line("store {} {}, ptr %{}.0", name(self.result), r, suffix(self.result));
    line("br label %{}", on);
    open(on);
  }
  if (!main) {
    result = value(self.result, 1);
  } else {  // all that there is
    result = "0";
    for (Type t : kTypes) {
      for (int i = 0; i < kVariables + 4; ++i) {
        std::string v;
        if (i < kVariables) {
          v = let("load {}, ptr %{}.{}", name(t), suffix(t), i);
        } else {  // some of the array
          v = let("getelementptr {}, ptr %array.{}, i32 {}", name(t), suffix(t), (i - kVariables) * 5);
          v = let("load {}, ptr {}", name(t), v);
        }
        if (real(t)) v = bits_of(t, v);
        if (bits(t) == 32) v = let("zext i32 {} to i64", v);
        result = let("add i64 {}, {}", let("mul i64 {}, 6364136223846793005", result), v);
      }
    }
  }
  line("ret {} {}", name(self.result), result);
  // Allocas in the middle of a function grow the frame each time that they are met; all go to the front.
  std::string front, rest;
  for (size_t at = 0; at < body_.size();) {
    size_t end = body_.find('\n', at) + 1;
    std::string one = body_.substr(at, end - at);
    (one.find(" = alloca ") != std::string::npos ? front : rest) += one;
    at = end;
  }
  return fmt::format("define internal {} @{}({}) noinline {{\n{}{}}}\n\n", name(self.result), self.name,
                     fmt::join(parameters, ", "), front, rest);
}

namespace {

constexpr std::array kInputs = {Type::kI32, Type::kI32, Type::kI32, Type::kI64,
                                Type::kI64, Type::kF32, Type::kF32, Type::kF64};

// What runs the program for %i.
std::string one_run() {
  std::string out =
      "  %wide = zext i32 %i to i64\n  %input = getelementptr [64 x i8], ptr %inputs, i64 %wide\n"
      "  %memory = getelementptr [64 x i8], ptr %memories, i64 %wide\n"
      "  %result = getelementptr i64, ptr %results, i64 %wide\n";
  std::vector<std::string> arguments;
  for (size_t i = 0; i < kInputs.size(); ++i) {
    out += fmt::format("  %at{} = getelementptr i64, ptr %input, i32 {}\n  %a{} = load {}, ptr %at{}\n", i, i, i,
                       name(kInputs[i]), i);
    arguments.push_back(fmt::format("{} %a{}", name(kInputs[i]), i));
  }
  for (int i = 0; i < kGiven / 8; ++i) {
    out += fmt::format(
        "  %from{0} = getelementptr i64, ptr %input, i32 {0}\n  %to{0} = getelementptr i64, ptr %near, i32 "
        "{0}\n  %w{0} = load i64, ptr %from{0}\n  store i64 %w{0}, ptr %to{0}\n",
        i);
  }
  return out + fmt::format("  %r = call i64 @main({}, ptr %memory, ptr %near)\n  store i64 %r, ptr %result\n",
                           fmt::join(arguments, ", "));
}

}  // namespace

ProgramText random_program(uint64_t seed) {
  Random random(seed);
  ProgramText out;
  out.shape = std::array{Shape::kStraight, Shape::kNested, Shape::kJumps, Shape::kNested, Shape::kJumps}[random() % 5];
  std::set<std::string> declared;
  std::vector<Signature> callable;
  size_t functions = random() % 4;
  for (size_t i = 0; i < functions; ++i) {
    Signature s{.name = fmt::format("f{}", i), .parameters = {}, .result = kTypes[random() % 4]};
    size_t parameters = 1 + random() % 3;
    for (size_t p = 0; p < parameters; ++p) s.parameters.push_back(kTypes[random() % 4]);
    if (random() % 2) s.parameters[0] = Type::kI32;
    if (!callable.empty() && random() % 2) s.parameters = callable[0].parameters, s.result = callable[0].result;
    Shape shape = std::array{Shape::kStraight, Shape::kStraight, Shape::kNested, Shape::kJumps}[random() % 4];
    out.functions += Function(random, callable, declared).text(s, shape, false);
    callable.push_back(s);
  }
  Signature main{.name = "main", .parameters = {kInputs.begin(), kInputs.end()}, .result = Type::kI64};
  out.functions += Function(random, callable, declared).text(main, out.shape, true);
  for (const std::string& d : declared) out.functions += d;
  return out;
}

std::string kernel_module(const ProgramText& program) {
  std::string near = fmt::format(
      "  %slot = getelementptr [{0} x i8], ptr addrspace(3) @near, i32 %tid\n"
      "  %near = addrspacecast ptr addrspace(3) %slot to ptr\n",
      kGiven);
  std::string sreg = "llvm.nvvm.read.ptx.sreg.";
  return "target triple = \"nvptx64-nvidia-cuda\"\n" +
         fmt::format("@near = internal addrspace(3) global [{} x i8] undef, align 16\n", kMostThreads * kGiven) +
         program.functions + "declare i32 @" + sreg + "tid.x()\ndeclare i32 @" + sreg + "ntid.x()\ndeclare i32 @" +
         sreg + "ctaid.x()\n" +
         "define ptx_kernel void @all(ptr %inputs, ptr %memories, ptr %results, i32 %n) {\n"
         "  %tid = call i32 @" +
         sreg + "tid.x()\n  %ntid = call i32 @" + sreg + "ntid.x()\n  %block = call i32 @" + sreg +
         "ctaid.x()\n  %first = mul i32 %block, %ntid\n  %i = add i32 %first, %tid\n  %in = icmp ult i32 %i, %n\n"
         "  br i1 %in, label %run, label %end\nrun:\n" +
         near + one_run() + "  br label %end\nend:\n  ret void\n}\n";
}

std::string host_module(const ProgramText& program) {
  return program.functions +
         "define void @all(ptr %inputs, ptr %memories, ptr %results, i32 %n) {\nentry:\n"
         "  %near = alloca [64 x i8], align 16\n  br label %run\nrun:\n  %i = phi i32 [ 0, %entry ], [ %next, %run "
         "]\n" +
         one_run() +
         "  %next = add i32 %i, 1\n  %more = icmp ult i32 %next, %n\n  br i1 %more, label %run, label %end\nend:\n  "
         "ret void\n}\n";
}

}  // namespace quern::oracle
