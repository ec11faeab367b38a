"""Element types between their bits and their values, for the types that NumPy has and for those it lacks.

A case holds its arrays as they lie in memory: f16 and wider as NumPy has them, bf16 as u2, the 8-bit floats as u1, the
4-bit types two elements a byte along the last dimension, the even one in the low half. A NumPy program that judges a
kernel wants their values as float64 or int64. `decode` and `encode` go between the two; `encode` rounds to nearest
even, once, straight from float64 (no detour over f32, which would round twice).

All formats without NumPy support are small enough to list: the values of the non-negative codes, which grow with the
code. Rounding is then a search in that list, and a tie goes to the even code, whose last mantissa bit is 0.

  f8e4m3   OCP FN: no infinity, NaN is S.1111.111, largest 448
  f8e5m2   IEEE-like: infinity and NaN exist for reading; writing saturates at 57344
  f8e8m0   2^(byte - 127), no sign, no zero, 255 is NaN
  f4e2m1   0 0.5 1 1.5 2 3 4 6 and their negatives
"""

import functools

import numpy as np

NUMPY_TYPES = {"f64": "f8", "f32": "f4", "f16": "f2", "i64": "i8", "i32": "i4", "i16": "i2", "i8": "i1", "u32": "u4",
               "u8": "u1", "bool": "b1"}
RAW_TYPES = {"bf16": "u2", "f8e4m3": "u1", "f8e5m2": "u1", "f8e8m0": "u1", "f4e2m1": "u1", "i4": "u1", "u4": "u1"}
FOUR_BIT = ("f4e2m1", "i4", "u4")
# exponent bits, mantissa bits, bias; the bits of a type are these and a sign
FORMATS = {"bf16": (8, 7, 127), "f8e4m3": (4, 3, 7), "f8e5m2": (5, 2, 15), "f4e2m1": (2, 1, 1)}
MANTISSA_BITS = {"f64": 52, "f32": 23, "f16": 10, "bf16": 7, "f8e4m3": 3, "f8e5m2": 2, "f4e2m1": 1, "f8e8m0": 0}
LEAST_EXPONENT = {"f64": -1022, "f32": -126, "f16": -14, "bf16": -126, "f8e4m3": -6, "f8e5m2": -14, "f4e2m1": 0,
                  "f8e8m0": -127}


def is_real(kind: str) -> bool:
    return kind in MANTISSA_BITS


def storage_dtype(kind: str) -> np.dtype:
    """The dtype of the .npy file that holds an array of this type."""
    return np.dtype("<" + (NUMPY_TYPES.get(kind) or RAW_TYPES[kind]))


@functools.lru_cache(maxsize=None)
def magnitudes(kind: str) -> np.ndarray:
    """Values of the codes without sign, ascending; infinities and NaN included where the format has them."""
    exponent_bits, mantissa_bits, bias = FORMATS[kind]
    code = np.arange(1 << (exponent_bits + mantissa_bits))
    exponent, mantissa = code >> mantissa_bits, code & ((1 << mantissa_bits) - 1)
    scale = 1 << mantissa_bits
    fraction = mantissa / scale
    value = np.where(exponent == 0, np.ldexp(fraction, 1 - bias), np.ldexp(1 + fraction, exponent - bias))
    top = (1 << exponent_bits) - 1
    if kind in ("bf16", "f8e5m2"):
        value[exponent == top] = np.nan
        value[(exponent == top) & (mantissa == 0)] = np.inf
    elif kind == "f8e4m3":
        value[-1] = np.nan
    return value


def unpack4(raw: np.ndarray) -> np.ndarray:
    """Bytes to nibbles, [..., K / 2] to [..., K]."""
    raw = np.asarray(raw, np.uint8)
    return np.stack([raw & 15, raw >> 4], -1).reshape(*raw.shape[:-1], 2 * raw.shape[-1])


def pack4(nibbles: np.ndarray) -> np.ndarray:
    """Nibbles to bytes, [..., K] to [..., K / 2]; K must be even."""
    nibbles = np.asarray(nibbles).astype(np.int64) & 15
    if nibbles.shape[-1] % 2:
        raise ValueError("two elements share a byte: the last dimension must be even")
    return (nibbles[..., 0::2] | nibbles[..., 1::2] << 4).astype(np.uint8)


def decode(raw: np.ndarray, kind: str) -> np.ndarray:
    """Stored bits to values: float64 for real types, int64 for integers, bool."""
    raw = np.asarray(raw)
    if kind == "bool":
        return raw != 0
    if kind in NUMPY_TYPES:
        return raw.astype(np.float64 if is_real(kind) else np.int64)
    if kind == "u4":
        return unpack4(raw).astype(np.int64)
    if kind == "i4":
        return (unpack4(raw).astype(np.int64) ^ 8) - 8
    if kind == "f8e8m0":
        return np.where(raw == 255, np.nan, np.ldexp(1.0, raw.astype(np.int64) - 127))
    code = (unpack4(raw) if kind == "f4e2m1" else raw).astype(np.int64)
    table = magnitudes(kind)
    size = len(table)
    return np.where(code >= size, -1.0, 1.0) * table[code % size]


def encode(values: np.ndarray, kind: str) -> np.ndarray:
    """Values to stored bits: to nearest even, overflow to infinity at 16 bits and more, to the largest below."""
    values = np.asarray(values)
    if kind in NUMPY_TYPES:
        with np.errstate(over="ignore", invalid="ignore"):
            return values.astype(storage_dtype(kind))
    if kind in ("u4", "i4"):
        return pack4(values)
    values = values.astype(np.float64)
    if kind == "f8e8m0":
        return encode_power_of_two(values)
    table = magnitudes(kind)
    finite = table[np.isfinite(table)]
    code = nearest_code(np.abs(values), finite)
    if kind == "bf16":  # half an ulp past the largest value starts infinity
        edge = finite[-1] + (finite[-1] - finite[-2]) / 2
        code = np.where(np.abs(values) >= edge, len(finite), code)
    if kind == "f4e2m1" and np.isnan(values).any():
        raise ValueError("f4e2m1 has no NaN")
    if kind != "f4e2m1":
        code = np.where(np.isnan(values), len(table) - 1, code)
    code = code + np.where(np.signbit(values), len(table), 0)
    return pack4(code) if kind == "f4e2m1" else code.astype(storage_dtype(kind))


def nearest_code(magnitude: np.ndarray, finite: np.ndarray) -> np.ndarray:
    """Index of the nearest entry of an ascending list of finite values, ties to the even index, saturating."""
    magnitude = np.nan_to_num(magnitude, nan=0.0, posinf=finite[-1])
    above = np.clip(np.searchsorted(finite, magnitude), 1, len(finite) - 1)
    below = above - 1
    middle = finite[below] + (finite[above] - finite[below]) / 2
    up = (magnitude > middle) | ((magnitude == middle) & (above % 2 == 0))
    return np.where(up, above, below)


def encode_power_of_two(values: np.ndarray) -> np.ndarray:
    finite = np.ldexp(1.0, np.arange(255) - 127)
    code = nearest_code(np.maximum(values, 0), finite)
    return np.where(np.isnan(values), 255, code).astype(np.uint8)


def round_to(values: np.ndarray, kind: str) -> np.ndarray:
    """Values of a real type, as float64, after one rounding to it."""
    if kind == "f64":
        return np.asarray(values, np.float64)
    if kind in FOUR_BIT and np.asarray(values).shape[-1:] and np.asarray(values).shape[-1] % 2:
        raise ValueError("two elements share a byte: the last dimension must be even")
    return decode(encode(values, kind), kind)


def ulp(values: np.ndarray, kind: str) -> np.ndarray:
    """Distance of neighbouring values of a type at the magnitude of these."""
    magnitude = np.abs(np.nan_to_num(values, nan=0.0, posinf=0.0, neginf=0.0))
    _, exponent = np.frexp(magnitude)
    exponent = np.maximum(exponent - 1, LEAST_EXPONENT[kind])
    return np.ldexp(1.0, exponent - MANTISSA_BITS[kind])
