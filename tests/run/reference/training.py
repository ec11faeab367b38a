"""The optimiser's step, the gradient's norm, dropout. Defaults are the f32 values that a scalar of type f32 has."""

import numpy as np

from reference.random_numbers import uniforms


def adam(g, p, m, v, step, lr, b1=float(np.float32(0.9)), b2=float(np.float32(0.999)), eps=float(np.float32(1e-8)),
         decay=0.0):
    m = b1 * m + (1 - b1) * g
    v = b2 * v + (1 - b2) * g * g
    m_hat = m / (1 - b1**step)
    v_hat = v / (1 - b2**step)
    p = p - lr * m_hat / (np.sqrt(v_hat) + eps) - lr * decay * p
    return p, m, v


def global_norm(g):
    return np.sqrt(np.sum(g**2))


def dropout(x, rate, seed):
    keep = uniforms(seed, np.arange(x.size)).reshape(x.shape) >= rate
    return np.where(keep, x, 0) / (1 - rate if rate < 1 else 1)
