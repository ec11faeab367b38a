"""Matrix products: empty sums, single elements, tails of tiles, infinities, overflow of narrow types."""

import numpy as np

from case_builder import build, normal, put, type_number, whole

# M, N, K
SHAPES = [(1, 1, 1), (2, 3, 4), (5, 7, 11), (1, 13, 3), (13, 1, 3), (3, 4, 0), (0, 4, 3), (4, 0, 3), (0, 0, 0),
          (17, 2, 5), (2, 17, 5), (3, 3, 33), (16, 16, 16), (9, 8, 7), (1, 1, 129), (8, 31, 2), (31, 8, 3),
          (6, 5, 19), (4, 4, 4), (3, 2, 65)]
INF, NAN = float("inf"), float("nan")


def two_operands(kernel, rng, left, right, transposed):
    for i, (M, N, K) in enumerate(SHAPES):
        T = type_number(i)
        yield build(kernel, T, **{left: normal(rng, T, M, K),
                                  right: normal(rng, T, *((N, K) if transposed else (K, N)))})
    a, b = whole(rng, "f64", 3, 4), whole(rng, "f64", *((2, 4) if transposed else (4, 2)))
    for value in (INF, -INF, NAN):
        yield build(kernel, "f64", **{left: put(a, "f64", (1, 2), value), right: b})
    big = np.full((2, 3), 200, np.float16)
    yield build(kernel, "f16", **{left: big, right: big if transposed else big.T.copy()})
    huge = np.full((2, 3), 1e30, np.float32)
    yield build(kernel, "f32", **{left: huge, right: huge if transposed else huge.T.copy()})


def matmul(rng):
    return two_operands("matmul", rng, "a", "b", False)


def linear(rng):
    return two_operands("linear", rng, "x", "w", True)


def batched_matmul(rng):
    for i, (M, N, K) in enumerate(SHAPES):
        T, B = type_number(i), (2, 1, 3, 5, 0)[i % 5]
        yield build("batched_matmul", T, a=normal(rng, T, B, M, K), b=normal(rng, T, B, K, N))
    a, b = normal(rng, "f64", 2, 3, 4), normal(rng, "f64", 2, 4, 3)
    yield build("batched_matmul", "f64", a=put(a, "f64", (1, 0, 0), NAN), b=b)
    yield build("batched_matmul", "f64", a=np.zeros_like(a), b=b)


def linear_gelu_residual(rng):
    for i, (M, N, K) in enumerate(SHAPES):
        T = type_number(i)
        yield build("linear_gelu_residual", T, x=normal(rng, T, M, K), w=normal(rng, T, N, K),
                    bias=normal(rng, T, N, scale=3), r=normal(rng, T, M, N))
    given = dict(x=normal(rng, "f64", 3, 2), w=normal(rng, "f64", 4, 2), r=normal(rng, "f64", 3, 4))
    yield build("linear_gelu_residual", "f64", **given, bias=np.array([50, -50, 6, -6.0]))
    yield build("linear_gelu_residual", "f64", **given, bias=np.array([INF, 0, NAN, 1e-300]))


def qkv(rng):
    for i, (M, N, K) in enumerate(SHAPES):
        T, Q = type_number(i), (1, 2, 0, 5)[i % 4]
        yield build("qkv", T, x=normal(rng, T, M, K), wq=normal(rng, T, N, K), wk=normal(rng, T, Q, K),
                    wv=normal(rng, T, Q, K))


def gemm(rng):
    scalars = [{}, dict(alpha=2), dict(beta=1), dict(alpha=0.1, beta=-0.3), dict(alpha=0, beta=0.7)]
    for i, (M, N, K) in enumerate(SHAPES):
        T = type_number(i)
        yield build("gemm", T, a=normal(rng, T, M, K), b=normal(rng, T, K, N), c=normal(rng, T, M, N),
                    **scalars[i % 5])
    given = dict(a=normal(rng, "f64", 2, 3), b=normal(rng, "f64", 3, 2), c=np.full((2, 2), NAN))
    yield build("gemm", "f64", **given)  # beta is 0: c is not read
    yield build("gemm", "f64", **given, beta=0)
    yield build("gemm", "f64", **given, beta=0.5)


def matmul_bf16_operands(rng):
    for i, (M, N, K) in enumerate(SHAPES):
        yield build("matmul_bf16_operands", a=normal(rng, "f32", M, K), b=normal(rng, "f32", K, N))
    # halfway between two bf16 numbers (both parities), just above and below, overflow to infinity, denormals
    a = np.array([[1 + 2.0**-8, 1 + 3 * 2.0**-8, 1 + 2.0**-8 + 2.0**-20, 1 + 2.0**-8 - 2.0**-20],
                  [3.4e38, -3.4e38, 3.39e38, 1e-40]], np.float32)
    yield build("matmul_bf16_operands", a=a, b=np.eye(4, dtype=np.float32)[:, :1])
    yield build("matmul_bf16_operands", a=a[:1], b=np.eye(4, dtype=np.float32))
    yield build("matmul_bf16_operands", a=a[1:, 2:], b=np.eye(2, dtype=np.float32))


def lora(rng):
    for i, (M, N, K) in enumerate(SHAPES):
        T, R = type_number(i), (1, 2, 3, 0, 5)[i % 5]
        yield build("lora", T, x=normal(rng, T, M, K), w=normal(rng, T, N, K), a=normal(rng, T, R, K),
                    b=normal(rng, T, N, R), alpha=(0.5, 2, 0, -1.7)[i % 4])
