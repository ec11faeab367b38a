"""Convolutions and pooling, channels last, by sliding a window over an array that is padded where padding is meant."""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view


def windows(x, R, S):
    """[B, H, W, C] to [B, H - R + 1, W - S + 1, C, R, S]."""
    B, H, W, C = x.shape
    if R > H or S > W:
        return np.zeros((B, max(H - R + 1, 0), max(W - S + 1, 0), C, R, S))
    return sliding_window_view(x, (R, S), axis=(1, 2))


def conv2d(x, w):
    return np.einsum("bijcrs,rsck->bijk", windows(x, *w.shape[:2]), w)


def conv2d_strided(x, w, U, P):
    padded = np.pad(x, ((0, 0), (P, P), (P, P), (0, 0)))
    return conv2d(padded, w)[:, ::U, ::U]


def conv2d_depthwise(x, w):
    return np.einsum("bijcrs,rsc->bijc", windows(x, *w.shape[:2]), w)


def conv2d_grouped(x, w, G):
    inputs = np.split(x, G, axis=3)
    filters = np.split(w, G, axis=3)
    return np.concatenate([conv2d(a, f) for a, f in zip(inputs, filters)], axis=3)


def conv1d_causal(x, w, bias):
    B, N, C = x.shape
    out = np.zeros((B, N, C))
    for c in range(C):
        for b in range(B):
            full = np.convolve(x[b, :, c], w[c, ::-1]) if N else np.zeros(0)
            out[b, :, c] = full[:N] + bias[c]
    return out / (1 + np.exp(-out))


def max_pool(x, R, U):
    return windows(x, R, R)[:, ::U, ::U].max((4, 5))
