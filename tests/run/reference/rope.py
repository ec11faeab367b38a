"""Rotary positions: every pair (a, b) of a row is a point in the plane, turned by the angle of its position."""

import numpy as np


def turn(a, b, cos, sin):
    """Points [N, H, pairs] by angles [N, pairs]; not as complex numbers, whose product makes NaN of an infinity."""
    cos, sin = cos[:, None, :], sin[:, None, :]
    return a * cos - b * sin, b * cos + a * sin


def rope(x, cos, sin, pos):
    half = x.shape[2] // 2
    return np.concatenate(turn(x[:, :, :half], x[:, :, half:], cos[pos], sin[pos]), -1)


def rope_interleaved(x, pos, base=10000.0):
    D = x.shape[2]
    angle = pos[:, None] / base ** (np.arange(0, D, 2) / max(D, 1))
    pairs = turn(x[:, :, 0::2], x[:, :, 1::2], np.cos(angle), np.sin(angle))
    return np.stack(pairs, -1).reshape(x.shape)
