"""Quantised products: extreme integers, every code of the small floats, blocks that end in a tail, rows of zeros."""

import numpy as np

from case_builder import build, codes, integers, normal, put, type_number

# M, N, K
SHAPES = [(1, 1, 1), (2, 3, 4), (5, 7, 11), (1, 13, 3), (13, 1, 3), (3, 4, 0), (0, 4, 3), (4, 0, 3), (17, 2, 5),
          (2, 17, 5), (3, 3, 33), (16, 16, 16), (9, 8, 7), (1, 1, 129), (8, 31, 2), (31, 8, 3), (6, 5, 19), (4, 4, 4),
          (3, 2, 65), (2, 2, 300)]


def int8_matmul(rng):
    for i, (M, N, K) in enumerate(SHAPES):
        yield build("int8_matmul", type_number(i), a=integers(rng, -128, 128, M, K, kind="i8"),
                    b=integers(rng, -128, 128, N, K, kind="i8"), sa=normal(rng, "f32", M), sb=normal(rng, "f32", N))
    for T in ("f64", "f16"):
        yield build("int8_matmul", T, a=np.full((2, 500), -128, np.int8), b=np.full((3, 500), -128, np.int8),
                    sa=np.array([1, 1e-3], np.float32), sb=np.array([1, 0, -1], np.float32))


def quantize_int8(rng):
    for i, (R, D) in enumerate([(M, K) for M, _, K in SHAPES]):
        T = type_number(i)
        yield build("quantize_int8", T, x=normal(rng, T, R, D, scale=(1, 1e-3, 100)[i % 3]))
    steps = np.array([[127, 0.5, 1.5, 2.5, -0.5, -126.5], [0, 0, 0, 0, 0, 0], [-1, 1e-20, -1e-20, 0.3, 0.7, 1]])
    for T, kind in (("f64", float), ("f32", np.float32), ("f16", np.float16)):
        yield build("quantize_int8", T, x=steps.astype(kind))
    odd = np.array([[1, np.nan, 2], [np.inf, 1, -np.inf], [-0.0, 0, 1e300]])
    yield build("quantize_int8", "f64", x=odd[:2])
    yield build("quantize_int8", "f32", x=odd[:2].astype(np.float32))


def int4_linear(rng):
    # M, N, L, blocks: K is L * blocks, and blocks are even because zeros are packed by two
    shapes = [(1, 1, 1, 2), (2, 3, 2, 2), (3, 5, 4, 4), (1, 13, 3, 2), (5, 1, 32, 2), (0, 4, 2, 2), (4, 0, 2, 2),
              (3, 2, 5, 0), (7, 3, 8, 2), (2, 7, 16, 4), (3, 3, 7, 6), (4, 4, 4, 4), (1, 1, 64, 2), (6, 2, 2, 8),
              (13, 2, 3, 4), (2, 17, 1, 4), (5, 5, 6, 2), (1, 2, 128, 2), (8, 2, 2, 2), (2, 3, 10, 2)]
    for i, (M, N, L, blocks) in enumerate(shapes):
        T = type_number(i)
        yield build("int4_linear", T, {"L": L}, x=normal(rng, T, M, L * blocks), w=codes(rng, "u4", N, L * blocks),
                    scale=normal(rng, T, N, blocks), zero=codes(rng, "u4", N, blocks))
    given = dict(x=normal(rng, "f64", 2, 8), scale=normal(rng, "f64", 3, 2))
    yield build("int4_linear", "f64", {"L": 4}, **given, w=np.zeros((3, 4), np.uint8),
                zero=np.full((3, 1), 255, np.uint8))
    yield build("int4_linear", "f64", {"L": 4}, **given, w=np.full((3, 4), 0xF0, np.uint8),
                zero=np.full((3, 1), 0x0F, np.uint8))


def int4_linear_shuffled(rng):
    # M, N, blocks of 32
    shapes = [(1, 1, 1), (2, 3, 2), (5, 7, 1), (1, 13, 1), (13, 1, 1), (3, 4, 0), (0, 4, 1), (4, 0, 1), (17, 2, 1),
              (2, 17, 1), (3, 3, 3), (4, 4, 2), (1, 1, 5), (7, 2, 2), (2, 5, 4), (6, 6, 1), (3, 2, 7), (1, 8, 4),
              (8, 3, 1), (2, 2, 2)]
    for i, (M, N, blocks) in enumerate(shapes):
        T = type_number(i)
        yield build("int4_linear_shuffled", T, x=normal(rng, T, M, 32 * blocks),
                    w=integers(rng, 0, 2**32, N, 4 * blocks, kind="u32"), scale=normal(rng, T, N, blocks))
    one = np.zeros((8, 32))
    one[np.arange(8), np.arange(8)] = 1  # picks element by element of the first word
    yield build("int4_linear_shuffled", "f64", x=one, w=np.array([[0x76543210, 0, 0, 0xFFFFFFFF]], np.uint32),
                scale=np.ones((1, 1)))


def fp8_block_linear(rng):
    # M, N, L, blocks
    shapes = [(1, 1, 1, 1), (2, 3, 2, 3), (3, 9, 4, 2), (1, 13, 5, 2), (5, 8, 8, 1), (0, 4, 2, 2), (4, 0, 2, 2),
              (3, 4, 4, 0), (7, 17, 16, 1), (2, 7, 3, 4), (3, 3, 7, 3), (4, 12, 4, 4), (1, 33, 32, 2), (6, 5, 2, 8),
              (13, 2, 3, 4), (2, 31, 10, 2), (1, 129, 128, 1), (2, 3, 128, 2), (3, 5, 64, 1), (8, 8, 4, 2)]
    for i, (M, N, L, blocks) in enumerate(shapes):
        dims = {} if L == 128 else {"L": L}
        yield build("fp8_block_linear", dims=dims, x=codes(rng, "f8e4m3", M, L * blocks),
                    sx=normal(rng, "f32", M, blocks, scale=0.1), w=codes(rng, "f8e4m3", N, L * blocks),
                    sw=normal(rng, "f32", -(-N // L), blocks, scale=0.1))
    x, w = codes(rng, "f8e4m3", 2, 4), codes(rng, "f8e4m3", 3, 4)
    x[1, 2] = 0xFF  # NaN
    yield build("fp8_block_linear", dims={"L": 2}, x=x, sx=np.ones((2, 2), np.float32), w=w,
                sw=np.ones((2, 2), np.float32))
    yield build("fp8_block_linear", dims={"L": 2}, x=x[:1], sx=np.full((1, 2), 1e38, np.float32), w=w,
                sw=np.ones((2, 2), np.float32))


def nvfp4_linear(rng):
    # M, N, blocks of 16
    shapes = [(1, 1, 1), (2, 3, 2), (5, 7, 1), (1, 13, 1), (13, 1, 1), (3, 4, 0), (0, 4, 1), (4, 0, 1), (17, 2, 1),
              (2, 17, 1), (3, 3, 3), (4, 4, 2), (1, 1, 9), (7, 2, 2), (2, 5, 4), (6, 6, 1), (3, 2, 7), (1, 8, 8),
              (8, 3, 1), (2, 2, 5)]
    for M, N, blocks in shapes:
        yield build("nvfp4_linear", x=codes(rng, "f4e2m1", M, 16 * blocks), sx=codes(rng, "f8e4m3", M, blocks),
                    w=codes(rng, "f4e2m1", N, 16 * blocks), sw=codes(rng, "f8e4m3", N, blocks),
                    gx=normal(rng, "f32", 1, scale=0.01), gw=normal(rng, "f32", 1, scale=0.01))
    x, w = codes(rng, "f4e2m1", 2, 16), codes(rng, "f4e2m1", 2, 16)
    one = np.ones(1, np.float32)
    yield build("nvfp4_linear", x=x, sx=np.array([[0x7E], [0x01]], np.uint8), w=w,
                sw=np.array([[0x7E], [0x00]], np.uint8), gx=one, gw=one)
    yield build("nvfp4_linear", x=x, sx=np.array([[0x7F], [0x38]], np.uint8), w=w,
                sw=np.array([[0x38], [0x38]], np.uint8), gx=one, gw=one)


def quantize_fp8(rng):
    # M, L, blocks
    shapes = [(1, 1, 1), (2, 3, 2), (5, 4, 3), (1, 128, 1), (3, 7, 2), (0, 4, 2), (4, 2, 0), (17, 2, 1), (2, 32, 4),
              (3, 16, 3), (7, 1, 5), (4, 8, 2), (1, 64, 3), (6, 5, 5), (2, 13, 2), (13, 2, 3), (3, 31, 1), (8, 4, 4),
              (2, 10, 6), (1, 2, 9)]
    for i, (M, L, blocks) in enumerate(shapes):
        T = type_number(i)
        yield build("quantize_fp8", T, {"L": L}, x=normal(rng, T, M, L * blocks, scale=(1, 1e-3, 100)[i % 3]))
    x = np.array([[448, 0.001, -0.002, 17, 19, 0.0009765625, 440, 432], [0] * 8, [np.nan, 1, 2, 3, -448, 1, 2, 3]])
    yield build("quantize_fp8", "f64", {"L": 4}, x=x)
    yield build("quantize_fp8", "f32", {"L": 8}, x=put(x.astype(np.float32), "f32", (2, 0), np.inf))
