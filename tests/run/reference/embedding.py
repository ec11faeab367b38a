"""Rows of a table: taken, added back, put end to end."""

import numpy as np


def embedding(id, table, scale=1.0):
    return table[id] * scale


def embedding_backward(id, g, V):
    gt = np.zeros((V, g.shape[1]))
    np.add.at(gt, id, g)
    return gt


def concat(a, b):
    return np.concatenate([a, b], axis=1)
