"""Mixtures of experts, token by token."""

import numpy as np


def silu(x):
    return x / (1 + np.exp(-x))


def route(x, w, K):
    logits = x @ w.T
    p = np.exp(logits - logits.max(1, keepdims=True, initial=-np.inf))
    p /= p.sum(1, keepdims=True)
    order = np.argsort(-p, axis=1, kind="stable")[:, :K]
    best = np.take_along_axis(p, order, 1)
    return order, best / best.sum(1, keepdims=True)


def grouped_linear(x, w, start):
    y = np.zeros((len(x), w.shape[1]))
    for expert, (a, b) in enumerate(zip(start[:-1], start[1:])):
        y[a:b] = x[a:b] @ w[expert].T
    return y


def gated(x, wg, wu, wd):
    return wd @ (silu(wg @ x) * (wu @ x))


def moe(x, id, weight, wg, wu, wd, sg, su, sd):
    y = np.zeros(x.shape)
    for n, row in enumerate(x):
        y[n] = gated(row, sg, su, sd)
        for expert, share in zip(id[n], weight[n]):
            y[n] += share * gated(row, wg[expert], wu[expert], wd[expert])
    return y


def expert_starts(id, X):
    load = np.bincount(id.ravel(), minlength=X)
    return load, np.concatenate([[0], np.cumsum(load)])
