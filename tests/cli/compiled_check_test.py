"""`quern check`: compiled code beside the interpreter."""

import json
import os
import re
import sys

import quern_case
from quern_case import GATHER, MATMUL, SCALE, QuernCase

WRONG = RIGHT = ""
SUBSCRIPTS = "m.qn:matmul: 6 subscripts: proved for all sizes\n"


class CompiledCheck(QuernCase):
    def check(self, words, code=0, **options):
        found, = (json.loads(line) for line in self.quern_lines(f"check --json {words}", code, **options))
        return found

    def quern_lines(self, words, code, **options):
        found, out, err = self.quern(*words.split(), **options)
        self.assertEqual((found, err), (code, ""), out)
        return out.splitlines()

    def levels(self):
        devices = json.loads(self.quern("devices", "--json")[1])["devices"]
        bits = next(d["vector_bytes"] for d in devices if d["name"] == "cpu") * 8
        return ["sse2", "avx2", "avx512"][:{128: 1, 256: 2, 512: 3}[bits]]

    def test_agrees(self):
        self.write("m.qn", MATMUL)
        out = self.expect("check m.qn")
        self.assertTrue(out.startswith(SUBSCRIPTS), out)
        self.assertRegex(out, r"\n  compiled for sse2(, avx2)?(, avx512)?: 21 sets of arguments, seed 1: as the interpreter\n"
                              r"    c: error [\d.e+-]+, bound [\d.e+-]+: \d+\.\d %\n$")
        # The same every time.
        self.assertEqual(out, self.expect("check m.qn"))
        self.assertNotEqual(out, self.expect("check m.qn --seed 2"))

    def test_language_only(self):
        self.write("m.qn", MATMUL)
        self.expect("check --language-only m.qn", 0, SUBSCRIPTS)
        self.assertIsNone(self.check("--language-only m.qn")["kernels"][0]["compiled"])
        # No compiler is needed for that; without one the rest says so.
        env = {"QUERN_COMPILER": "./none.so"}
        self.expect("check --language-only m.qn", 0, SUBSCRIPTS, env=env)
        out = self.expect("check m.qn", env=env)
        self.assertIn("  not compared with compiled code: the compiler can't be used: ./none.so", out)

    def test_what_is_compared(self):
        self.write("m.qn", MATMUL)
        compiled = self.check("m.qn --cases 5 --seed 7")["kernels"][0]["compiled"]
        self.assertTrue(compiled["agrees"])
        self.assertLessEqual(set(compiled["vectors"]), set(self.levels()))
        self.assertIn("sse2", compiled["vectors"])
        self.assertEqual([c["types"]["T"] for c in compiled["cases"]], ["f32", "f32", "bf16", "f16", "f64"])
        self.assertEqual([c["seed"] for c in compiled["cases"]], [7, 8, 9, 10, 11])
        self.assertEqual({(c["draws"], c["faulty"]) for c in compiled["cases"]}, {(7, 0)})
        for case in compiled["cases"]:
            self.assertTrue(all(1 <= size <= 40 for size in case["sizes"].values()), case)
        c, = compiled["results"]
        self.assertTrue(c["name"] == "c" and not c["exact"] and 0 < c["error"] <= c["bound"], c)
        # What is given is kept; a single level can be asked for.
        compiled = self.check("m.qn --dim M=3 --type T=f16 --cases 2 --vectors sse2")["kernels"][0]["compiled"]
        self.assertEqual(compiled["vectors"], ["sse2"])
        self.assertEqual({(c["sizes"]["M"], c["types"]["T"]) for c in compiled["cases"]}, {(3, "f16")})

    def test_verbose(self):
        self.write("m.qn", MATMUL)
        out = self.expect("check -v m.qn --dim M=3 --dim K=4 --dim N=5 --cases 1")
        self.assertTrue(out.endswith("    M = 3, K = 4, N = 5, T = f32: seed 1, 7 sets of arguments\n"), out)

    def test_exact(self):
        self.write("g.qn", GATHER)
        self.assertIn("\n    y: exact\n", self.expect("check g.qn"))
        # Scalars without a value are drawn as well; one rounding is the interpreter's own, and integers have none.
        self.write("s.qn", SCALE.replace("s: f32 = 2", "s: f32"))
        results = self.check("s.qn")["kernels"][0]["compiled"]["results"]
        self.assertEqual([(r["name"], r["exact"]) for r in results], [("y", True), ("n", True)])

    def test_faults_of_the_data_are_the_same(self):
        """Row numbers that no draw can keep inside: both find E801."""
        self.write("f.qn", "kernel f(x: i32[N], t: f32[V]) -> y: f32[N] {\n  y[n] = t[x[n] * x[n] + V]\n}\n")
        compiled = self.check("f.qn")["kernels"][0]["compiled"]
        self.assertTrue(compiled["agrees"])
        self.assertTrue(all(c["faulty"] == c["draws"] for c in compiled["cases"]))
        self.assertIn("    in 21 of them faults in the data, and only these are compared\n", self.expect("check f.qn"))

    def test_too_large(self):
        self.write("m.qn", MATMUL)
        out = self.expect("check m.qn --dim M=4096 --dim K=4096 --dim N=4096")
        self.assertIn("\n  not compared with compiled code: 1.4e+11 operations are too many for the interpreter; "
                      "--dim gives smaller sizes\n", out)

    def test_not_yet(self):
        names = [f"A{i}" for i in range(65)]
        body = " + ".join(f"(sum[j{i} < A{i}] x * j{i})" for i in range(65))
        self.write("many.qn", f"kernel many[{', '.join(names)}](x: f32) -> y: f32 {{\n  y = {body}\n}}\n")
        sizes = " ".join(f"--dim A{i}={i + 2}" for i in range(65))
        out = self.expect(f"check many.qn {sizes}")
        self.assertIn("\n  not compared with compiled code: many has more than 64 different ranges\n", out)

    def test_kernels_with_errors_are_not_compared(self):
        self.write("two.qn", "kernel bad(x: f32[N]) -> y: f32[N] {\n  y[n] = z[n]\n}\n\n" + MATMUL)
        found = self.check("two.qn", 2)
        self.assertEqual([k["compiled"] is None for k in found["kernels"]], [True, False])

    def test_options(self):
        self.write("m.qn", MATMUL)
        for words, what in (("--cases 0", "--cases"), ("--cases many", "--cases"), ("--seed -1", "--seed"),
                            ("--vectors mmx", "--vectors mmx: expected sse2, avx2 or avx512")):
            code, _, err = self.quern("check", "m.qn", *words.split())
            self.assertEqual(code, 2)
            self.assertIn(what, err)
        missing = set(("sse2", "avx2", "avx512")) - set(self.levels())
        for level in missing:
            self.assertIn(f"this processor has no {level}\n", self.expect(f"check m.qn --vectors {level}"))

    def test_a_compiler_that_is_wrong(self):
        self.write("m.qn", MATMUL)
        env = {"QUERN_COMPILER": WRONG, "QUERN_RIGHT_COMPILER": RIGHT}
        code, out, err = self.quern("check", "m.qn", env=env)
        self.assertEqual(code, 1, err)
        self.assertIn("seed 1: differs from the interpreter\n", out)
        found = re.search(r"^error E807: matmul, compiled for sse2: c\[0, 0\] is (\S+), the interpreter has (\S+) "
                          r"with a bound of (\S+)$", err, re.M)
        self.assertTrue(found, err)
        have, want, bound = map(float, found.groups())
        self.assertAlmostEqual(have, want + 1, delta=bound + 1e-6)
        self.assertEqual(err.count("error E807"), 1)  # the other levels are right
        # The remedy's command shows it again.
        command = re.search(r"= help: report it with `quern (check m\.qn:matmul .* --cases 1 --vectors sse2)`", err)[1]
        code, _, again = self.quern(*command.split(), env=env)
        self.assertEqual(code, 1)
        self.assertIn(found[0], again)
        value = self.check("m.qn", 1, env=env)
        self.assertEqual([(d["code"], d["severity"]) for d in value["diagnostics"]], [("E807", "data")])
        self.assertFalse(value["kernels"][0]["compiled"]["agrees"])


if __name__ == "__main__":
    RIGHT, WRONG = (os.path.abspath(sys.argv.pop()) for _ in range(2))
    quern_case.main()
