#!/usr/bin/env python3
"""Who judges the judges? Laws that the NumPy programs must obey among themselves, and the cases they are asked about.

Special cases must agree with general ones, parts with wholes, gradients with differences, codes with decodes. Beside
that: every kernel has a program and at least 20 cases, cases are the same for the same seed, small floats round as
their formats say, Philox gives the words its authors published, and a wrong answer is seen as wrong.
"""

import re
import sys
import unittest

try:
    import numpy as np
except ImportError:
    print("skipped: NumPy is missing, and the judges of the kernel library are NumPy programs")
    sys.exit(77)

sys.dont_write_bytecode = True

import damaged  # noqa: E402
from case_builder import cases_of, element_type  # noqa: E402
from compare import difference, logical_shape  # noqa: E402
from reference import activations, attention, convolution, embedding, experts, losses, matmul  # noqa: E402
from reference import norms, paged, quantised, rope, sampling, scans, training  # noqa: E402
from reference.random_numbers import philox, random_words, uniforms  # noqa: E402
from signatures import library  # noqa: E402
from small_floats import decode, encode, magnitudes, pack4, round_to, storage_dtype, ulp, unpack4  # noqa: E402

RNG = np.random.default_rng(20260801)


def normal(*shape):
    return RNG.normal(size=shape)


def gradient(f, x, step=1e-6):
    """Of a number f(x), by central differences."""
    g = np.zeros_like(x)
    for at in np.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[at] += step
        down[at] -= step
        g[at] = (f(up) - f(down)) / (2 * step)
    return g


class Case(unittest.TestCase):
    def close(self, a, b, atol=1e-12, rtol=1e-10):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=atol)


class Cases(Case):
    def test_every_kernel_has_cases(self):
        self.assertEqual(len(library()), 68)
        for name, head in library().items():
            cases = cases_of(name, 0)
            self.assertGreaterEqual(sum(not c["expect_exit"] for c in cases), 20, name)
            for case in cases:
                self.check_case(case, head)

    def check_case(self, case, head):
        for p in head.parameters:
            given = case["args"].get(p.name)
            if given is None:
                self.assertIsNotNone(p.default, f"{head.name}: {p.name} is missing")
                continue
            kind = element_type(p.type, case["types"])
            if p.rank:
                self.assertEqual(given.dtype, storage_dtype(kind), f"{head.name}: {p.name}")
            self.assertEqual(np.ndim(given), p.rank, f"{head.name}: {p.name}")
        self.assertLessEqual(set(case["args"]), {p.name for p in head.parameters})
        for p in head.outputs() if not case["expect_exit"] else []:
            self.assertEqual(case["expect"][p.name].ndim, p.rank, f"{head.name}: {p.name}")
            if p.inout:
                kind = element_type(p.type, case["types"])
                self.assertEqual(case["expect"][p.name].shape, logical_shape(case["args"][p.name], kind))

    def test_a_seed_says_it_all(self):
        for name in ("attention_varlen", "nvfp4_linear", "cache_append"):
            for a, b in zip(cases_of(name, 5), cases_of(name, 5)):
                for key in a["args"]:
                    np.testing.assert_array_equal(a["args"][key], b["args"][key])
        first, second = (cases_of("matmul", seed)[3]["args"]["a"] for seed in (0, 1))
        self.assertFalse(np.array_equal(first, second))

    def test_damaged_kernels_are_listed(self):
        listed = set(re.findall(r"^\| (\w+\.qn) \|", (damaged.FOLDER / "README.md").read_text(), re.M))
        paths = list(damaged.FOLDER.glob("*.qn"))
        self.assertEqual(listed, {p.name for p in paths})
        self.assertGreaterEqual(len(paths), 50)
        for path in paths:
            self.assertRegex(path.read_text(), r"\A# damaged: .+\n# bind: [A-Z]+=\d+( [A-Z]+=\d+)*\nkernel ")


class Numbers(Case):
    def test_round_trips(self):
        for kind in ("bf16", "f8e4m3", "f8e5m2"):
            code = np.arange(2 * len(magnitudes(kind))).astype(storage_dtype(kind))
            finite = np.isfinite(decode(code, kind))
            np.testing.assert_array_equal(encode(decode(code, kind), kind)[finite], code[finite])
        nibbles = np.arange(16)
        for kind in ("f4e2m1", "u4", "i4"):
            np.testing.assert_array_equal(unpack4(encode(decode(pack4(nibbles), kind), kind)), nibbles)

    def test_rounding(self):
        for kind, given, want in (("bf16", [1 + 2**-8, 1 + 3 * 2**-8, 3.4e38, -1e-45], [1, 1 + 2**-6, np.inf, 0]),
                                  ("f8e4m3", [449, 1e9, -np.inf, 17, 19, 2**-10], [448, 448, -448, 16, 20, 0]),
                                  ("f8e5m2", [57345, np.inf, 9, 11], [57344, 57344, 8, 12]),
                                  ("f4e2m1", [0.25, 0.75, 2.5, 3.5, 5, -7], [0, 1, 2, 4, 4, -6]),
                                  ("f16", [65519, 65520, 2**-25], [65504, np.inf, 0]),
                                  ("f8e8m0", [1, 3.1, 2.0**-127, 1e300], [1, 4, 2.0**-127, 2.0**127])):
            np.testing.assert_array_equal(round_to(np.array(given), kind), want, kind)
        for kind in ("bf16", "f8e4m3", "f8e5m2", "f8e8m0"):
            self.assertTrue(np.isnan(round_to(np.array([np.nan]), kind))[0])
        np.testing.assert_array_equal(pack4(np.array([1, 2, 15, 0])), [0x21, 0x0F])
        np.testing.assert_array_equal(decode(np.array([0x8F], np.uint8), "i4"), [-1, -8])
        self.assertEqual(ulp(np.array([1.5]), "bf16")[0], 2**-7)

    def test_philox_known_answers(self):
        """kat_vectors of Random123: philox4x32, 10 rounds."""
        ones, pi = [0xFFFFFFFF] * 4, [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344]
        for counter, key, want in (([0] * 4, (0, 0), "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
                                   (ones, (0xFFFFFFFF, 0xFFFFFFFF), "408f276d 41c83b0e a20bc7c6 6d5451fd"),
                                   (pi, (0xA4093822, 0x299F31D0), "d16cfe09 94fdcceb 5001e420 24126ea1")):
            words = philox(np.array([counter]), key)[0]
            self.assertEqual(" ".join(f"{int(w):08x}" for w in words), want)
        self.assertEqual(random_words(0, np.arange(4))[2], 0xBC57AC4C)
        self.assertTrue(((0 < (u := uniforms(3, np.arange(4000)))) & (u < 1)).all())
        self.assertAlmostEqual(u.mean(), 0.5, delta=0.02)

    def test_wrong_answers_are_seen(self):
        want = np.array([1.0, np.nan, np.inf])
        self.assertEqual(difference(want, want.astype("<f4"), "f32"), "")
        self.assertIn("[0]", difference(want, np.array([1.001, np.nan, np.inf], "<f4"), "f32"))
        self.assertIn("[1]", difference(want, np.array([1, 0, np.inf], "<f4"), "f32"))
        self.assertIn("[2]", difference(want, np.array([1, np.nan, -np.inf], "<f4"), "f32"))
        self.assertIn("dtype", difference(want, want, "f32"))
        self.assertIn("shape", difference(want, want[:2].astype("<f4"), "f32"))
        self.assertIn("1 of 2", difference(np.array([3, 4]), np.array([3, 5], "<i4"), "i32"))
        self.assertEqual(difference(np.array([1e5]), np.array([np.inf], "<f2"), "f16"), "")
        self.assertIn("wrong", difference(np.array([1.0]), np.array([1 + 1e-8]), "f64"))


class Attention(Case):
    def setUp(self):
        self.q, self.k, self.v = normal(2, 4, 3, 5), normal(2, 4, 6, 5), normal(2, 4, 6, 3)
        self.want = attention.attention(self.q, self.k, self.v)

    def test_variants_that_are_the_plain_kernel(self):
        q, k, v, want = self.q, self.k, self.v, self.want
        self.close(attention.attention_bounded(q, k, v), want)
        self.close(attention.attention_window(q, k, v, W=100), want)
        self.close(attention.attention_softcap(q, k, v, CAP=10**7), want)
        self.close(attention.attention_sink(q, k, v, np.full(4, -np.inf)), want)
        self.close(attention.attention_lse(q, k, v)[0], want)
        self.close(attention.attention_mqa(q, k[:, 0], v[:, 0]), attention.attention(q, k[:, :1], v[:, :1]))

    def test_square_variants(self):
        q, k, v = normal(2, 2, 5, 4), normal(2, 2, 5, 4), normal(2, 2, 5, 3)
        causal, full = attention.attention(q, k, v), attention.attention_cross(q, k, v, np.array([5, 5]))
        self.close(attention.attention_prefix(q, k, v, np.array([0, -1])), causal)
        self.close(attention.attention_prefix(q, k, v, np.array([5, 9])), full)
        self.close(attention.attention_relative(q, k, v, np.ones((2, 7))), full)
        self.close(attention.attention_document(q, k, v, np.zeros((2, 5))), causal)
        rows = [x[0].transpose(1, 0, 2) for x in (q, k, v)]
        document = attention.attention_document(q, k, v, np.array([[0, 0, 1, 1, 1]] * 2))[0].transpose(1, 0, 2)
        self.close(attention.attention_varlen(*rows, np.array([0, 2, 5])), document)

    def test_shift_of_all_scores_changes_nothing(self):
        """ALiBi differs from the plain kernel by slope * n up to a constant a row."""
        q, k, v = self.q, self.k, self.v
        slopes = np.array([2.0**-2, 2.0**-4, 2.0**-6, 2.0**-8])
        scores = attention.scaled_scores(q, k) + slopes[:, None, None] * np.arange(6)
        self.close(attention.attention_alibi(q, k, v), attention.causal(q, k, v, scores))

    def test_latent(self):
        q, qr, kv, kr = normal(1, 3, 2, 4), normal(1, 3, 2, 2), normal(1, 5, 4), normal(1, 5, 2)
        both = attention.attention_mqa(np.concatenate([q, qr], -1), np.concatenate([kv, kr], -1), kv)
        self.close(attention.attention_mla(q, qr, kv, kr, 6**-0.5), both)

    def test_masked_and_nan_rows(self):
        o = attention.attention(normal(1, 1, 4, 2), normal(1, 1, 2, 2), normal(1, 1, 2, 2))
        self.close(o[0, 0, :2], 0)
        self.q[1, 2, 0, 0] = np.nan
        o = attention.attention(self.q, self.k, self.v)
        self.assertEqual(np.isnan(o).sum(), 3)
        self.assertTrue(np.isnan(o[1, 2, 0]).all())

    def test_merge_recombines(self):
        q, k, v = self.q[:1, :1, -1:], self.k[:1, :1], self.v[:1, :1]
        parts = [attention.attention_lse(q, k[:, :, a:b], v[:, :, a:b]) for a, b in ((0, 1), (1, 4), (4, 6))]
        o = attention.attention_merge(np.stack([p[0][0, 0] for p in parts]), np.stack([p[1][0, 0] for p in parts]))
        self.close(o, attention.attention(q, k, v)[0, 0])

    def test_backward_is_the_derivative(self):
        q, k, v, go = normal(1, 4, 3, 2), normal(1, 2, 4, 2), normal(1, 2, 4, 3), normal(1, 4, 3, 3)
        o, lse = attention.attention_lse(q, attention.repeat_heads(k, 4), attention.repeat_heads(v, 4))
        gq, gk, gv = attention.attention_backward(q, k, v, o, lse, go)
        self.close(gq, gradient(lambda x: (go * attention.attention(x, k, v)).sum(), q), atol=1e-7)
        self.close(gk, gradient(lambda x: (go * attention.attention(q, x, v)).sum(), k), atol=1e-7)
        self.close(gv, gradient(lambda x: (go * attention.attention(q, k, x)).sum(), v), atol=1e-7)

    def test_pages(self):
        q, kp, vp = normal(2, 4, 3), normal(5, 2, 2, 3), normal(5, 2, 2, 2)
        page, length = np.array([[4, 0, 2], [1, 3, -1]]), np.array([5, 4])
        o = paged.paged_attention(q, kp, vp, page, length)
        for i in range(2):
            keys, values = (np.concatenate([pool[p] for p in page[i]])[:length[i]] for pool in (kp, vp))
            plain = attention.attention(q[i][None, :, None], *(x.transpose(1, 0, 2)[None] for x in (keys, values)))
            self.close(o[i], plain[0, :, 0])
        one, scales = np.ones(2), np.array([2.0, 3.0])
        self.close(paged.paged_attention_fp8(q, kp, vp, one, one, page, length), o)
        group = np.repeat(scales, 2)[:, None]
        self.close(paged.paged_attention_fp8(q / group, kp, vp, scales, scales, page, length), o * group)

    def test_append_then_read(self):
        k, v, slot = normal(3, 1, 2), normal(3, 1, 2), np.array([5, -1, 0])
        kp, vp = paged.cache_append(k, v, slot, np.zeros((2, 3, 1, 2)), np.ones((2, 3, 1, 2)))
        self.close(kp[1, 2], k[0])
        self.close(vp[0, 0], v[2])
        self.assertEqual((vp == 1).sum(), 8)

    def test_rope_turns(self):
        x, angle = normal(4, 2, 6), normal(7, 3)
        y = rope.rope(x, np.cos(angle), np.sin(angle), np.array([0, 3, 3, 6]))
        self.close(np.linalg.norm(y, axis=2), np.linalg.norm(x, axis=2))
        pairs = [0, 3, 1, 4, 2, 5]  # from halves to neighbours
        pos = np.array([0, 5, 9, 2])
        theta = pos[:, None] * 100.0 ** (-np.arange(3) / 3)
        halves = rope.rope(x, np.cos(theta), np.sin(theta), np.arange(4))
        self.close(rope.rope_interleaved(x[:, :, pairs], pos, 100.0), halves[:, :, pairs])
        q, k = (rope.rope_interleaved(np.tile(normal(1, 1, 6), (4, 1, 1)), pos) for _ in range(2))
        again = [rope.rope_interleaved(z, np.array([3] * 4)) for z in (q, k)]  # turning both keeps products
        self.close((q * k).sum(2), (again[0] * again[1]).sum(2))


class Rows(Case):
    def test_products(self):
        a, b = normal(3, 4), normal(4, 5)
        self.close(matmul.linear(a, b.T.copy()), matmul.matmul(a, b))
        self.close(matmul.batched_matmul(a[None], b[None])[0], np.einsum("mk,kn->mn", a, b))
        self.close(matmul.gemm(a, b, np.ones((3, 5)), 2.0, -1.0), 2 * a @ b - 1)
        self.close(matmul.lora(a, b.T, normal(2, 4), np.zeros((5, 2)), 3.0), a @ b)
        self.close(matmul.matmul_bf16_operands(a, b), a @ b, atol=0.1)
        self.close(matmul.qkv(a, b.T, b.T[:2], b.T[2:])[2], (a @ b)[:, 2:])
        z = matmul.linear_gelu_residual(np.eye(3), np.diag([0.0, 40, -40]), np.zeros(3), np.zeros((3, 3)))
        self.close(z, np.diag([0.0, 40, 0]))

    def test_norms(self):
        x, one = normal(4, 7) * 3 + 1, np.ones(7)
        y, mu, rstd = norms.layer_norm(x, one, 0 * one, 0.0)
        self.close(y.mean(1), 0, atol=1e-6)
        self.close(y.std(1), 1, atol=1e-6)
        self.close(mu, x.mean(1))
        self.close((norms.rms_norm(x, one, 0.0)**2).mean(1), 1)
        self.close(norms.norm_linear(x, one, np.eye(7)), norms.rms_norm(x, one))
        total, y = norms.add_rms_norm(x, x, one, "f64")
        self.close(total, 2 * x)
        self.close(y, norms.rms_norm(2 * x, one))

    def test_gates(self):
        x = normal(3, 4)
        big = 50 * np.ones((2, 4))
        gate = 50 * np.abs(x).sum(1, keepdims=True) * np.ones(2)  # so large that silu is the identity
        self.close(activations.swiglu(np.abs(x), big, big), gate**2, rtol=1e-6)
        self.close(activations.geglu(np.array([[30.0, -30, 2, 3]])), [[60, 0]])

    def test_table(self):
        id, table, g = np.array([2, 0, 2]), normal(4, 3), normal(3, 3)
        self.close((embedding.embedding(id, table) * g).sum(), (embedding.embedding_backward(id, g, 4) * table).sum())
        self.close(embedding.concat(table, -table)[:, 3:], -table)

    def test_losses(self):
        logits, target = normal(3, 5), np.array([1, -100, 4])
        p = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
        self.close(losses.cross_entropy(logits, target), [-np.log(p[0, 1]), 0, -np.log(p[2, 4])])
        smooth = losses.cross_entropy(logits, target, smooth=0.3)[0]
        self.close(smooth, -0.7 * np.log(p[0, 1]) - 0.3 * np.log(p[0]).mean())
        self.assertTrue((losses.distillation(logits, normal(3, 5)) > 0).all())
        self.close(losses.distillation(logits, logits + 7), 0)

    def test_choices(self):
        x = RNG.integers(-3, 4, (6, 9)).astype(float)
        value, id = sampling.top_k(x, 4)
        self.assertTrue((np.diff(value) <= 0).all())
        np.testing.assert_array_equal(id[:, 0], sampling.greedy(x))
        np.testing.assert_array_equal(sampling.greedy(np.array([[1, np.nan, 9], [2, 2, 1]])), [1, 0])
        kept = sampling.min_p(x, 0.5)
        self.assertTrue(np.array_equal(np.isfinite(kept), np.exp(x - x.max(1, keepdims=True)) >= 0.5))
        logits = np.log(np.tile([0.5, 0.3, 0.2], (3000, 1)))
        share = np.bincount(sampling.sample(logits, np.ones(3000), 5, 0), minlength=3) / 3000
        self.close(share, [0.5, 0.3, 0.2], atol=0.03)

    def test_experts(self):
        x, w = normal(5, 3), normal(4, 3)
        id, weight = experts.route(x, w, 2)
        self.close(weight.sum(1), 1)
        np.testing.assert_array_equal(id[:, 0], (x @ w.T).argmax(1))
        load, start = experts.expert_starts(id, 4)
        self.assertEqual(load.sum(), 10)
        flat = np.argsort(id.ravel(), kind="stable")
        weights = normal(4, 2, 3)
        y = experts.grouped_linear(x[flat // 2], weights, start)
        self.close(y, np.einsum("md,mnd->mn", x[flat // 2], weights[id.ravel()[flat]]))
        wg, wu, wd = normal(4, 6, 3), normal(4, 6, 3), normal(4, 3, 6)
        none = np.zeros((6, 3)), np.zeros((6, 3)), np.zeros((3, 6))
        same = experts.moe(x, np.zeros((5, 1), int), np.ones((5, 1)), wg, wu, wd, *none)
        self.close(same, activations.swiglu(x, wg[0], wu[0]) @ wd[0].T)
        self.close(experts.moe(x, np.zeros((5, 0), int), np.ones((5, 0)), wg, wu, wd, wg[0], wu[0], wd[0]), same)


class Arrays(Case):
    def test_quantise_then_dequantise(self):
        x = normal(4, 12)
        q, scale = quantised.quantize_int8(x)
        self.assertTrue((np.abs(q * scale[:, None] - x) <= scale[:, None] * 0.5001).all())
        self.assertTrue((np.abs(q).max(1) == 127).all())
        q, scale = quantised.quantize_fp8(x, 4)
        back = q * np.repeat(scale, 4, axis=1)
        self.assertTrue((np.abs(back - x) <= np.maximum(np.abs(x) / 15, np.repeat(scale, 4, axis=1) * 2.0**-9)).all())

    def test_quantised_products(self):
        x, one = normal(3, 32), np.ones((2, 2))
        w = RNG.integers(0, 16, (2, 32))
        self.close(quantised.int4_linear(x, w, one, 3 * one.astype(int), 16), x @ (w - 3).T)
        words = np.zeros((2, 4), np.int64)
        for k in range(32):
            words[:, k // 8] |= w[:, k] << 4 * [0, 4, 1, 5, 2, 6, 3, 7][k % 8]
        self.close(quantised.int4_linear_shuffled(x, words, one[:, :1]), x @ (w - 8).T)
        self.close(quantised.fp8_block_linear(x, np.ones((3, 2)), 1.0 * w, one[:1], 16), x @ w.T)
        two, three = np.array([2.0]), np.array([3.0])
        self.close(quantised.nvfp4_linear(x, np.ones((3, 2)), 1.0 * w, one, two, three), 6 * x @ w.T)
        self.close(quantised.int8_matmul(w, w, np.array([1, 2.0]), np.ones(2)), np.diag([1, 2]) @ w @ w.T)

    def test_convolutions(self):
        x, w = normal(2, 6, 5, 3), normal(3, 2, 3, 4)
        want = np.zeros((2, 4, 4, 4))
        for b, i, j, r, s in np.ndindex(2, 4, 4, 3, 2):
            want[b, i, j] += x[b, i + r, j + s] @ w[r, s]
        self.close(convolution.conv2d(x, w), want)
        self.close(convolution.conv2d_strided(x, w, 1, 0), want)
        self.close(convolution.conv2d_strided(x, w, 2, 0), want[:, ::2, ::2])
        self.close(convolution.conv2d_strided(x, w, 1, 1)[:, 1:-1, 1:-1], want)
        self.close(convolution.conv2d_grouped(x, w, 1), want)
        one_each = np.moveaxis(w[..., :1], 3, 2)  # [R, S, 1, C]: as many groups as channels
        self.close(convolution.conv2d_depthwise(x, w[..., 0]), convolution.conv2d_grouped(x, one_each, 3))
        whole = convolution.max_pool(x, 5, 1)
        self.close(whole[:, 0, 0], x[:, :5].max((1, 2)))
        self.assertEqual(convolution.max_pool(x, 2, 2).shape, (2, 3, 2, 3))

    def test_causal_convolution(self):
        x, w, bias = normal(1, 6, 2), normal(2, 3), normal(2)
        want = bias + sum(w[:, j] * np.pad(x[0], ((2, 0), (0, 0)))[j:j + 6] for j in range(3))
        self.close(convolution.conv1d_causal(x, w, bias)[0], experts.silu(want))

    def test_scans(self):
        x = normal(2, 7, 3)
        self.close(scans.gated_recurrence(np.ones_like(x), x)[1, :, 0], scans.cumulative_sum(x[1].T)[0])
        q, k, v, decay = normal(1, 2, 5, 3), normal(1, 2, 5, 3), normal(1, 2, 5, 2), np.array([0.5, 1.0])
        d = np.subtract.outer(np.arange(5), np.arange(5))
        kernel = np.where(d >= 0, decay[:, None, None] ** np.maximum(d, 0), 0)
        self.close(scans.linear_attention(q, k, v, decay), (q @ k.swapaxes(2, 3) * kernel) @ v)
        np.testing.assert_array_equal(scans.histogram(np.array([1, 3, 1]), 5), [0, 2, 0, 1, 0])

    def test_training(self):
        g, p, zero = normal(5), normal(5), np.zeros(5)
        moved, m, v = training.adam(g, p, zero, zero, 1, 0.1, eps=0.0)
        self.close(moved, p - 0.1 * np.sign(g))
        self.close(m, (1 - float(np.float32(0.9))) * g)
        self.assertTrue((v > 0).all())
        self.close(training.adam(zero, p, zero, zero, 1, 0.1, decay=0.5)[0], 0.95 * p)
        self.close(training.global_norm(g), np.linalg.norm(g))
        x = np.ones((40, 50))
        y = training.dropout(x, 0.25, 3)
        self.assertAlmostEqual(y.mean(), 1, delta=0.05)
        self.assertEqual(set(np.unique(y)), {0.0, 1 / 0.75})
        self.close(training.dropout(x, 1.0, 3), 0)


if __name__ == "__main__":
    unittest.main()
