// An instruction about textures or surfaces, for all lanes of a warp: finds each lane's object, does what is asked, and
// reports the first kind of fault with all lanes that have it.
#include <bit>
#include <cstring>

#include "vgpu/service.h"
#include "vgpu/texture/sample.h"
#include "vgpu/texture/surface.h"

namespace quern::vgpu {
namespace {

struct LaneFault {
  FaultKind kind = FaultKind::kObject;
  uint64_t address = 0;
  int32_t bytes = 0;
  std::string memory, detail;
};

std::string described(const Texture& t) {
  const TextureLevel& l = t.levels[0];
  std::string out = t.surface ? "the surface of " : "the texture of ";
  out += fmt::format("{} x {}", l.width, l.height);
  if (l.depth > 1) out += fmt::format(" x {}", l.depth);
  out += fmt::format(" elements of {} bytes", t.format.bytes());
  if (t.layers) out += fmt::format(" in {} layers", t.layers);
  return out;
}

Access access_of(TextureOp op) {
  return op == TextureOp::kStore ? Access::kStore : op == TextureOp::kReduce ? Access::kAtomic : Access::kLoad;
}

// A samplerref of the module says how textures are read that are used with it.
Sampler sampler_of(const ptx::Variable& variable, Sampler out) {
  for (const auto& [name, value] : variable.properties) {
    if (name == "filter_mode") out.linear = value == "linear";
    if (name == "force_unnormalized_coords") out.normalized = value == "0";
    for (size_t i = 0; i < 3; ++i) {
      if (name != fmt::format("addr_mode_{}", i)) continue;
      out.address[i] = value == "wrap"              ? AddressMode::kWrap
                       : value == "mirror"          ? AddressMode::kMirror
                       : value == "clamp_to_border" ? AddressMode::kBorder
                                                    : AddressMode::kClamp;
    }
  }
  return out;
}

const ptx::Variable* samplerref(const ptx::Module& module, const ptx::Instruction& in) {
  for (const ptx::Operand& o : in.operands) {
    if (o.kind != ptx::OperandKind::kAddress || o.parts.size() != 2) continue;
    const ptx::Operand& s = o.parts[0];
    if (s.kind == ptx::OperandKind::kSymbol && s.symbol.kind == ptx::SymbolKind::kVariable)
      return &module.variables[static_cast<size_t>(s.symbol.index)];
  }
  return nullptr;
}

class WarpTexture {
 public:
  WarpTexture(const Program& program, const Settings& settings, const ptx::Instruction& in, TextureCall& call)
      : program_(program),
        settings_(settings),
        call_(call),
        form_(call.form),
        access_(program.memory().space(), settings.checks),
        samplerref_(form_.op == TextureOp::kSample || form_.op == TextureOp::kGather || form_.op == TextureOp::kQuery
                        ? samplerref(program.module(), in)
                        : nullptr) {}

  std::optional<LaneFault> lane(size_t l) {
    if (form_.op == TextureOp::kIsType) {
      call_.value[0][l] = is_type(call_.object[l]);
      return std::nullopt;
    }
    const Texture* t = object(call_.object[l]);
    if (!t) {
      return LaneFault{
          .detail = fmt::format("{} 0x{:x}", wants_surface() ? "surface object" : "texture object", call_.object[l])};
    }
    switch (form_.op) {
      case TextureOp::kSample:
      case TextureOp::kGather: return sample_lane(*t, l);
      case TextureOp::kQuery: {
        auto level = form_.level == LevelBy::kLevel ? static_cast<int32_t>(call_.level[0][l]) : 0;
        call_.value[0][l] = query_texture(*t, sampler_, form_.query, level);
        return std::nullopt;
      }
      default: return surface_lane(*t, l);
    }
  }

 private:
  bool wants_surface() const { return form_.op != TextureOp::kSample && form_.op != TextureOp::kGather; }

  // A texref variable holds the handle of what is bound to it.
  const ptx::Variable* opaque(uint64_t handle) const {
    auto a = program_.memory().find(handle);
    if (!a || a->released || a->address != handle || a->holds != Holds::kVariable) return nullptr;
    for (size_t i = 0; i < program_.module().variables.size(); ++i) {
      const ptx::Variable& v = program_.module().variables[i];
      if (ptx::row(v.type).kind == ptx::TypeKind::kOpaque && program_.address(static_cast<int32_t>(i)) == handle)
        return &v;
    }
    return nullptr;
  }

  const Texture* object(uint64_t handle) {
    if (last_ && handle == last_handle_) return last_;
    const TextureTable* table = settings_.textures.get();
    if (!table) return nullptr;
    auto found = table->find(handle);
    if (found == table->end() && opaque(handle)) {
      uint64_t bound;
      std::memcpy(&bound, reinterpret_cast<const void*>(handle), sizeof bound);
      found = table->find(bound);
    }
    if (found == table->end()) return nullptr;
    const Texture& t = found->second;
    bool either = form_.op == TextureOp::kQuery;
    if (!either && t.surface != wants_surface()) return nullptr;
    sampler_ = samplerref_ ? sampler_of(*samplerref_, t.sampler) : t.sampler;
    last_handle_ = handle;
    last_ = &t;
    return last_;
  }

  bool is_type(uint64_t handle) const {
    constexpr ptx::Type kTypes[] = {ptx::Type::k_texref, ptx::Type::k_surfref, ptx::Type::k_samplerref};
    if (const ptx::Variable* v = opaque(handle)) return v->type == kTypes[form_.kind];
    if (!settings_.textures || form_.kind > 1) return false;
    auto found = settings_.textures->find(handle);
    return found != settings_.textures->end() && found->second.surface == (form_.kind == 1);
  }

  std::optional<LaneFault> sample_lane(const Texture& t, size_t l) {
    Sampled s = sample(t, sampler_, call_, l, access_);
    for (size_t i = 0; i < 4; ++i) call_.value[i][l] = s.texel[i];
    if (s.bad.bytes) return memory_fault(t, s.bad.address, s.bad.bytes, false);
    return std::nullopt;
  }

  std::optional<LaneFault> surface_lane(const Texture& t, size_t l) {
    auto coordinate = [&](size_t i) { return static_cast<int32_t>(call_.coordinate[i][l]); };
    size_t first = form_.layered ? 1 : 0;
    SurfaceAt at{.x = coordinate(first)};
    if (form_.dimensions > 1) at.y = coordinate(first + 1);
    if (form_.dimensions > 2) at.z = coordinate(2);
    if (form_.layered) at.z = coordinate(0);
    SurfacePlace place = place_on_surface(t, form_, at, access_);
    uint64_t value[4] = {};
    switch (place.fault) {
      case SurfaceFault::kNone: break;
      case SurfaceFault::kMemory: return memory_fault(t, *place.address, place.bytes, form_.op != TextureOp::kLoad);
      case SurfaceFault::kMisaligned:
        return LaneFault{
            FaultKind::kMisaligned, *place.address, place.bytes, fmt::format("x {} of {}", at.x, described(t)), {}};
      case SurfaceFault::kOutside:
        return LaneFault{FaultKind::kOutOfBounds,
                         *place.address,
                         place.bytes,
                         fmt::format("{} is outside of {}", place_text(at), described(t)),
                         {}};
    }
    if (!place.address) {
      for (auto& v : call_.value) {
        if (form_.op == TextureOp::kLoad) v[l] = 0;
      }
      return std::nullopt;
    }
    for (size_t i = 0; i < 4; ++i) value[i] = call_.value[i][l];
    if (form_.op == TextureOp::kLoad) {
      load_surface(form_, *place.address, value);
      for (size_t i = 0; i < 4; ++i) call_.value[i][l] = value[i];
      return std::nullopt;
    }
    if (form_.op == TextureOp::kStore) {
      store_surface(t, form_, *place.address, value);
    } else {
      reduce_surface(t, form_, *place.address, value[0]);
    }
    access_.mark_written(*place.address, place.bytes);
    return std::nullopt;
  }

  std::string place_text(const SurfaceAt& at) const {
    std::string out = fmt::format("x {}{}", at.x, form_.formatted ? "" : " (in bytes)");
    if (form_.dimensions > 1) out += fmt::format(", y {}", at.y);
    if (form_.dimensions > 2) out += fmt::format(", z {}", at.z);
    if (form_.layered) out += fmt::format(", layer {}", at.z);
    return out;
  }

  // What is wrong with the bytes of an element: the slow truth of TexelAccess.
  LaneFault memory_fault(const Texture& t, uint64_t address, int32_t bytes, bool write) const {
    const Memory& memory = program_.memory();
    auto allocation = memory.find(address);
    FaultKind kind = FaultKind::kUninitialised;
    if (!memory.contains(address, bytes)) {
      kind = allocation && allocation->released ? FaultKind::kUseAfterFree : FaultKind::kOutOfBounds;
    } else if (write && (allocation->holds == Holds::kConstant || allocation->holds == Holds::kParameter)) {
      kind = FaultKind::kReadOnly;
    }
    return {kind, address, bytes, neighbourhood(memory, address), "it belongs to " + described(t)};
  }

  const Program& program_;
  const Settings& settings_;
  TextureCall& call_;
  const TextureForm& form_;
  TexelAccess access_;
  const ptx::Variable* samplerref_;
  const Texture* last_ = nullptr;
  uint64_t last_handle_ = 0;
  Sampler sampler_;
};

}  // namespace

int32_t Services::texture(WarpRun& run, int32_t site, uint32_t lanes, TextureCall& call) {
  Grid& grid = *run.block->grid;
  const ptx::Instruction& in = grid.compiled_.function->instructions[static_cast<size_t>(site)];
  WarpTexture warp(grid.program_, grid.settings_, in, call);
  std::optional<LaneFault> first;
  uint32_t bad = 0;
  for (uint32_t left = lanes; left; left &= left - 1) {
    auto l = static_cast<size_t>(std::countr_zero(left));
    auto wrong = warp.lane(l);
    if (!wrong) continue;
    if (!first) first = wrong;
    if (wrong->kind == first->kind) bad |= 1u << l;
  }
  if (!first) return 0;
  Fault f = grid.located(first->kind, run.warp, site, bad);
  f.access = access_of(call.form.op);
  f.address = first->address;
  f.bytes = first->bytes;
  f.memory = std::move(first->memory);
  f.detail = std::move(first->detail);
  grid.keep(std::move(f));
  return 1;
}

}  // namespace quern::vgpu
