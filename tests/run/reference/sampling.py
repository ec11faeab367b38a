"""Choosing tokens. Rows are short, so plain loops and stable sorts will do."""

import numpy as np

from reference.random_numbers import uniforms


def first_largest(row):
    """Place of the first of the largest; of the first NaN if there is one; -1 in an empty row."""
    if len(row) == 0:
        return -1
    if np.isnan(row).any():
        return int(np.flatnonzero(np.isnan(row))[0])
    return int(np.flatnonzero(row == row.max())[0])


def greedy(logits):
    return np.array([first_largest(row) for row in logits], np.int64)


def sample(logits, temperature, seed, step):
    """Gumbel-max: the number of the draw counts steps, then rows, then entries."""
    R, V = logits.shape
    draw = step * R * V + np.arange(R * V, dtype=np.int64)
    noise = -np.log(-np.log(uniforms(seed, draw))).reshape(R, V)
    return greedy(logits / temperature[:, None] + noise)


def min_p(logits, share):
    """probability >= share * (largest probability), on the log scale."""
    with np.errstate(divide="ignore"):
        edge = logits.max(1, initial=-np.inf) + np.log(share)
    return np.where(logits >= edge[:, None], logits, -np.inf)


def top_k(x, K):
    order = np.argsort(-x, axis=1, kind="stable")[:, :K]
    return np.take_along_axis(x, order, 1), order
