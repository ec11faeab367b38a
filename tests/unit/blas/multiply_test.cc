// Products of matrices: the plain way against a triple loop in f64, every fast way against the plain one, bit by bit.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "blas/product.h"
#include "jit/cpu_target.h"

namespace quern::blas {
namespace {

using Complex = std::complex<double>;

struct Case {
  Number factors, result;
  Op op_a, op_b;
  int64_t m, n, k;
  Complex alpha, beta;
};

Complex value(Number type, const std::vector<std::byte>& data, int64_t i) {
  return with_type(type, [&]<class T>(T) {
    T v;
    std::memcpy(&v, data.data() + i * int64_t{sizeof v}, sizeof v);
    if constexpr (is_complex(number_of<T>)) {
      return Complex(v);
    } else if constexpr (std::is_integral_v<T>) {
      return Complex(v);
    } else {
      return Complex(widen(v));
    }
  });
}

std::vector<std::byte> random_matrix(Number type, int64_t count, std::mt19937& random) {
  std::vector<std::byte> out(static_cast<size_t>(count * bytes_of(type)));
  std::uniform_real_distribution<float> real(-1, 1);
  std::uniform_int_distribution<int> whole(-128, 127);
  for (int64_t i = 0; i < count; ++i) {
    with_type(type, [&]<class T>(T) {
      T v;
      if constexpr (is_complex(number_of<T>)) {
        v = T(real(random), real(random));
      } else if constexpr (std::is_integral_v<T>) {
        v = static_cast<T>(whole(random));
      } else if constexpr (std::is_same_v<T, Half>) {
        v = to_half(real(random));
      } else if constexpr (std::is_same_v<T, Brain>) {
        v = to_brain(real(random));
      } else {
        v = real(random);
      }
      std::memcpy(out.data() + i * int64_t{sizeof v}, &v, sizeof v);
    });
  }
  return out;
}

double precision(Number type) {
  switch (type) {
    case Number::kF16: return 0x1p-10;
    case Number::kBf16: return 0x1p-7;
    case Number::kF64:
    case Number::kC64: return 0x1p-50;
    case Number::kS32: return 0;
    default: return 0x1p-21;
  }
}

struct Matrices {
  std::vector<std::byte> a, b, c;
  Product p;
};

Matrices make(const Case& t, unsigned seed) {
  std::mt19937 random(seed);
  Matrices out;
  Product& p = out.p;
  p = {t.op_a, t.op_b, t.m, t.n, t.k, t.factors, t.result};
  p.lda = (is_transposed(t.op_a) ? t.k : t.m) + 3;
  p.ldb = (is_transposed(t.op_b) ? t.n : t.k) + 1;
  p.ldc = t.m + 2;
  p.alpha = t.alpha;
  p.beta = t.beta;
  out.a = random_matrix(t.factors, p.lda * (is_transposed(t.op_a) ? t.m : t.k), random);
  out.b = random_matrix(t.factors, p.ldb * (is_transposed(t.op_b) ? t.k : t.n), random);
  out.c = random_matrix(t.result, p.ldc * t.n, random);
  p.a = out.a.data();
  p.b = out.b.data();
  return out;
}

std::vector<Case> cases() {
  std::vector<Case> out;
  constexpr std::pair<Number, Number> kTypes[] = {{Number::kF32, Number::kF32},   {Number::kF64, Number::kF64},
                                                  {Number::kF16, Number::kF16},   {Number::kF16, Number::kF32},
                                                  {Number::kBf16, Number::kBf16}, {Number::kBf16, Number::kF32},
                                                  {Number::kS8, Number::kS32},    {Number::kS8, Number::kF32},
                                                  {Number::kC32, Number::kC32},   {Number::kC64, Number::kC64}};
  for (auto [factors, result] : kTypes) {
    bool complex = is_complex(factors);
    for (Op op_a : {Op::kNone, Op::kTransposed, Op::kAdjoint, Op::kConjugate}) {
      for (Op op_b : {Op::kNone, Op::kTransposed, Op::kAdjoint, Op::kConjugate}) {
        out.push_back(
            {factors, result, op_a, op_b, 37, 21, 19, complex ? Complex(2, -1) : 2, complex ? Complex(-1, 3) : -1});
      }
    }
    // More than one tile, more than one piece of k.
    out.push_back({factors, result, Op::kNone, Op::kTransposed, 131, 123, 300, 1, 0});
    out.push_back({factors, result, Op::kTransposed, Op::kNone, 130, 3, 513, -1, 1});
    out.push_back({factors, result, Op::kNone, Op::kNone, 1, 260, 17, 1, 0});
  }
  return out;
}

TEST(Multiply, PlainAgreesWithATripleLoop) {
  unsigned seed = 0;
  for (const Case& t : cases()) {
    Matrices x = make(t, ++seed);
    std::vector<std::byte> before = x.c;
    x.p.c = x.c.data();
    multiply_plain(x.p);
    for (int64_t j = 0; j < t.n; ++j) {
      for (int64_t i = 0; i < x.p.ldc; ++i) {
        Complex found = value(t.result, x.c, i + j * x.p.ldc), old = value(t.result, before, i + j * x.p.ldc);
        if (i >= t.m) {
          ASSERT_EQ(found, old) << "between columns";
          continue;
        }
        Complex sum = 0;
        double size = std::abs(t.beta) * std::abs(old);
        for (int64_t s = 0; s < t.k; ++s) {
          Complex a = value(t.factors, x.a, is_transposed(t.op_a) ? s + i * x.p.lda : i + s * x.p.lda);
          Complex b = value(t.factors, x.b, is_transposed(t.op_b) ? j + s * x.p.ldb : s + j * x.p.ldb);
          if (is_conjugate(t.op_a)) a = std::conj(a);
          if (is_conjugate(t.op_b)) b = std::conj(b);
          sum += a * b;
          size += std::abs(t.alpha) * std::abs(a * b);
        }
        Complex expected = t.alpha * sum + t.beta * old;
        double unit =
            t.result == Number::kS32
                ? 0
                : precision(t.result) +
                      static_cast<double>(t.k) *
                          precision(t.factors == Number::kF64 || t.factors == Number::kC64 ? t.factors : Number::kF32) /
                          4;
        ASSERT_LE(std::abs(found - expected), unit * size) << "seed " << seed << " at " << i << ", " << j;
      }
    }
  }
}

TEST(Multiply, EveryLevelGivesTheSameBits) {
  unsigned seed = 100;
  for (const Case& t : cases()) {
    Matrices x = make(t, ++seed);
    std::vector<std::byte> expected = x.c;
    x.p.c = expected.data();
    multiply_plain(x.p);
    for (auto level : {jit::VectorLevel::kSse2, jit::VectorLevel::kAvx2, jit::VectorLevel::kAvx512}) {
      if (!jit::runs_here(jit::cpu_of(level))) continue;
      std::vector<std::byte> found = x.c;
      x.p.c = found.data();
      multiply(x.p, 3, level);
      ASSERT_EQ(found, expected) << "seed " << seed << ", " << jit::name(level);
    }
  }
}

TEST(Multiply, WhatIsMultipliedByZeroIsNotRead) {
  float nan = std::numeric_limits<float>::quiet_NaN();
  for (int64_t size : {int64_t{3}, int64_t{40}}) {
    auto count = static_cast<size_t>(size * size);
    std::vector<float> ones(count, 1), nans(count, nan), c = nans;
    Product p{Op::kNone, Op::kNone, size, size, size};
    p.lda = p.ldb = p.ldc = size;
    p.a = p.b = ones.data();
    p.c = c.data();
    multiply(p);
    EXPECT_EQ(c, std::vector<float>(count, static_cast<float>(size)));
    p.a = p.b = nullptr;
    p.alpha = 0;
    p.beta = 2;
    multiply(p);
    EXPECT_EQ(c, std::vector<float>(count, 2 * static_cast<float>(size)));
    p.a = nans.data();
    p.b = ones.data();
    p.alpha = 1;
    multiply(p);
    EXPECT_TRUE(std::isnan(c[0]));
    p.k = 0;
    p.beta = 0;
    multiply(p);
    EXPECT_EQ(c, std::vector<float>(count, 0));
  }
}

TEST(Multiply, IntegersWrap) {
  std::vector<int8_t> a(200000, -128);
  int32_t c = 5;
  Product p{Op::kTransposed, Op::kNone, 1, 1, 200000, Number::kS8, Number::kS32};
  p.a = p.b = a.data();
  p.lda = p.ldb = 200000;
  p.c = &c;
  p.ldc = 1;
  p.beta = 1;
  multiply(p);
  EXPECT_EQ(c, static_cast<int32_t>(static_cast<uint32_t>(200000LL * 128 * 128 + 5)));
}

}  // namespace
}  // namespace quern::blas
