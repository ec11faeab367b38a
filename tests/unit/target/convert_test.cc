// Casts, bit for bit as base/scalar_type.h has them: every pattern of 8 and 16 bits and 4, hard and random ones of
// more.
#include "target/convert.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "jitted.h"

namespace quern::target {
namespace {

// Elements as they lie in registers, in memory of that width (bool: a byte).
uint64_t bits_of(const std::vector<char>& bytes, ScalarType type, size_t i) {
  size_t width = static_cast<size_t>(bits(memory_base(type))) / 8;
  uint64_t out = 0;
  std::memcpy(&out, bytes.data() + i * width, width);
  return out;
}

std::vector<uint64_t> patterns(ScalarType type) {
  int n = row(type).bits;
  std::vector<uint64_t> out;
  if (type == ScalarType::boolean) {
    for (int i = 0; i < 64; ++i) out.push_back(static_cast<uint64_t>(i & 1));
    return out;
  }
  if (n <= 16) {
    for (uint64_t i = 0; i < std::max<uint64_t>(64, uint64_t{1} << n); ++i) out.push_back(i & ((uint64_t{1} << n) - 1));
    return out;
  }
  std::mt19937_64 g(11);
  uint64_t mask = n == 64 ? ~uint64_t{0} : (uint64_t{1} << n) - 1;
  for (int i = 0; i < 20000; ++i) out.push_back(g() & mask);
  if (kind(type) == Kind::kInt) {
    for (int s = 0; s < n; ++s) {
      for (int64_t d : {-1, 0, 1})
        out.push_back(((uint64_t{1} << s) + static_cast<uint64_t>(d)) & mask),
            out.push_back((~(uint64_t{1} << s) + static_cast<uint64_t>(d)) & mask);
    }
  } else {
    // Numbers at, beside and halfway between those of every small format.
    auto put = [&](double v) {
      for (double x : {v, std::nextafter(v, 1e300), std::nextafter(v, -1e300)}) {
        out.push_back(encode_real(type, x));
        float f = static_cast<float>(x);
        out.push_back(encode_real(type, std::nextafter(f, 1e30f)));
      }
    };
    for (ScalarType t : {ScalarType::f16, ScalarType::bf16, ScalarType::f8e4m3, ScalarType::f8e5m2, ScalarType::f4e2m1,
                         ScalarType::f8e8m0}) {
      uint64_t count = uint64_t{1} << row(t).bits;
      for (uint64_t b = 0; b + 1 < count; b += count > 256 ? 37 : 1) {
        double v = decode_real(t, b), w = decode_real(t, b + 1);
        put(v);
        put((v + w) / 2);
      }
    }
    for (int s = 0; s < 66; ++s) {
      for (double d : {-1.0, -0.5, 0.0, 0.5, 1.0}) put(std::ldexp(1, s) + d), put(-std::ldexp(1, s) + d);
    }
    for (double v : {0.0, -0.0, 1e-46, 1e-50, 1e39, -1e39, 1e300, std::numeric_limits<double>::infinity(),
                     -std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()})
      put(v);
  }
  while (out.size() % 64 != 0) out.push_back(0);
  return out;
}

void check(const jit::CpuTarget& cpu, int lanes, ScalarType from, ScalarType to) {
  // bool is i1 in registers: a byte here.
  auto load = [&](Writer& w, const Value& v) {
    return from == ScalarType::boolean ? w.compare("ne", v, constant(v.type, 0)) : v;
  };
  auto store = [&](Writer& w, const Value& v) {
    if (to == ScalarType::boolean) return w.convert("zext", v, Base::i8);
    return to == ScalarType::i64 ? as_integer(w, v, Base::i64) : v;
  };
  Mapped f(cpu, lanes, {memory_base(from)}, memory_base(to), [&](Writer& w, const std::vector<Value>& x) {
    return store(w, convert(w, features_of(cpu), load(w, x[0]), from, to));
  });
  ASSERT_TRUE(f);
  std::vector<uint64_t> in = patterns(from);
  size_t width = static_cast<size_t>(bits(memory_base(from))) / 8;
  std::vector<char> a(in.size() * width), b(in.size() * 8);
  for (size_t i = 0; i < in.size(); ++i) std::memcpy(a.data() + i * width, &in[i], width);
  f(b.data(), static_cast<int64_t>(in.size()), a.data());
  for (size_t i = 0; i < in.size(); ++i) {
    uint64_t got = bits_of(b, to, i), want;
    double x = 0;
    if (kind(from) == Kind::kReal) {
      x = decode_real(from, in[i]);
      want = kind(to) == Kind::kReal ? encode_real(to, x) : encode_int(to, truncate_to(to, x));
    } else {
      int64_t v = decode_int(from, in[i]);
      if (kind(to) == Kind::kReal) {
        // Beyond 2^53 the truth itself is rounded first.
        if (to != ScalarType::f64 && std::abs(static_cast<double>(v)) > 0x1p53) continue;
        want = encode_real(to, static_cast<double>(v));
      } else {
        want = encode_int(to, v);
      }
    }
    if (kind(to) == Kind::kReal && std::isnan(decode_real(to, want)) && std::isnan(decode_real(to, got))) continue;
    ASSERT_EQ(got, want) << name(from) << " " << std::hex << in[i] << " (" << x << ") to " << name(to) << ", lanes "
                         << lanes << ", " << jit::name(cpu.level);
  }
}

TEST(Convert, EveryTypeToEveryOther) {
  for (const jit::CpuTarget& cpu : targets()) {
    if (cpu.vector_bytes == 64 && cpu.level == jit::VectorLevel::kAvx2) continue;  // the same code, split
    for (const TypeRow& from : type_rows()) {
      for (const TypeRow& to : type_rows()) {
        // f16 is all that levels differ in.
        bool f16 = from.type == ScalarType::f16 || to.type == ScalarType::f16;
        if (cpu.level != jit::VectorLevel::kSse2 && !f16) continue;
        if (from.type == to.type) continue;  // no cast: the value itself, infinities of f8e5m2 included
        for (int lanes : {0, 8}) {
          check(cpu, lanes, from.type, to.type);
          if (testing::Test::HasFatalFailure()) return;
        }
      }
    }
  }
}

}  // namespace
}  // namespace quern::target
