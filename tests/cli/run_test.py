"""`quern run`: arguments, random arrays, what is shown and what is computed."""

import math
import re

import quern_case
from quern_case import GATHER, MATMUL, SCALE, QuernCase, floats, ints, npz, read_floats


class Run(QuernCase):
    def test_matmul(self):
        self.write("m.qn", MATMUL)
        self.write("a.npy", floats([2, 3], 1, 2, 3, 4, 5, 6))
        self.write("b.npy", floats([3, 2], 1, 0, 0, 1, 1, 1))
        out = self.expect("run m.qn a=a.npy b=b.npy --on interpreter")
        self.assertEqual(re.sub(r"bound \S+", "bound B", out),
                         "a: f32[2, 3]  from a.npy\nb: f32[3, 2]  from b.npy\n"
                         "c: f32[2, 2]  min 4, max 11, mean 7.5, bound B\n  [[ 4,  5],\n   [10, 11]]\n")
        self.expect("run m.qn:matmul a=a.npy b=b.npy -o c.npy", 0)
        self.assertEqual(read_floats(self.folder / "c.npy"), [4, 5, 10, 11])

    def test_archives(self):
        self.write("m.qn", MATMUL)
        npz(self.folder / "ab.npz", a=floats([1, 2], 3, 4), b=floats([2, 1], 1, 1), junk=b"not an array")
        out = self.expect("run m.qn ab.npz", 0)
        self.assertIn("a: f32[1, 2]  from ab.npz:a\nb: f32[2, 1]  from ab.npz:b\nc: f32[1, 1]  min 7, ", out)
        # What is named wins over an archive.
        out = self.expect("run m.qn ab.npz a=ab.npz:a", 0)
        self.assertIn("a: f32[1, 2]  from ab.npz:a\n", out)
        self.expect("run m.qn a=ab.npz b=ab.npz:b", 0)
        npz(self.folder / "other.npz", b=floats([2, 1], 1, 1))
        self.expect("run m.qn ab.npz other.npz", 2, "", "error E740: b is in ab.npz and in other.npz\n"
                                                         "   = help: see `quern run --help`\n")
        npz(self.folder / "single.npz", weight=floats([1, 2], 3, 4))
        self.assertIn("from single.npz", self.expect("run m.qn a=single.npz ab.npz", 0))
        self.expect("run m.qn single.npz", 2, "",
                    "error E740: 'single.npz' holds no parameter of matmul\n"
                    "   = help: it has a, b; say which: a=single.npz\n")
        code, _, err = self.quern("run", "m.qn", "a=ab.npz:c", "b=ab.npz")
        self.assertEqual(code, 2)
        self.assertIn("error E729: 'ab.npz' has no array 'c'\n", err)

    def test_bare_array(self):
        self.write("g.qn", GATHER)
        self.write("id.npy", ints([2], 0, 1))
        self.assertIn("id: i32[2]  from id.npy\n", self.expect("run g.qn id.npy --dim V=3 --seed 1"))
        self.write("other.npy", ints([2], 0, 1))
        self.expect("run g.qn other.npy --dim V=3", 2, "",
                    "error E740: 'other.npy' holds no parameter of gather\n"
                    "   = help: it has id, table; say which: id=other.npy\n")

    def test_seed(self):
        self.write("m.qn", MATMUL)
        sizes = "--dim M=2 --dim K=3 --dim N=2"
        first = self.expect(f"run m.qn {sizes} --seed 7 --on interpreter")
        self.assertTrue(first.startswith("seed 7\na: f32[2, 3]  random\n"))
        self.assertEqual(self.expect(f"run m.qn {sizes} --seed 7 --on interpreter"), first)
        self.assertEqual(self.expect(f"run m.qn {sizes} --seed 7 --threads 1 --on interpreter"), first)
        self.assertNotEqual(self.expect(f"run m.qn {sizes} --seed 8"), first)
        # Without one, the one that was taken is shown, and repeats the run.
        chosen = self.expect(f"run m.qn {sizes}")
        seed = re.match(r"seed (\d+)\n", chosen)[1]
        self.assertEqual(self.expect(f"run m.qn {sizes} --seed {seed}"), chosen)

    def test_scalars(self):
        self.write("s.qn", SCALE)
        self.write("x.npy", floats([2], 1, -2))
        out = self.expect("run s.qn x=x.npy")
        self.assertIn("s: f32  2, the default\ny: f32[2]  min -4, max 2, ", out)
        self.assertIn("n: i32  min 2, max 2, mean 2\n  2\n", out)
        self.assertIn("s: f32  -0.5\ny: f32[2]  min -0.5, max 1, ", self.expect("run s.qn x=x.npy s=-5e-1"))
        self.assertIn("s: f32  inf\n", self.expect("run s.qn x=x.npy s=inf"))
        self.write("s.npy", floats([], 3))
        self.assertIn("s: f32  from s.npy\n", self.expect("run s.qn x=x.npy s=s.npy"))
        for text in ("two", "", "1 ", "0x", "1,5", "1e39", "-1e999"):
            code, _, err = self.quern("run", "s.qn", "x=x.npy", f"s={text}")
            self.assertEqual(code, 2)
            self.assertIn(f"error E714: s is a scalar of f32, the argument is '{text}'\n", err)
            self.assertIn("   = help: a number of at most 3.40282e+38, inf or nan\n", err)

    def test_nan_has_no_sign(self):
        self.write("s.qn", SCALE)
        self.write("x.npy", floats([3], float("inf"), float("-inf"), -float("nan")))
        self.assertIn("y: f32[3]  min -inf, max inf, mean nan, 1 nan, bound 0\n  [ inf, -inf,  nan]\n",
                      self.expect("run s.qn x=x.npy --on interpreter"))

    def test_whole_scalars(self):
        self.write("w.qn", "kernel w(k: u8, on: bool) -> y: i64 {\n  y = k if on else -1\n}\n")
        self.assertIn("y: i64  min 255, ", self.expect("run w.qn k=0xff on=true"))
        self.assertIn("y: i64  min -1, ", self.expect("run w.qn k=7 on=0"))
        for text in ("256", "-1", "1.0", "99999999999999999999"):
            self.assertIn(f"error E714: k is a scalar of u8, the argument is '{text}'",
                          self.quern("run", "w.qn", f"k={text}", "on=1")[2])
        self.assertIn("   = help: a whole number from 0 to 255\n", self.quern("run", "w.qn", "k=256", "on=1")[2])
        self.assertIn("error E714: on is a scalar of bool, the argument is 'yes'", self.quern("run", "w.qn", "k=1", "on=yes")[2])
        self.assertEqual(self.quern("run", "w.qn")[2].count("error E703: argument "), 2)

    def test_sizes_are_missing(self):
        self.write("m.qn", MATMUL)
        self.write("a.npy", floats([2, 3], 1, 2, 3, 4, 5, 6))
        self.expect("run m.qn a=a.npy", 2, "", """\
error E701: N must be given
   --> m.qn:2:35
   |
 2 | kernel matmul(a: T[M, K], b: T[K, N]) -> c: T[M, N] {
   |                                   ^
   = help: --dim N=..., or an array for b
""")
        self.assertEqual(self.quern("run", "m.qn")[2].count("error E701"), 3)

    def test_words_that_are_no_arguments(self):
        self.write("m.qn", MATMUL)
        err = self.quern("run", "m.qn", "a=3", "b=x", "z=y.npy", "c=c.npy", "M=3", "what")[2]
        self.assertIn("error E713: a is a tensor, the argument is a number\n", err)
        self.assertIn("error E731: 'x' is not .npy, .npz or .safetensors\n", err)
        self.assertIn("error E712: matmul has no parameter, dimension or type z\n   = help: it has a, b\n", err)
        self.assertIn("error E712: matmul has no parameter, dimension or type c\n   = help: c is a result: -o writes it\n", err)
        self.assertIn("error E740: 'M=3' is no argument\n   = help: --dim M=3\n", err)
        self.assertIn("error E740: 'what' is no argument\n", err)
        self.assertTrue(err.endswith("6 errors\n"))
        self.assertIn("error E740: a is given twice\n", self.quern("run", "m.qn", "a=a.npy", "a=a.npy")[2])

    def test_sizes_that_are_too_large(self):
        self.write("m.qn", MATMUL)
        code, _, err = self.quern(*"run m.qn --dim M=9223372036854775807 --dim K=3 --dim N=3".split())
        self.assertEqual(code, 2)
        self.assertIn("error E710: the size of a overflows: dimensions and sizes have 63 bits\n", err)
        code, _, err = self.quern(*"run m.qn --dim M=1000000000000 --dim K=1 --dim N=1".split())
        self.assertEqual(code, 2)
        self.assertRegex(err, r"^error E716: the arguments would take 3.6 TiB, more than this run may use \(.*\)\n")
        code, _, err = self.quern(*"run m.qn --on interpreter --dim M=10000000 --dim K=1 --dim N=10000000 -o c.npy".split())
        self.assertEqual(code, 2)
        self.assertIn("error E716: matmul would take ", err)
        self.assertEqual(self.files(), ["m.qn"])

    def test_nothing(self):
        self.write("m.qn", MATMUL)
        out = self.expect("run m.qn --dim M=2 --dim K=3 --dim N=0 --seed 1 -o c.npy")
        self.assertIn("c: f32[2, 0]  no elements\n  -> c.npy\n", out)
        self.assertEqual(read_floats(self.folder / "c.npy"), [])

    def test_infinity_and_nan(self):
        self.write("s.qn", SCALE)
        self.write("x.npy", floats([4], math.nan, math.inf, -math.inf, 1))
        out = self.expect("run s.qn x=x.npy --on interpreter")
        self.assertIn("y: f32[4]  min -inf, max inf, mean ", out)
        self.assertIn(", 1 nan, bound ", out)
        self.assertIn("  [ nan,  inf, -inf,    2]\n", out)

    def test_long_arrays_are_cut(self):
        self.write("s.qn", "kernel s(x: f32[A, B, C]) -> y: i32[A, B, C] {\n  y[a, b, c] = 100 * a + 10 * b + c\n}\n")
        self.write("x.npy", floats([4, 4, 8], *range(128)))
        out = self.expect("run s.qn x=x.npy --on interpreter")
        self.assertIn("""\
  [[[  0,   1,   2, ...,   5,   6,   7],
    ...,
    [ 30,  31,  32, ...,  35,  36,  37]],
   ...,
   [[300, 301, 302, ..., 305, 306, 307],
    ...,
    [330, 331, 332, ..., 335, 336, 337]]]
""", out)

    def test_data_checks(self):
        self.write("g.qn", GATHER)
        self.write("id.npy", ints([3], 1, -1, 4))
        self.write("table.npy", floats([4], 1, 2, 3, 4))
        code, out, err = self.quern(*"run g.qn id.npy table.npy -o y.npy".split())
        self.assertEqual(code, 1)
        self.assertIn("-> y.npy\n", out)
        self.assertEqual(read_floats(self.folder / "y.npy"), [2, 0, 0])
        self.assertEqual(err.count("error E801: table[id[n]] is -1 at n = 1, the dimension has 4\n"), 1)

    def test_inout(self):
        self.write("i.qn", "kernel i(inout x: f32[N]) {\n  x[n] = x[n] + 1\n}\n")
        self.write("x.npy", floats([2], 1, 2))
        out = self.expect("run i.qn x=x.npy -o new.npy")
        self.assertIn("x: f32[2]  from x.npy\nx: f32[2]  min 2, max 3, ", out)
        self.assertEqual(read_floats(self.folder / "x.npy"), [1, 2])
        self.assertEqual(read_floats(self.folder / "new.npy"), [2, 3])
        # The file that was read may be the one that is written.
        self.expect("run i.qn x=x.npy -o x.npy")
        self.assertEqual(read_floats(self.folder / "x.npy"), [2, 3])
        self.assertIn("x: f32[3]  random\n", self.expect("run i.qn --dim N=3 --seed 1"))

    def test_remarks(self):
        self.write("r.qn", "kernel r(x: f32[N]) -> y: f32[N] {\n  y[i] = x[i * i // N] if i * i // N < N else 0\n}\n")
        code, _, err = self.quern(*"run r.qn --dim N=5 --seed 1".split())
        self.assertEqual((code, err), (0, ""))
        code, _, err = self.quern(*"run r.qn --dim N=5 --seed 1 --remarks".split())
        self.assertEqual(code, 0)
        self.assertTrue(err == "" or err.startswith("remark R1: kept a check: "), err)


if __name__ == "__main__":
    quern_case.main()
