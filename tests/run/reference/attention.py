"""Attention forward, from the definition: scores, a mask of visible keys, softmax, weighted mean of values.

Query heads share key heads in consecutive groups, so keys are repeated along the head axis. A query that sees nothing
gives 0. Scores of keys that are not visible take no part, whatever they are.
"""

import numpy as np


def repeat_heads(x, heads):
    """[B, G, N, D] to [B, H, N, D]."""
    return np.repeat(x, heads // x.shape[1], axis=1)


def scaled_scores(q, k):
    """[B, H, M, D] and [B, H, N, D] to [B, H, M, N]."""
    if q.shape[-1] == 0:
        return np.zeros((*q.shape[:3], k.shape[2]))
    return np.einsum("bhmd,bhnd->bhmn", q, k) / np.sqrt(q.shape[-1])


def distance(rows, columns):
    """How far key n lies after query m, the queries being the last rows of the columns; [M, N]."""
    return np.arange(columns)[None, :] - (np.arange(rows)[:, None] + columns - rows)


def masked_softmax(scores, visible):
    scores = np.where(visible, scores, -np.inf)
    top = scores.max(-1, keepdims=True, initial=-np.inf)
    blind = np.isneginf(top)
    weights = np.exp(scores - np.where(blind, 0, top))
    total = weights.sum(-1, keepdims=True)
    return np.where(blind, 0, weights / np.where(blind, 1, total))


def weighted(p, v):
    return np.einsum("bhmn,bhne->bhme", p, v)


def causal(q, k, v, scores=None):
    scores = scaled_scores(q, k) if scores is None else scores
    return weighted(masked_softmax(scores, distance(q.shape[2], k.shape[2]) <= 0), v)


def attention(q, k, v):
    return causal(q, repeat_heads(k, q.shape[1]), repeat_heads(v, q.shape[1]))


def attention_bounded(q, k, v):
    """Query by query over the keys it sees, so that nothing beyond the diagonal is touched."""
    B, H, M, D = q.shape
    G, N, E = v.shape[1:]
    o = np.zeros((B, H, M, E))
    for b, h, m in np.ndindex(B, H, M):
        seen, g = max(m + N - M + 1, 0), h * G // H
        if seen:
            s = k[b, g, :seen] @ q[b, h, m] / np.sqrt(D or 1)
            p = np.exp(s - s.max())
            o[b, h, m] = p @ v[b, g, :seen] / p.sum()
    return o


def attention_mqa(q, k, v):
    return attention(q, k[:, None], v[:, None])


def attention_cross(q, k, v, length):
    visible = np.arange(k.shape[2]) < length[:, None, None, None]
    return weighted(masked_softmax(scaled_scores(q, k), visible), v)


def attention_window(q, k, v, W, F=0):
    d = distance(q.shape[2], k.shape[2])
    visible = (d <= 0) & (d > -W) | (np.arange(k.shape[2]) < F)
    return weighted(masked_softmax(scaled_scores(q, k), visible), v)


def attention_softcap(q, k, v, CAP=30):
    return causal(q, k, v, CAP * np.tanh(scaled_scores(q, k) / CAP))


def attention_alibi(q, k, v):
    H = q.shape[1]
    slope = 2.0 ** (-8.0 * np.arange(1, H + 1) / H)
    return causal(q, k, v, scaled_scores(q, k) + slope[:, None, None] * distance(q.shape[2], k.shape[2]))


def attention_sink(q, k, v, sink):
    """The sink is one more column of scores, whose weight is thrown away."""
    B, H, M, _ = q.shape
    N = k.shape[2]
    scores = np.where(distance(M, N) <= 0, scaled_scores(q, k), -np.inf)
    column = np.broadcast_to(sink[:, None, None], (B, H, M, 1))
    p = masked_softmax(np.concatenate([scores, column], -1), True)
    return weighted(p[..., :N], v)


def attention_prefix(q, k, v, prefix):
    N = k.shape[2]
    visible = (distance(N, N) <= 0) | (np.arange(N) < prefix[:, None, None, None])
    return weighted(masked_softmax(scaled_scores(q, k), visible), v)


def attention_document(q, k, v, doc):
    N = k.shape[2]
    visible = (distance(N, N) <= 0) & (doc[:, None, :, None] == doc[:, None, None, :])
    return weighted(masked_softmax(scaled_scores(q, k), visible), v)


def attention_varlen(q, k, v, start):
    """Each sequence on its own, through the plain kernel."""
    o = np.zeros((*q.shape[:2], v.shape[2]))
    for a, b in zip(start[:-1], start[1:]):
        rows = [x[a:b].transpose(1, 0, 2)[None] for x in (q, k, v)]
        o[a:b] = attention(*rows)[0].transpose(1, 0, 2)
    return o


def attention_mla(q, qr, kv, kr, scale):
    """Keys are [kv, kr] side by side, values are kv."""
    scores = np.einsum("bhmc,bnc->bhmn", np.concatenate([q, qr], -1), np.concatenate([kv, kr], -1)) * scale
    p = masked_softmax(scores, distance(q.shape[2], kv.shape[1]) <= 0)
    return np.einsum("bhmn,bnc->bhmc", p, kv)


def attention_relative(q, k, v, bias):
    N, W = k.shape[2], bias.shape[1] // 2
    shift = np.clip(distance(N, N), -W, W) + W
    return weighted(masked_softmax(scaled_scores(q, k) + bias[:, shift], True), v)


def attention_lse(q, k, v):
    visible = distance(q.shape[2], k.shape[2]) <= 0
    scores = np.where(visible, scaled_scores(q, k), -np.inf)
    lse = np.logaddexp.reduce(scores, axis=-1)
    return weighted(masked_softmax(scores, visible), v), lse


def attention_merge(part, lse):
    weight = masked_softmax(lse.T, True)  # [R, C]
    return np.einsum("rc,cre->re", weight, part)


def attention_backward(q, k, v, o, lse, go):
    """Chain rule, by hand: o = p v, p = exp(s - lse), s = q k / sqrt(D); heads of a group add up in gk and gv."""
    B, H, M, D = q.shape
    G, N, E = v.shape[1:]
    root = np.sqrt(D or 1)
    keys, values = repeat_heads(k, H), repeat_heads(v, H)
    visible = np.broadcast_to(distance(M, N) <= 0, (B, H, M, N))
    p = np.zeros((B, H, M, N))
    np.exp(scaled_scores(q, keys) - lse[..., None], out=p, where=visible)
    gp = go @ values.swapaxes(2, 3)
    gs = p * (gp - (go * o).sum(-1, keepdims=True)) / root
    gk = (gs.swapaxes(2, 3) @ q).reshape(B, G, H // G, N, D).sum(2)
    gv = (p.swapaxes(2, 3) @ go).reshape(B, G, H // G, N, E).sum(2)
    return gs @ keys, gk, gv
