// A tile program from text, compiled for a processor and run on arrays.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <random>

#include "jitted.h"
#include "tile/parse.h"

namespace quern::target {

struct Ran {
  jit::Report report{.found = jit::keep_first};
  bool ok = false;
};

class Jitted {
 public:
  Jitted(const std::string& text, const jit::CpuTarget& cpu) {
    auto parsed = tile::parse(Source::make("<test>", text));
    if (!parsed) {
      ADD_FAILURE() << render(parsed.error());
      return;
    }
    program_ = std::move(*parsed);
    compile(cpu);
  }
  Jitted(tile::Program program, const jit::CpuTarget& cpu) : program_(std::move(program)) { compile(cpu); }

  explicit operator bool() const { return ok_; }

  // An address for each parameter, in order. Sizes of dyn dims in their order. The grid is walked in `pieces`.
  Ran operator()(std::vector<void*> params, std::map<std::string, int64_t> dyn = {}, int pieces = 1) const {
    Ran out;
    if (!ok_) return out;
    std::vector<int64_t> dims;
    for (const tile::Dim& d : program_.dims) dims.push_back(d.value ? *d.value : dyn.at(d.name.str()));
    for (const auto& [code, entry] : kernels_) {
      auto size = [&](const char* suffix) {
        return reinterpret_cast<jit::KernelSize>(code->entry(entry + suffix))(params.data(), dims.data());
      };
      int64_t points = size("_points"), bytes = size("_arena");
      // Guard bytes on both sides, which must not change.
      std::vector<unsigned char> arena(static_cast<size_t>(bytes) + 256, 0xa5);
      unsigned char* begin = arena.data() + 128 - reinterpret_cast<uintptr_t>(arena.data() + 128) % 64;
      auto run = reinterpret_cast<jit::Kernel>(code->entry(entry));
      for (int i = 0; i < pieces; ++i) {
        run(params.data(), dims.data(), points * i / pieces, points * (i + 1) / pieces, begin, &out.report);
      }
      for (unsigned char* p = arena.data(); p < begin; ++p) EXPECT_EQ(*p, 0xa5) << "in front of the arena";
      for (unsigned char* p = begin + bytes; p < arena.data() + arena.size(); ++p)
        EXPECT_EQ(*p, 0xa5) << "behind the arena";
    }
    out.ok = true;
    return out;
  }
  const tile::Program& program() const { return program_; }
  const std::string& ir() const { return ir_; }

 private:
  void compile(const jit::CpuTarget& cpu) {
    for (size_t k = 0; k < program_.kernels.size(); ++k) {
      auto emitted = emit_x86(program_, k, cpu);
      if (!emitted) {
        ADD_FAILURE() << said(emitted.error());
        return;
      }
      if (getenv("QUERN_SHOW_IR")) puts(emitted->ir.c_str());
      ir_ += emitted->ir;
      kernels_.push_back({machine_code(emitted->ir, cpu), emitted->entry});
      if (!kernels_.back().first) return;
    }
    ok_ = true;
  }

  tile::Program program_;
  std::vector<std::pair<std::shared_ptr<const jit::MachineCode>, std::string>> kernels_;
  std::string ir_;
  bool ok_ = false;
};

inline std::vector<float> random_floats(int64_t n, uint32_t seed, float from = -2, float to = 2) {
  std::mt19937 g(seed);
  std::uniform_real_distribution<float> d(from, to);
  std::vector<float> out(static_cast<size_t>(n));
  for (float& f : out) f = d(g);
  return out;
}

// Memory that ends where it says it ends: `n` elements in front of bytes that must stay as they are.
template <class T>
class Guarded {
 public:
  explicit Guarded(int64_t n, T fill = T()) : size_(static_cast<size_t>(n)), all_(size_ + 64, fill) {
    std::memset(static_cast<void*>(all_.data() + size_), 0x5a, 64 * sizeof(T));
  }
  ~Guarded() {
    auto p = reinterpret_cast<const unsigned char*>(all_.data() + size_);
    for (size_t i = 0; i < 64 * sizeof(T); ++i) EXPECT_EQ(p[i], 0x5a) << "written behind the end";
  }
  T* data() { return all_.data(); }
  T& operator[](int64_t i) { return all_[static_cast<size_t>(i)]; }

 private:
  size_t size_;
  std::vector<T> all_;
};

// {name} in a text becomes what the map says.
inline std::string filled(std::string text, const std::map<std::string, std::string>& values) {
  for (const auto& [name, value] : values) {
    for (size_t at; (at = text.find("{" + name + "}")) != std::string::npos;) text.replace(at, name.size() + 2, value);
  }
  return text;
}

}  // namespace quern::target
