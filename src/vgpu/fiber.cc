#include "vgpu/fiber.h"

#include <sys/mman.h>

#include <mutex>
#include <utility>
#include <vector>

// void quern_vgpu_switch(void** save, void* to): System V ABI; rbx, rbp and r12 to r15 are the caller's. The control
// words of the floating-point units are too, but nothing that runs on a fiber leaves them changed.
extern "C" void quern_vgpu_switch(void** save, void* to);

#if defined(__x86_64__)
asm(R"(
  .text
  .globl quern_vgpu_switch
  .hidden quern_vgpu_switch
  .type quern_vgpu_switch, @function
quern_vgpu_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  popq %rcx
  jmp *%rcx
  .size quern_vgpu_switch, .-quern_vgpu_switch
)");
#else
#error "fibers are written for x86-64 only"
#endif

namespace quern::vgpu {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kKept = 256;

struct Stacks {
  std::mutex mutex;
  std::vector<void*> free;
};

Stacks& stacks() {
  static Stacks* all = new Stacks;  // outlives the threads of a program that exits
  return *all;
}

}  // namespace

Fiber::Fiber() {
  {
    std::lock_guard lock(stacks().mutex);
    if (!stacks().free.empty()) {
      memory_ = stacks().free.back();
      stacks().free.pop_back();
      return;
    }
  }
  void* got = mmap(nullptr, kStack + kPage, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (got == MAP_FAILED) return;
  mprotect(got, kPage, PROT_NONE);  // the end that it grows to
  memory_ = got;
}

Fiber::~Fiber() {
  if (!memory_) return;
  {
    std::lock_guard lock(stacks().mutex);
    if (stacks().free.size() < kKept) {
      stacks().free.push_back(memory_);
      return;
    }
  }
  munmap(memory_, kStack + kPage);
}

Fiber::Fiber(Fiber&& other) noexcept : memory_(std::exchange(other.memory_, nullptr)) {}

void Fiber::first(Fiber* self) {
  self->body_(self->argument_);
  for (;;) self->leave();
}

void Fiber::start(void (*body)(void*), void* argument) {
  body_ = body;
  argument_ = argument;
  // What the switch pops: six registers, the address to jump to. The first function gets its argument in
  // rdi, which no switch sets, so a small entry moves it there from rbx.
  auto* top = reinterpret_cast<uint64_t*>(static_cast<char*>(memory_) + kStack + kPage);
  // Stacks start at different lines of the cache, else all frames fall into the same sets.
  top -= 8 * (1 + (reinterpret_cast<uintptr_t>(memory_) / kStack) % 31);
  top = reinterpret_cast<uint64_t*>(reinterpret_cast<uintptr_t>(top) & ~uintptr_t{63});
  *--top = 0;  // where a return address would be: rsp is 8 off a multiple of 16 when the function starts
  extern void fiber_entry() asm("quern_vgpu_fiber_entry");
  *--top = reinterpret_cast<uint64_t>(&fiber_entry);
  *--top = 0;                                          // rbp
  *--top = reinterpret_cast<uint64_t>(this);           // rbx
  *--top = reinterpret_cast<uint64_t>(&Fiber::first);  // r12
  for (int i = 0; i < 3; ++i) *--top = 0;              // r13, r14, r15
  here_ = top;
}

void Fiber::enter() { quern_vgpu_switch(&there_, here_); }

void Fiber::pass_to(Fiber& other) {
  other.there_ = there_;
  quern_vgpu_switch(&here_, other.here_);
}

void Fiber::leave() { quern_vgpu_switch(&here_, there_); }

}  // namespace quern::vgpu

asm(R"(
  .text
  .globl quern_vgpu_fiber_entry
  .hidden quern_vgpu_fiber_entry
  .type quern_vgpu_fiber_entry, @function
quern_vgpu_fiber_entry:
  movq %rbx, %rdi
  jmp *%r12
  .size quern_vgpu_fiber_entry, .-quern_vgpu_fiber_entry
)");
