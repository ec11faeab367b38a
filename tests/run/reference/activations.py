"""Gated activations."""

import math

import numpy as np


def swiglu(x, wg, wu):
    gate = x @ wg.T
    return gate / (1 + np.exp(-gate)) * (x @ wu.T)


def geglu(x):
    gate, value = np.split(x, 2, axis=1)
    inner = math.sqrt(2 / math.pi) * (gate + 0.044715 * gate**3)
    return gate * (1 + np.tanh(inner)) / 2 * value
