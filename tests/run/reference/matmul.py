"""Matrix products and their epilogues, by `@` and `einsum`."""

import math

import numpy as np

from small_floats import round_to

erf = np.vectorize(math.erf, otypes=[float])


def matmul(a, b):
    return a @ b


def linear(x, w):
    return x @ w.T


def batched_matmul(a, b):
    return np.stack([x @ y for x, y in zip(a, b)]) if len(a) else np.zeros((0, a.shape[1], b.shape[2]))


def linear_gelu_residual(x, w, bias, r):
    z = x @ w.T + bias
    below = (1 + erf(z / math.sqrt(2))) / 2  # of a normal variable, the share below z
    return z * below + r


def qkv(x, wq, wk, wv):
    return x @ wq.T, x @ wk.T, x @ wv.T


def gemm(a, b, c, alpha=1.0, beta=0.0):
    product = alpha * (a @ b)
    if beta == 0:  # as in BLAS: c may then hold anything, NaN too
        return product
    return product + beta * c


def matmul_bf16_operands(a, b):
    return round_to(a, "bf16") @ round_to(b, "bf16")


def lora(x, w, a, b, alpha):
    return x @ w.T + alpha * (x @ a.T) @ b.T
