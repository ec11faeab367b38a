#include "vgpu/service.h"

#include <bit>
#include <chrono>
#include <cstdio>
#include <cstring>

#include "ptx/print.h"
#include "vgpu/children/call.h"
#include "vgpu/inliner.h"
#include "vgpu/matrix/sparse.h"
#include "vgpu/mbarrier.h"
#include "vgpu/slow.h"

namespace quern::vgpu {

std::string neighbourhood(const Memory& memory, uint64_t address) {
  auto say = [](const Allocation& a) {
    std::string what = a.name.empty() ? "" : fmt::format(" ({})", a.name);
    return fmt::format("the {} bytes at 0x{:x}{}{}", a.bytes, a.address, what, a.released ? ", which were freed" : "");
  };
  if (auto a = memory.find(address)) return "in " + say(*a);
  auto [before, after] = memory.around(address);
  uint64_t far_before = before ? address - before->address - static_cast<uint64_t>(before->bytes) : UINT64_MAX;
  uint64_t far_after = after ? after->address - address : UINT64_MAX;
  constexpr uint64_t kFar = uint64_t{1} << 30;
  if (before && far_before <= far_after && far_before < kFar)
    return fmt::format("{} bytes after {}", far_before, say(*before));
  if (after && far_after < kFar) return fmt::format("{} bytes before {}", far_after, say(*after));
  return "near no allocation";
}

Fault Grid::located(FaultKind kind, const Place& place) const {
  Warp warp{};
  for (size_t i = 0; i < 3; ++i) warp.ctaid[i] = place.block[i];
  warp.index = place.warp;
  return located(kind, warp, place.site, 1u << place.lane);
}

Fault Grid::located(FaultKind kind, const Warp& warp, int32_t site, uint32_t lanes) const {
  Fault f;
  f.kind = kind;
  const ptx::Function& fn = *compiled_.function;
  const ptx::Module& module = program_.module();
  f.kernel = f.function = fn.name;
  f.module = module.name;
  f.lanes = lanes;
  uint32_t lane = lanes ? static_cast<uint32_t>(std::countr_zero(lanes)) : 0;
  uint64_t thread = uint64_t{warp.index} * 32 + lane;
  f.thread = {static_cast<uint32_t>(thread % launch_.block[0]),
              static_cast<uint32_t>(thread / launch_.block[0] % launch_.block[1]),
              static_cast<uint32_t>(thread / launch_.block[0] / launch_.block[1])};
  for (size_t i = 0; i < 3; ++i) f.block[i] = warp.ctaid[i];
  if (site < 0 || site >= static_cast<int32_t>(fn.instructions.size())) return f;
  const ptx::Instruction& in = fn.instructions[static_cast<size_t>(site)];
  f.ptx_line = in.line;
  f.instruction = ptx::print(module, fn, in);
  f.space = in.space();
  for (int32_t l = in.location; l != ptx::kNone; l = module.locations[static_cast<size_t>(l)].inlined_at) {
    const ptx::Location& at = module.locations[static_cast<size_t>(l)];
    if (!at.line) continue;
    std::string path;
    for (const ptx::File& file : module.files) {
      if (file.number == at.file) path = file.path;
    }
    f.source.push_back(fmt::format("{}:{}:{}", path, at.line, at.column));
  }
  return f;
}

int32_t Services::enter(Warp* warp, Service what, int32_t site, uint32_t lanes, void* data) {
  auto& run = *static_cast<WarpRun*>(warp->owner);
  Grid& grid = *run.block->grid;
  run.instruction = site;
  run.lanes = lanes;
  switch (what) {
    case Service::kFault: return access_fault(run, site, lanes, reinterpret_cast<uint64_t>(data));
    case Service::kBarrier: return barrier(run, site, lanes, *static_cast<BarrierCall*>(data));
    case Service::kYield:
      if (!run.fiber) return grid.stopped_;
      run.yielded = true;
      run.fiber->leave();
      return grid.stopped_;
    case Service::kStop: return 1;
    case Service::kTrap: return trap(run, site, lanes);
    case Service::kPark: {
      Fault f = grid.located(FaultKind::kBarrier, *warp, site, lanes);
      f.detail = "other threads of the warp wait at another barrier";
      grid.keep(std::move(f));
      return 1;
    }
    case Service::kPrint: return print(run, lanes, *static_cast<CallFrame*>(data));
    case Service::kAssert: return assertion(run, site, lanes, *static_cast<CallFrame*>(data));
    case Service::kMalloc: return allocate(run, lanes, *static_cast<CallFrame*>(data));
    case Service::kFree: return release(run, site, lanes, *static_cast<CallFrame*>(data));
    case Service::kClock: {
      auto* words = static_cast<uint64_t*>(data);
      auto now = std::chrono::steady_clock::now().time_since_epoch();
      auto ns = static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
      words[1] = words[0] ? ns : ns * static_cast<uint64_t>(grid.settings_.limits.clock_khz) / 1000000;
      return 0;
    }
    case Service::kMbarrier: run.block->phases += quern::vgpu::run(*static_cast<MbarrierCall*>(data), lanes); return 0;
    case Service::kTexture: return texture(run, site, lanes, *static_cast<TextureCall*>(data));
    case Service::kDevice: return DeviceCalls::enter(run, site, lanes, *static_cast<CallFrame*>(data));
    case Service::kSparse: quern::vgpu::run(*static_cast<SparseCall*>(data)); return 0;
    case Service::kCall: quern::vgpu::run(*static_cast<SlowCall*>(data)); return 0;
  }
  return 1;
}

// The slow truth of a check: every access that it stands for, every lane, every byte.
int32_t Services::access_fault(WarpRun& run, int32_t check, uint32_t lanes, uint64_t base) {
  Grid& grid = *run.block->grid;
  const Memory& memory = grid.program_.memory();
  const CheckRecord& record = grid.compiled_.checks[static_cast<size_t>(check)];
  auto wrong = [&](const CheckRecord::Member& access, uint64_t a) -> std::optional<FaultKind> {
    auto allocation = memory.find(a);
    if (!memory.contains(a, access.bytes)) {
      bool freed = allocation && allocation->released;
      return freed ? FaultKind::kUseAfterFree : FaultKind::kOutOfBounds;
    }
    if (a & static_cast<uint64_t>(access.bytes - 1)) return FaultKind::kMisaligned;
    bool constant = allocation->holds == Holds::kConstant || allocation->holds == Holds::kParameter;
    if (access.write) return constant ? std::optional(FaultKind::kReadOnly) : std::nullopt;
    bool unwritten =
        grid.settings_.checks.init && memory.first_unwritten(a, access.bytes) < a + static_cast<uint64_t>(access.bytes);
    return unwritten ? std::optional(FaultKind::kUninitialised) : std::nullopt;
  };
  for (const CheckRecord::Member& access : record.members) {
    std::optional<FaultKind> kind;
    uint32_t bad = 0;
    uint64_t first = 0;
    for (uint32_t l = 0; l < 32; ++l) {
      if (!(lanes >> l & 1)) continue;
      uint64_t a = static_cast<uint64_t>(access.offset) +
                   (record.listed ? run.warp.address[l] : base + static_cast<uint64_t>(record.lanes[l]));
      auto here = wrong(access, a);
      if (!here) continue;
      if (!kind) kind = here, first = a;
      if (kind == here) bad |= 1u << l;
    }
    if (!kind) continue;
    Fault f = grid.located(*kind, run.warp, access.instruction, bad);
    const ptx::Instruction& in = grid.compiled_.function->instructions[static_cast<size_t>(access.instruction)];
    f.access = ptx::row(in.op).family == ptx::Family::kAtomic      ? Access::kAtomic
               : ptx::row(in.op).family == ptx::Family::kAsyncCopy ? Access::kAsyncCopy
               : access.write                                      ? Access::kStore
                                                                   : Access::kLoad;
    f.bytes = access.bytes;
    f.address = first;
    f.memory = neighbourhood(memory, first);
    if (f.space == ptx::Space::kShared) f.address = first - run.warp.shared;
    if (f.space == ptx::Space::kLocal) {
      f.address = first - run.warp.local -
                  static_cast<uint64_t>(std::countr_zero(bad)) * static_cast<uint64_t>(grid.compiled_.local_bytes);
    }
    grid.keep(std::move(f));
    return 1;
  }
  Fault f = grid.located(FaultKind::kUnsupported, run.warp, record.members.front().instruction, lanes);
  f.detail = "bug in quern: a check failed that should hold; please report it";
  grid.keep(std::move(f));
  return 1;
}

int32_t Services::trap(WarpRun& run, int32_t site, uint32_t lanes) {
  Grid& grid = *run.block->grid;
  Fault f = grid.located(FaultKind::kTrap, run.warp, site, lanes);
  const ptx::Instruction& in = grid.compiled_.function->instructions[static_cast<size_t>(site)];
  int64_t why = in.operands.empty() ? 0 : in.operands[0].value;
  if (why == kStackIsFull || why == kNoRoom) {
    f.kind = FaultKind::kStack;
    f.detail = fmt::format("cudaLimitStackSize is {} bytes", grid.settings_.limits.stack_bytes);
  }
  if (why == kNoSuchFunction) f.kind = FaultKind::kCall;
  if (why) f.instruction = why == kNoRoom ? "alloca" : "call";
  grid.keep(std::move(f));
  return 1;
}

int32_t Services::barrier(WarpRun& run, int32_t site, uint32_t lanes, BarrierCall& call) {
  Grid& grid = *run.block->grid;
  if (call.number < 0 || call.number > 15) {
    Fault f = grid.located(FaultKind::kBarrier, run.warp, site, lanes);
    f.detail = fmt::format("there is no barrier {}", call.number);
    grid.keep(std::move(f));
    return 1;
  }
  Barrier& b = run.block->barriers[call.number];
  if (call.threads) b.expected = static_cast<uint32_t>(call.threads);
  b.arrived += 32;
  b.count += static_cast<uint32_t>(std::popcount(call.predicate & lanes));
  b.all &= (call.predicate & lanes) == lanes;
  b.any |= (call.predicate & lanes) != 0;
  if (call.kind == 1) {
    grid.release_barrier(*run.block, call.number);
    return 0;
  }
  run.barrier = call.number;
  run.turn = b.turn;
  grid.release_barrier(*run.block, call.number);
  if (b.turn == run.turn) {
    run.waits = Waits::kBarrier;
    grid.rest(run);
  }
  if (call.kind >= 2) call.result = b.result[call.kind - 2];
  return grid.stopped_;
}

int32_t Services::print(WarpRun& run, uint32_t lanes, CallFrame& frame) {
  Grid& grid = *run.block->grid;
  std::string text;
  for (uint32_t l = 0; l < 32; ++l) {
    if (!(lanes >> l & 1)) continue;
    int64_t values = 0;
    text += device_printf(grid.program_.memory(), frame.arguments[0][l], frame.arguments[1][l], values);
    frame.result[l] = static_cast<uint64_t>(values);
  }
  std::lock_guard lock(grid.mutex_);
  if (grid.settings_.printed) {
    grid.settings_.printed(text);
  } else {
    std::fwrite(text.data(), 1, text.size(), stdout);
  }
  return 0;
}

int32_t Services::assertion(WarpRun& run, int32_t site, uint32_t lanes, const CallFrame& frame) {
  Grid& grid = *run.block->grid;
  const Memory& memory = grid.program_.memory();
  auto lane = static_cast<size_t>(std::countr_zero(lanes));
  Fault f = grid.located(FaultKind::kAssert, run.warp, site, lanes);
  // __assertfail(message, file, line, function, size of a character)
  f.detail =
      fmt::format("{}:{}: {}: assertion `{}' failed", device_string(memory, frame.arguments[1][lane]),
                  static_cast<uint32_t>(frame.arguments[2][lane]), device_string(memory, frame.arguments[3][lane]),
                  device_string(memory, frame.arguments[0][lane]));
  grid.keep(std::move(f));
  return 1;
}

int32_t Services::allocate(WarpRun& run, uint32_t lanes, CallFrame& frame) {
  Grid& grid = *run.block->grid;
  for (uint32_t l = 0; l < 32; ++l) {
    if (!(lanes >> l & 1)) continue;
    frame.result[l] = 0;
    uint64_t bytes = frame.arguments[0][l];
    if (!bytes || bytes > static_cast<uint64_t>(grid.settings_.limits.heap_bytes)) continue;
    if (auto at =
            grid.program_.memory().allocate(static_cast<int64_t>(bytes), 16, Holds::kHeap, "malloc in a kernel")) {
      frame.result[l] = *at;
    }
  }
  return 0;
}

int32_t Services::release(WarpRun& run, int32_t site, uint32_t lanes, const CallFrame& frame) {
  Grid& grid = *run.block->grid;
  for (uint32_t l = 0; l < 32; ++l) {
    if (!(lanes >> l & 1) || !frame.arguments[0][l]) continue;
    uint64_t address = frame.arguments[0][l];
    auto a = grid.program_.memory().find(address);
    if (a && a->address == address && a->holds == Holds::kHeap && grid.program_.memory().release(address)) continue;
    Fault f = grid.located(FaultKind::kFree, run.warp, site, 1u << l);
    f.address = address;
    f.memory = neighbourhood(grid.program_.memory(), address);
    f.detail = a && a->released ? "it was freed before" : "no malloc in a kernel gave this address";
    grid.keep(std::move(f));
    return 1;
  }
  return 0;
}

std::string device_string(const Memory& memory, uint64_t address) {
  std::string out;
  constexpr size_t kMost = 1 << 16;
  for (; out.size() < kMost && memory.contains(address, 1); ++address) {
    char c = *reinterpret_cast<const char*>(address);
    if (!c) break;
    out += c;
  }
  return out;
}

std::string device_printf(const Memory& memory, uint64_t format, uint64_t at, int64_t& values) {
  std::string text = device_string(memory, format), out;
  auto argument = [&](int64_t size) -> uint64_t {
    at = (at + static_cast<uint64_t>(size) - 1) & ~static_cast<uint64_t>(size - 1);
    uint64_t v = 0;
    if (memory.contains(at, size)) std::memcpy(&v, reinterpret_cast<const void*>(at), static_cast<size_t>(size));
    at += static_cast<uint64_t>(size);
    ++values;
    return v;
  };
  char piece[512];
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (i + 1 < text.size() && text[i + 1] == '%') {
      out += '%', ++i;
      continue;
    }
    std::string spec = "%";
    size_t j = i + 1;
    auto take = [&](const char* set) {
      while (j < text.size() && std::strchr(set, text[j])) spec += text[j++];
    };
    take("-+ #0");
    auto number = [&] {
      if (j < text.size() && text[j] == '*') {
        spec += std::to_string(static_cast<int32_t>(argument(4)));
        ++j;
      } else {
        take("0123456789");
      }
    };
    number();
    if (j < text.size() && text[j] == '.') spec += text[j++], number();
    std::string length;
    while (j < text.size() && std::strchr("hljztL", text[j])) length += text[j++];
    if (j >= text.size()) {
      out += text.substr(i);
      break;
    }
    char kind = text[j];
    // Widths beyond what the buffer holds are no use to anybody.
    if (spec.size() > 16) spec = "%";
    bool wide = length == "l" || length == "ll" || length == "j" || length == "z" || length == "t";
    if (std::strchr("di", kind)) {
      uint64_t v = argument(wide ? 8 : 4);
      long long s = wide ? static_cast<int64_t>(v) : static_cast<int32_t>(v);
      if (length == "h") s = static_cast<int16_t>(v);
      if (length == "hh") s = static_cast<int8_t>(v);
      std::snprintf(piece, sizeof piece, (spec + "lld").c_str(), s);
    } else if (std::strchr("uoxX", kind)) {
      unsigned long long v = argument(wide ? 8 : 4);
      if (length == "h") v = static_cast<uint16_t>(v);
      if (length == "hh") v = static_cast<uint8_t>(v);
      std::snprintf(piece, sizeof piece, (spec + "ll" + kind).c_str(), v);
    } else if (std::strchr("eEfFgGaA", kind)) {
      std::snprintf(piece, sizeof piece, (spec + kind).c_str(), std::bit_cast<double>(argument(8)));
    } else if (kind == 'c') {
      std::snprintf(piece, sizeof piece, (spec + "c").c_str(), static_cast<int>(argument(4)));
    } else if (kind == 's') {
      std::string s = device_string(memory, argument(8));
      if (spec == "%") {
        out += s;
        piece[0] = 0;
      } else {
        std::snprintf(piece, sizeof piece, (spec + "s").c_str(), s.c_str());
      }
    } else if (kind == 'p') {
      std::snprintf(piece, sizeof piece, "0x%llx", static_cast<unsigned long long>(argument(8)));
    } else {
      std::snprintf(piece, sizeof piece, "%s", text.substr(i, j - i + 1).c_str());
    }
    out += piece;
    i = j;
  }
  return out;
}

}  // namespace quern::vgpu
