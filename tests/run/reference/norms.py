"""Norms over the last dimension. Defaults are the f32 values that a scalar of type f32 has."""

import numpy as np

from small_floats import round_to

EPS_RMS = float(np.float32(1e-6))
EPS_LAYER = float(np.float32(1e-5))


def rms_norm(x, w, eps=EPS_RMS):
    return x / np.sqrt(np.mean(x * x, axis=1, keepdims=True) + eps) * w


def add_rms_norm(x, r, w, T, eps=EPS_RMS):
    total = x + r
    return total, rms_norm(round_to(total, T), w, eps)  # y is computed from the sum as stored


def layer_norm(x, w, b, eps=EPS_LAYER):
    mu = np.mean(x, axis=1)
    rstd = 1 / np.sqrt(np.var(x, axis=1) + eps)
    stored_mu, stored_rstd = round_to(mu, "f32"), round_to(rstd, "f32")
    return (x - stored_mu[:, None]) * stored_rstd[:, None] * w + b, mu, rstd


def norm_linear(x, g, w, eps=EPS_RMS):
    return rms_norm(x, g, eps) @ w.T
