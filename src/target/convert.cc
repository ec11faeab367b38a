#include "target/convert.h"

#include <fmt/format.h>

#include <bit>
#include <limits>

namespace quern::target {
namespace {

// A real format below 32 bits, as in base/scalar_type.cc. `code` is what exponent and mantissa make together.
struct Format {
  int mantissa, bias;
  int64_t largest, too_large, nan, sign;
};

Format format_of(ScalarType type) {
  switch (type) {
    case ScalarType::f16: return {10, 15, 0x7bff, 0x7c00, 0x7e00, 0x8000};
    case ScalarType::bf16: return {7, 127, 0x7f7f, 0x7f80, 0x7fc0, 0x8000};
    case ScalarType::f8e4m3: return {3, 7, 0x7e, 0x7e, 0x7f, 0x80};
    case ScalarType::f8e5m2: return {2, 15, 0x7b, 0x7b, 0x7e, 0x80};
    default: return {1, 1, 7, 7, 7, 8};  // f4e2m1: a NaN is its largest value
  }
}

struct Cast {
  Writer& w;
  const Features& has;
  int lanes;

  Type type(Base base) const { return {base, lanes}; }
  Value i32(int64_t v) const { return constant(type(Base::i32), v); }
  Value f32(double v) const { return real_constant(type(Base::f32), v); }
  Value to_f32(const Value& bits) const { return w.bitcast(bits, type(Base::f32)); }

  Value decode(const Value& v, ScalarType from) const {
    if (from == ScalarType::f16 && has.half) return w.convert("fpext", w.bitcast(v, type(Base::f16)), Base::f32);
    Value u = w.convert("zext", v, Base::i32);
    if (from == ScalarType::bf16) return to_f32(w.binary("shl", u, i32(16)));
    if (from == ScalarType::f8e8m0) {
      Value power = w.binary("shl", u, i32(23));
      power = w.select(w.compare("eq", u, i32(0)), i32(0x00400000), power);  // 2^-127 is below the normal numbers
      return to_f32(w.select(w.compare("eq", u, i32(255)), i32(0x7fc00000), power));
    }
    // Exponent and mantissa moved into an f32's place and scaled by the difference of the biases: exact, for numbers
    // below the normal ones too.
    Format f = format_of(from);
    int shift = 23 - f.mantissa;
    Value code = w.binary("and", u, i32(f.sign - 1));
    Value moved = w.binary("shl", code, i32(shift));
    Value value = w.binary("fmul", to_f32(moved), f32(std::bit_cast<float>(static_cast<uint32_t>(254 - f.bias) << 23)));
    Value bits = w.bitcast(value, type(Base::i32));
    if (from == ScalarType::f8e4m3) bits = w.select(w.compare("eq", code, i32(0x7f)), i32(0x7fc00000), bits);
    if (from == ScalarType::f16 || from == ScalarType::f8e5m2) {
      Value top = i32(f.too_large);
      if (from == ScalarType::f8e5m2) top = i32(0x7c);
      bits = w.select(w.compare("uge", code, top), w.binary("or", moved, i32(0x7f800000)), bits);
    }
    int sign_shift = 31 - std::countr_zero(static_cast<uint64_t>(f.sign));
    Value sign = w.binary("shl", w.binary("and", u, i32(f.sign)), i32(sign_shift));
    return to_f32(w.binary("or", bits, sign));
  }

  // Rounded toward zero with the last bit set where something was lost: rounding that to 22 bits or fewer gives what
  // rounding the f64 would have given.
  Value to_odd(const Value& v) const {
    Value near = w.convert("fptrunc", v, Base::f32);
    Value back = w.convert("fpext", near, Base::f64);
    Value bits = w.bitcast(near, type(Base::i32));
    Value lost = w.compare("une", back, v);
    Value beyond = w.compare("ogt", w.intrinsic("fabs", back.type, {back}), w.intrinsic("fabs", v.type, {v}));
    bits = w.sub(bits, w.convert("zext", beyond, Base::i32));
    bits = w.binary("or", bits, w.convert("zext", w.binary("and", lost, w.compare("ord", v, v)), Base::i32));
    return to_f32(bits);
  }

  Value encode(Value v, ScalarType to) const {
    if (v.type.base == Base::f64) v = to_odd(v);
    if (to == ScalarType::f16 && has.half) {
      return w.bitcast(w.convert("fptrunc", v, Base::f16), type(Base::i16));
    }
    Value u = w.bitcast(v, type(Base::i32));
    Value magnitude = w.binary("and", u, i32(0x7fffffff));
    Value is_nan = w.compare("ugt", magnitude, i32(0x7f800000));
    Base narrow = register_base(to);
    if (to == ScalarType::f8e8m0) {
      // To the nearest power of two, at 1.5 to the even exponent; below the normal numbers there are 2^-127 and 2^-126.
      Value half = w.add(w.binary("and", w.binary("lshr", magnitude, i32(23)), i32(1)), i32(0x3fffff));
      Value code = w.binary("lshr", w.add(magnitude, half), i32(23));
      // 1.5 * 2^-127 lies between the bytes 0 and 1 and goes to 0.
      Value small = w.convert("zext", w.compare("ugt", magnitude, i32(0x00600000)), Base::i32);
      code = w.select(w.compare("ult", magnitude, i32(0x00800000)), small, code);
      code = w.select(w.compare("ugt", code, i32(254)), i32(254), code);
      code = w.select(w.compare("slt", u, i32(0)), i32(0), code);
      return w.convert("trunc", w.select(is_nan, i32(255), code), narrow);
    }
    Format f = format_of(to);
    int drop = 23 - f.mantissa;
    Value odd = w.binary("and", w.binary("lshr", magnitude, i32(drop)), i32(1));
    Value rounded = w.add(w.add(magnitude, i32((int64_t{1} << (drop - 1)) - 1)), odd);
    Value code = w.sub(w.binary("lshr", rounded, i32(drop)), i32(static_cast<int64_t>(127 - f.bias) << f.mantissa));
    if (f.bias != 127) {
      // Below the normal numbers: adding a number whose last bit is the format's least rounds to it.
      int exponent = 1 - f.bias - f.mantissa + 23;
      Value magic = f32(std::bit_cast<float>(static_cast<uint32_t>(exponent + 127) << 23));
      Value sum = w.binary("fadd", to_f32(magnitude), magic);
      Value small = w.sub(w.bitcast(sum, type(Base::i32)), i32(static_cast<int64_t>(exponent + 127) << 23));
      code = w.select(w.compare("ult", magnitude, i32(static_cast<int64_t>(128 - f.bias) << 23)), small, code);
    }
    code = w.select(w.compare("sgt", code, i32(f.largest)), i32(f.too_large), code);
    int sign_shift = 31 - std::countr_zero(static_cast<uint64_t>(f.sign));
    Value sign = w.binary("and", w.binary("lshr", u, i32(sign_shift)), i32(f.sign));
    code = w.select(is_nan, i32(f.nan), w.binary("or", code, sign));
    return w.convert("trunc", code, narrow);
  }

  Value real_to_integer(const Value& v, ScalarType to) const {
    bool is_unsigned = least_int(to) == 0;
    Base wide = to == ScalarType::i64 ? Base::i64 : Base::i32;
    std::string name =
        fmt::format("llvm.fpto{}i.sat.{}.{}", is_unsigned ? "u" : "s", suffix(type(wide)), suffix(v.type));
    Value out = w.call(name, type(wide), {v});
    if (row(to).bits >= 32) return out;
    Value least = i32(least_int(to)), greatest = i32(greatest_int(to));
    if (is_unsigned) {
      out = w.select(w.compare("ugt", out, greatest), greatest, out);
    } else {
      out = w.smin(w.smax(out, least), greatest);
    }
    return narrowed(out, to);
  }

  // The low bits of an integer.
  Value narrowed(const Value& v, ScalarType to) const {
    Value out = w.convert(bits(v.type.base) > bits(register_base(to)) ? "trunc" : "sext", v, register_base(to));
    if (row(to).bits == 4) out = w.binary("and", out, constant(out.type, 15));
    return out;
  }

  Value widened(const Value& v, ScalarType from) const {
    if (from == ScalarType::i64) return v;
    Base to = lanes > 0 && from != ScalarType::u32 ? Base::i32 : Base::i64;
    if (from == ScalarType::i4) {
      Value four = constant(v.type, 4);
      return w.convert("sext", w.binary("ashr", w.binary("shl", v, four), four), to);
    }
    return w.convert(least_int(from) == 0 ? "zext" : "sext", v, to);
  }
};

}  // namespace

Base register_base(ScalarType type) {
  if (type == ScalarType::f64) return Base::f64;
  if (type == ScalarType::f32) return Base::f32;
  if (type == ScalarType::boolean) return Base::i1;
  return memory_base(type);
}

Base memory_base(ScalarType type) {
  if (type == ScalarType::f64) return Base::f64;
  if (type == ScalarType::f32) return Base::f32;
  return integer_of(row(type).bits < 8 ? 8 : row(type).bits);
}

Value as_integer(Writer& w, const Value& value, Base base) {
  return w.convert(bits(base) > bits(value.type.base) ? "sext" : "trunc", value, base);
}

Value element_constant(ScalarType type, double real, int64_t integer, int lanes) {
  Type t{register_base(type), lanes};
  if (is_real(t)) return real_constant(t, real);
  if (kind(type) == Kind::kReal) return constant(t, static_cast<int64_t>(encode_real(type, real)));
  return constant(t, integer);
}

Value convert(Writer& w, const Features& has, const Value& v, ScalarType from, ScalarType to) {
  if (from == to) return v;
  Cast cast{w, has, v.type.lanes};
  Kind a = kind(from), b = kind(to);
  if (a == Kind::kReal) {
    Value real = is_real(v.type) ? v : cast.decode(v, from);
    if (b == Kind::kBool) return w.compare("une", real, real_constant(real.type, 0));
    if (b == Kind::kInt) return cast.real_to_integer(real, to);
    if (to == ScalarType::f64) return w.convert("fpext", real, Base::f64);
    if (to == ScalarType::f32) return w.convert("fptrunc", real, Base::f32);
    return cast.encode(real, to);
  }
  if (b == Kind::kBool) return w.compare("ne", v, constant(v.type, 0));
  Value wide = a == Kind::kBool ? w.convert("zext", v, cast.lanes > 0 ? Base::i32 : Base::i64) : cast.widened(v, from);
  if (b == Kind::kInt) return to == ScalarType::i64 ? wide : cast.narrowed(wide, to);
  if (to == ScalarType::f32) return w.convert("sitofp", wide, Base::f32);
  Value real = w.convert("sitofp", wide, Base::f64);
  return to == ScalarType::f64 ? real : cast.encode(real, to);
}

}  // namespace quern::target
