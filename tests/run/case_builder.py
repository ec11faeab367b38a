"""From arguments to a case: what the driver runs, and what the NumPy program says about it.

A case is a dict:

  kernel, family   names; the kernel stands in kernels/<family>.qn
  dims             dimensions that the caller gives: {"W": 3}
  types            element types that the caller gives: {"T": "bf16"}
  args             name to array as stored (raw bits for types that NumPy lacks) or to a Python number
  expect           name to float64 or int64 array: the truth, not yet rounded to the result's type
  slack            name to an absolute error allowed beside the usual few ulps (sums whose order and rounding are free)
  expect_exit      0, or the exit code of a run that must be refused; `code` is then what it must name

`expect` is computed from the values of the arguments after they were rounded to their types, so the kernel and its
judge start from the same numbers.
"""

import importlib
import inspect
import warnings
import zlib

import numpy as np

from signatures import Signature, library
from small_floats import RAW_TYPES, decode, encode, is_real, magnitudes, pack4

CYCLE = ("f64", "f64", "f32", "f64", "bf16", "f64", "f16")


def type_number(i: int) -> str:
    """Mostly f64, now and then another, so that every shape list meets all types."""
    return CYCLE[i % len(CYCLE)]


def normal(rng: np.random.Generator, kind: str, *shape: int, scale: float = 1.0) -> np.ndarray:
    """Normal numbers, rounded to a type and stored."""
    return encode(rng.normal(size=shape) * scale, kind)


def whole(rng: np.random.Generator, kind: str, *shape: int, most: int = 3) -> np.ndarray:
    """Small whole numbers of a real type: sums of their products are exact and ties are common."""
    return encode(rng.integers(-most, most + 1, shape).astype(float), kind)


def integers(rng: np.random.Generator, low: int, high: int, *shape: int, kind: str = "i32") -> np.ndarray:
    """Uniform in [low, high)."""
    return encode(rng.integers(low, high, shape), kind)


def codes(rng: np.random.Generator, kind: str, *shape: int) -> np.ndarray:
    """Every finite value of a small type equally often, stored; `shape` is the logical one."""
    if kind in ("u4", "i4", "f4e2m1"):
        return pack4(rng.integers(0, 16, shape))
    finite = int(np.isfinite(magnitudes(kind)).sum())
    sign = rng.integers(0, 2, shape) * len(magnitudes(kind))
    return (rng.integers(0, finite, shape) + sign).astype("<" + RAW_TYPES[kind])


def put(array: np.ndarray, kind: str, where, value: float) -> np.ndarray:
    """A stored array with one value (or the values of an index expression) replaced."""
    array = array.copy()
    array[where] = encode(np.asarray(value, float), kind)
    return array


def element_type(declared: str, types: dict[str, str]) -> str:
    return types.get(declared, declared)


def stored_scalar(value, kind: str):
    """The number that a scalar parameter of this type holds."""
    return float(decode(encode(np.asarray(float(value)), kind), kind)) if is_real(kind) else int(value)


def build(kernel: str, T: str | None = None, dims: dict | None = None, slack: dict | None = None, **args) -> dict:
    """A case whose expectation comes from the NumPy program of the same name."""
    case = bare_case(kernel, T, dims, args)
    case["slack"] = slack or {}
    case["expect"] = judge(case)
    return case


def refused(kernel: str, T: str | None = None, dims: dict | None = None, code: str = "", **args) -> dict:
    """A case whose data a run must refuse: exit code 1, and `code` in what it prints."""
    return bare_case(kernel, T, dims, args) | {"expect_exit": 1, "code": code}


def bare_case(kernel: str, T: str | None, dims: dict | None, args: dict) -> dict:
    head, types = library()[kernel], {"T": T} if T else {}
    for p in head.parameters:
        if p.name in args and p.rank == 0:
            args[p.name] = stored_scalar(args[p.name], element_type(p.type, types))
    return dict(kernel=kernel, family=head.family, dims=dims or {}, types=types, args=args, expect={}, slack={},
                expect_exit=0)


def values_of(case: dict, head: Signature) -> dict:
    """The arguments as numbers: float64 and int64 arrays, Python scalars."""
    values = {}
    for p in head.parameters:
        if p.name in case["args"]:
            given = case["args"][p.name]
            values[p.name] = decode(given, element_type(p.type, case["types"])) if p.rank else given
    return values


def judge(case: dict) -> dict[str, np.ndarray]:
    """What the NumPy program says: output name to its values."""
    head = library()[case["kernel"]]
    program = getattr(importlib.import_module("reference." + head.family), head.name)
    extra = {"T": case["types"]["T"]} if "T" in inspect.signature(program).parameters else {}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        answer = program(**values_of(case, head), **case["dims"], **extra)
    outputs = head.outputs()
    answers = answer if len(outputs) > 1 else (answer,)
    if len(answers) != len(outputs):
        raise ValueError(f"{head.name}: {len(answers)} answers for {len(outputs)} outputs")
    return {p.name: np.asarray(a, float if is_real(element_type(p.type, case["types"])) else np.int64)
            for p, a in zip(outputs, answers)}


def cases_of(kernel: str, seed: int) -> list[dict]:
    """All cases of a kernel; the same seed gives the same cases, whichever kernels are asked for."""
    module = importlib.import_module("cases." + library()[kernel].family)
    rng = np.random.default_rng([seed, zlib.crc32(kernel.encode())])
    return list(getattr(module, kernel)(rng))
