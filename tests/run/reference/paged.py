"""Attention over a paged cache, by first gathering each sequence's rows into one array; and the cache's update."""

import numpy as np


def gather(pool, pages, rows):
    """The first `rows` rows of a sequence: [rows, G, D] from pages [P, L, G, D]."""
    L = pool.shape[1]
    used = pages[:-(-rows // L)]
    return pool[used].reshape(len(used) * L, *pool.shape[2:])[:rows]


def one_query(q, keys, values):
    """[H, D], [n, G, D], [n, G, E] to [H, E]."""
    group = len(q) // keys.shape[1]
    o = np.zeros((len(q), values.shape[2]))
    for h, row in enumerate(q):
        if len(keys):
            s = keys[:, h // group] @ row / np.sqrt(max(len(row), 1))
            p = np.exp(s - s.max())
            o[h] = p / p.sum() @ values[:, h // group]
    return o


def paged_attention(q, kp, vp, page, length):
    o = np.zeros((*q.shape[:2], vp.shape[3]))
    for i, n in enumerate(length):
        o[i] = one_query(q[i], gather(kp, page[i], n), gather(vp, page[i], n))
    return o


def paged_attention_fp8(q, kp, vp, ks, vs, page, length):
    return paged_attention(q, kp * ks[:, None], vp * vs[:, None], page, length)


def cache_append(k, v, slot, kp, vp):
    keep = slot >= 0
    after = []
    for rows, pool in ((k, kp), (v, vp)):
        flat = pool.reshape(pool.shape[0] * pool.shape[1], *pool.shape[2:]).copy()
        flat[slot[keep]] = rows[keep]
        after.append(flat.reshape(pool.shape))
    return tuple(after)
