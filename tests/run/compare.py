"""Is an output what the NumPy program says, up to the rounding that its type allows?

Both sides compute in float64, so a real output may differ by float64's noise (1e-9 of the element, 1e-11 of the
largest) and, where its type is narrower, by two ulps of that type: one because the noise may tip a rounding, one for a
value that is itself rounded on the way. Integers, bools and 8-bit floats are the same or wrong. NaN equals NaN, an
infinity itself. An infinite slack allows anything: the device's f32 overflows where float64 does not.
"""

import numpy as np

from small_floats import FOUR_BIT, decode, is_real, round_to, storage_dtype, ulp

ULPS = {"f64": 0, "f32": 2, "f16": 2, "bf16": 2}


def tolerance(want: np.ndarray, kind: str) -> np.ndarray:
    finite = np.abs(want[np.isfinite(want)])
    noise = 1e-9 * np.abs(np.where(np.isfinite(want), want, 0)) + 1e-11 * finite.max(initial=0.0)
    ulps = ULPS.get(kind, 0)
    return ulps * ulp(want, kind) + (noise if kind in ULPS else 0)


def logical_shape(stored: np.ndarray, kind: str) -> tuple[int, ...]:
    shape = stored.shape
    return (*shape[:-1], 2 * shape[-1]) if kind in FOUR_BIT and shape else shape


def difference(want: np.ndarray, stored: np.ndarray, kind: str, slack: float = 0.0) -> str:
    """Empty if they agree, else what is wrong, with the worst element."""
    if stored.dtype != storage_dtype(kind):
        return f"dtype {stored.dtype.str}, expected {storage_dtype(kind).str} for {kind}"
    if logical_shape(stored, kind) != want.shape:
        return f"shape {list(logical_shape(stored, kind))}, expected {list(want.shape)}"
    got = decode(stored, kind)
    if is_real(kind):
        with np.errstate(all="ignore"):
            want = round_to(want, kind)
            excess = np.abs(got - want) - tolerance(want, kind) - slack
        same = (got == want) | (np.isnan(got) & np.isnan(want))
        wrong = ~same & ~(excess <= 0) & ~np.isinf(slack)
    else:
        excess = np.abs(got.astype(float) - want.astype(float))
        wrong = got != want
    if not wrong.any():
        return ""
    rank = np.where(wrong, np.where(np.isnan(excess), np.inf, excess), -np.inf)
    at = np.unravel_index(int(np.argmax(rank)), want.shape) if want.shape else ()
    return (f"{int(wrong.sum())} of {want.size} elements wrong, the worst at [{', '.join(map(str, at))}]: "
            f"{got[at]!r}, expected {want[at]!r}")
