"""Philox-4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3; SC 2011).

A counter of four words and a key of two give four random words, in ten rounds of two wide products each; after every
round but the last the key grows by the Weyl constants. Word i % 4 of counter i // 4 is the i-th number of a seed.
"""

import numpy as np

MULTIPLIERS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
WEYL = 0x9E3779B9, 0xBB67AE85
LOW = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)


def philox(counter: np.ndarray, key: tuple[int, int]) -> np.ndarray:
    """[n, 4] counters to [n, 4] words, all as uint64 below 2^32."""
    c0, c1, c2, c3 = (counter[:, j].astype(np.uint64) for j in range(4))
    for turn in range(10):
        k0, k1 = (np.uint64((k + turn * w) & 0xFFFFFFFF) for k, w in zip(key, WEYL))
        first, second = c0 * MULTIPLIERS[0], c2 * MULTIPLIERS[1]
        c0, c1, c2, c3 = (second >> HALF) ^ c1 ^ k0, second & LOW, (first >> HALF) ^ c3 ^ k1, first & LOW
    return np.stack([c0, c1, c2, c3], 1)


def random_words(seed: int, index: np.ndarray) -> np.ndarray:
    """The 32-bit words number `index` (at least 0) of a seed, as int64."""
    index = np.asarray(index, np.int64).ravel()
    block = (index // 4).astype(np.uint64)
    counter = np.zeros((len(index), 4), np.uint64)
    counter[:, 0], counter[:, 1] = block & LOW, block >> HALF
    words = philox(counter, (seed & 0xFFFFFFFF, (seed >> 32) & 0xFFFFFFFF))
    return words[np.arange(len(index)), index % 4].astype(np.int64)


def uniforms(seed: int, index: np.ndarray) -> np.ndarray:
    """Numbers in (0, 1): the upper 23 bits, in the middle of their 2^-23 wide cell."""
    return (random_words(seed, index) // 512 + 0.5) / 2**23
