"""`quern check`: what is proved, at which sizes, and what is refused."""

import quern_case
from quern_case import GATHER, MATMUL, QuernCase

GROUPED = """\
kernel grouped(q: f32[H], k: f32[G]) -> y: f32[H] {
  y[h] = q[h] * k[h // (H // G)]
}
"""
BLUR = """\
kernel blur(x: f32[N]) -> y: f32[N] {
  y[i] = sum[r < 3] x[i + r] / 3
}
"""
E306 = """\
error E306: x[i + r]: {where}, the dimension has {size}
   --> blur.qn:2:23
   |
 2 |   y[i] = sum[r < 3] x[i + r] / 3
   |                       ^^^^^
   = help: guard it with `if`, or shorten the range
"""


class Check(QuernCase):
    def test_all_sizes(self):
        self.write("m.qn", MATMUL)
        self.expect("check --language-only m.qn", 0, "m.qn:matmul: 6 subscripts: proved for all sizes\n")
        self.expect("check --language-only m.qn --dim M=3", 0, "m.qn:matmul: 6 subscripts: proved for all sizes\n")
        self.expect("check --language-only m.qn --dim M=3 --dim K=2 --dim N=1", 0, "m.qn:matmul: 6 subscripts: proved\n")

    def test_samples(self):
        self.write("g.qn", GROUPED)
        self.expect("check --language-only g.qn", 0,
                    "g.qn:grouped: 3 subscripts: 2 proved for all sizes, 1 proved at H = 4, G = 2\n")
        # What is given stays as it is.
        self.expect("check --language-only g.qn --dim G=4", 0,
                    "g.qn:grouped: 3 subscripts: 2 proved for all sizes, 1 proved at H = 8\n")
        self.expect("check --language-only g.qn --dim H=8 --dim G=2", 0, "g.qn:grouped: 3 subscripts: proved\n")
        # The same every time.
        self.assertEqual(self.expect("check --language-only g.qn -v"), self.expect("check --language-only --verbose g.qn"))

    def test_data(self):
        self.write("g.qn", GATHER)
        self.expect("check --language-only g.qn -v", 0,
                    "g.qn:gather: 3 subscripts: 2 proved for all sizes, 1 checked (data)\n"
                    "  g.qn:2:5: y axis 1, written: n: proved for all sizes\n"
                    "  g.qn:2:16: table axis 1: id[n]: checked (data)\n"
                    "  g.qn:2:19: id axis 1: n: proved for all sizes\n")

    def test_refused(self):
        self.write("blur.qn", BLUR)
        self.expect("check --language-only blur.qn --dim N=7", 2, "blur.qn:blur: 2 subscripts: 1 proved, 1 refused\n",
                    E306.format(where="i = 5, r = 2 gives 7", size=7))
        # At no sample does it stay inside.
        code, out, err = self.quern("check", "--language-only", "blur.qn")
        self.assertEqual(code, 2)
        self.assertIn("1 refused", out)
        self.assertIn("error E306: x[i + r]", err)
        self.assertIn("= note: with N = ", err)
        self.expect("run blur.qn --dim N=7", 2, "", E306.format(where="i = 5, r = 2 gives 7", size=7))

    def test_sizes_that_do_not_fit(self):
        self.write("half.qn", "kernel half[K](x: f32[N, K / 2]) -> y: f32[N] {\n  y[n] = sum[k] x[n, k]\n}\n")
        code, out, err = self.quern("check", "--language-only", "half.qn", "--dim", "K=3", "--dim", "N=1")
        self.assertEqual((code, out), (2, "half.qn:half: these sizes or types don't fit\n"))
        self.assertIn("error E706: x: K / 2 is not whole", err)

    def test_types_that_do_not_fit(self):
        self.write("m.qn", MATMUL)
        code, out, err = self.quern("check", "--language-only", "m.qn", "--type", "T=i8")
        self.assertEqual((code, out), (2, "m.qn:matmul: these sizes or types don't fit\n"))
        self.assertIn("error E715: T is a type variable for real types, i8 is not real", err)

    def test_the_sample_leaves_blocks_that_are_not_empty(self):
        self.write("pool.qn", "kernel pool[S](x: f32[H]) -> y: f32[H // S] {\n  y[i] = max[r < S] x[i * S + r]\n}\n")
        self.expect("check --language-only pool.qn", 0, "pool.qn:pool: 2 subscripts: 1 proved for all sizes, 1 proved at S = 2, H = 4\n")

    def test_several(self):
        self.write("a.qn", MATMUL)
        self.write("b.qn", GATHER + "\n" + GROUPED)
        out = self.expect("check --language-only a.qn b.qn --dim G=2")
        self.assertEqual([line.split(": ")[0] for line in out.splitlines()], ["a.qn:matmul", "b.qn:gather", "b.qn:grouped"])
        self.expect("check --language-only a.qn b.qn --dim L=2", 2, None,
                    "error E712: a.qn, b.qn has no parameter, dimension or type L\n   = help: it has G, H, K, M, N, V\n")

    def test_remarks(self):
        self.write("h.qn", "kernel h[V](x: i32[N], w: f32[N]) -> y: f32[V] = 0 {\n  for[n] y[x[n]] += w[n]\n}\n")
        self.expect("check --language-only h.qn", 0)
        out = "h.qn:h: 3 subscripts: 2 proved for all sizes, 1 checked (data)\n"
        code, found, err = self.quern("check", "--language-only", "--remarks", "h.qn")
        self.assertEqual((code, found), (0, out))
        self.assertIn("remark R3: order of '+=' on y is not fixed\n", err)

    def test_language_errors(self):
        self.write("e.qn", "kernel e(x: f32[N]) -> y: f32[N] {\n  y[n] = z[n] + w[n]\n}\n")
        code, out, err = self.quern("check", "--language-only", "e.qn")
        self.assertEqual((code, out), (2, "e.qn:e: refused\n"))
        self.assertIn(" --> e.qn:2:10\n", err)
        self.assertIn("\n2 errors\n", err)


if __name__ == "__main__":
    quern_case.main()
