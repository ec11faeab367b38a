#include "target/nvptx/emit.h"

#include <fmt/format.h>

#include "target/nvptx/found.h"
#include "target/vector/emitter.h"

namespace quern::target {

namespace {

std::string header_of(const tile::Program& program, const std::string& entry) {
  std::string out = "define ptx_kernel void @" + entry + "(";
  for (size_t i = 0; i < program.parameters.size(); ++i) out += fmt::format("ptr noalias %param{}, ", i);
  for (size_t i = 0; i < program.dims.size(); ++i) {
    if (!program.dims[i].value) out += fmt::format("i64 %dim{}, ", i);
  }
  out += "ptr noalias %report, ptr noalias %scratch, i64 %arena_bytes, i64 %end)";
  return out + fmt::format(" \"nvvm.reqntid\"=\"{}\"", 32 * kWarps);
}

// What the code of vector/ expects in a block: %lane, %warp, the points %begin and every %blocks one after it, %arena.
void begin(Writer& w, bool shared) {
  auto special = [&](std::string_view name) {
    w.module().declarations.insert(fmt::format("declare i32 @llvm.nvvm.read.ptx.sreg.{}()", name));
    return w.effect({Base::i32}, fmt::format("call i32 @llvm.nvvm.read.ptx.sreg.{}()", name)).name;
  };
  std::string thread = special("tid.x"), block = special("ctaid.x"), blocks = special("nctaid.x");
  w.effect(fmt::format("%lane = and i32 {}, 31", thread));
  w.effect(fmt::format("%warp.number = lshr i32 {}, 5", thread));
  w.effect("%warp = zext i32 %warp.number to i64");
  w.effect(fmt::format("%begin = zext i32 {} to i64", block));
  w.effect(fmt::format("%blocks = zext i32 {} to i64", blocks));
  if (shared) {
    w.module().globals["near"] = "@near = external addrspace(3) global [0 x i8], align 128";
    w.effect("%arena = addrspacecast ptr addrspace(3) @near to ptr");
  } else {
    w.effect("%arena.offset = mul i64 %begin, %arena_bytes");
    w.effect("%arena = getelementptr i8, ptr %scratch, i64 %arena.offset");
  }
}

}  // namespace

Result<KernelText> emit_nvptx(const tile::Program& program, size_t kernel, const jit::GpuTarget& gpu) {
  KernelText out{.entry = fmt::format("k{}", kernel)};
  const tile::Kernel& k = program.kernels[kernel];
  Features has{.vector_bytes = 128, .warps = kWarps, .fma = true, .rounding = true, .half = true};
  try {
    Module host, module;
    std::optional<int64_t> near = emit_sizes(program, k, has, out.entry, host);
    bool shared = near && *near <= gpu.shared_block_bytes;
    if (shared) out.shared_bytes = *near;
    module.helpers["found"] = found_function();
    Writer writer(module, header_of(program, out.entry));
    begin(writer, shared);
    Emitter(program, k, has, writer).emit_kernel();
    out.ir = module.print(), out.host = host.print();
  } catch (const NotLaid& fault) {
    return fail(not_laid(k, fault));
  }
  return out;
}

}  // namespace quern::target
