"""Compiled kernels from the command line: results, levels, the cache, and what is shown when something is in the way."""

import json
import os
import pathlib
import struct
import subprocess
import tempfile
import time
import zipfile

import quern_case
from quern_case import GATHER, MATMUL, QuernCase, floats, ints, read_floats

SIZES = "--dim M=37 --dim K=29 --dim N=43"
KERNELS = pathlib.Path(__file__).resolve().parents[2] / "kernels"


class Cpu(QuernCase):
    def setUp(self):
        super().setUp()
        for name, text in (("m.qn", MATMUL), ("g.qn", GATHER)):
            self.write(name, text)

    def json(self, words, code=0, **options):
        found, out, err = self.quern(*words.split(), "--json", **options)
        self.assertEqual((found, err), (code, ""), out)
        return json.loads(out)

    def test_result(self):
        self.write("a.npy", floats([2, 3], 1, 2, 3, 4, 5, 6))
        self.write("b.npy", floats([3, 2], 1, 0, 0, 1, 1, 1))
        self.expect("run m.qn a=a.npy b=b.npy --on cpu", 0,
                    "a: f32[2, 3]  from a.npy\nb: f32[3, 2]  from b.npy\n"
                    "c: f32[2, 2]  min 4, max 11, mean 7.5\n  [[ 4,  5],\n   [10, 11]]\n")

    def test_agrees_with_the_interpreter(self):
        self.quern(*f"run m.qn {SIZES} --seed 3 --on interpreter -o slow.npz --bounds".split())
        slow = read_floats_of(self, "slow.npz", "c"), read_floats_of(self, "slow.npz", "c.bound", "d")
        for option in ("", "--vectors sse2", "--schedule plain", "--threads 1", "--deterministic", "--operands exact"):
            self.expect(f"run m.qn {SIZES} --seed 3 --on cpu -o fast.npz {option}")
            fast = read_floats_of(self, "fast.npz", "c")
            for x, y, bound in zip(fast, *slow):
                self.assertLessEqual(abs(x - y), bound, option)

    def test_ends_of_ranges_that_leave_a_dimension(self):
        """Both devices say the same of a range whose data end it outside."""
        self.write("r.qn", "kernel r(d: f32[N], start: i32[M], end: i32[M]) -> y: f32[M] {\n"
                           "  y[m] = sum[start[m] <= n < end[m]] d[n]\n}\n")
        self.write("d.npy", floats([5], 1, 2, 3, 4, 5))
        self.write("start.npy", ints([3], 0, 1, -2))
        self.write("end.npy", ints([3], 2, 9, 4))
        found = [self.quern(*f"run r.qn d=d.npy start=start.npy end=end.npy --on {device}".split())
                 for device in ("interpreter", "cpu")]
        self.assertEqual((found[0][0], found[0][2]), (found[1][0], found[1][2]))
        self.assertIn("error E801: d[n] is 8 at the end of its range end[m] = 9, the dimension has 5\n", found[1][2])
        self.assertIn("error E801: d[n] is -2 at the start of its range start[m] = -2, the dimension has 5\n", found[1][2])

    def test_the_script_that_compares(self):
        self.quern(*f"run m.qn {SIZES} --seed 3 --on interpreter -o slow --bounds".split())
        self.quern(*f"run m.qn {SIZES} --seed 3 --on cpu -o fast".split())
        script = pathlib.Path(__file__).resolve().parents[2] / "scripts/within_bound"

        def compare(result):
            self.write("result.npy", result)
            done = subprocess.run([script, "result.npy", "slow/c.npy", "slow/c.bound.npy"], cwd=self.folder,
                                  capture_output=True, text=True, timeout=60)
            return done.returncode, done.stdout

        good = (self.folder / "fast/c.npy").read_bytes()
        code, out = compare(good)
        self.assertEqual(code, 0, out)
        self.assertRegex(out, r"^1591 elements, largest difference \S+, at most 0\S* of the bound, 0 beyond it\n$")
        for wrong in (1e9, float("nan"), float("inf"), float("-inf")):
            code, out = compare(good[:-4] + struct.pack("<f", wrong))
            self.assertEqual(code, 1, out)
            self.assertIn(" 1 beyond it", out)
        self.assertEqual(compare(good[:-4]), (2, "the files differ in size\n"))

    def test_what_cant_be_compiled_yet(self):
        """More ranges than axes: on the interpreter, unless the compiler was asked for."""
        names = [f"A{i}" for i in range(65)]
        body = " + ".join(f"(sum[j{i} < A{i}] x * j{i})" for i in range(65))
        self.write("many.qn", f"kernel many[{', '.join(names)}](x: f32) -> y: f32 {{\n  y = {body}\n}}\n")
        words = "run many.qn x=1 " + " ".join(f"--dim A{i}={i + 2}" for i in range(65))
        code, out, err = self.quern(*words.split())
        self.assertEqual(code, 0)
        self.assertIn("y: f32", out)
        self.assertIn("remark R41: many runs on the interpreter: many has more than 64 different ranges\n", err)
        code, _, err = self.quern(*words.split(), "--on", "cpu")
        self.assertEqual(code, 3)
        self.assertIn("error N907: many has more than 64 different ranges\n", err)

    def test_what_would_take_too_long(self):
        """All pairs of a long range: not compiled, and not left to the interpreter unasked."""
        self.write("rank.qn", "kernel place(x: f32[N]) -> y: i32[N] {\n  y[n] = rank[n](x[n])\n}\n")
        for on in ("", " --on cpu"):
            code, out, err = self.quern(*f"run rank.qn --dim N=300000{on}".split())
            self.assertEqual((code, out), (3, ""))
            self.assertIn("error N903: rank over 300000 entries compares all pairs\n", err)

    def test_cache(self):
        with tempfile.TemporaryDirectory(prefix="quern-cache-") as cache:
            env = {"QUERN_CACHE": cache + "/of/quern"}
            words = f"run m.qn {SIZES} --seed 3 --on cpu"
            self.assertEqual([self.json(words, env=env)["cached"] for _ in range(3)], [False, True, True])
            self.assertFalse(self.json(words + " --schedule plain", env=env)["cached"])
            # Half an entry, and none of the right size.
            for damage in (lambda d: d[:len(d) // 2], lambda d: bytes(len(d)), lambda d: b""):
                for entry in pathlib.Path(env["QUERN_CACHE"]).iterdir():
                    entry.write_bytes(damage(entry.read_bytes()))
                self.assertFalse(self.json(words, env=env)["cached"])
                self.assertTrue(self.json(words, env=env)["cached"])
            self.assertFalse(self.json(words, env={"QUERN_CACHE": ""})["cached"])
            self.assertIsNone(self.json(words.replace("cpu", "interpreter"), env=env)["cached"])

    def test_a_cache_that_cant_be_written(self):
        self.write("file", "")
        env = {"QUERN_CACHE": str(self.folder / "file" / "cache")}
        code, out, err = self.quern(*f"run m.qn {SIZES} --seed 3 --on cpu".split(), env=env)
        self.assertEqual(code, 0)
        self.assertIn("c: f32[37, 43]", out)
        self.assertEqual(err.count("remark R40: compiled code isn't kept in "), 1)
        self.assertIn("Not a directory", err)

    def test_findings(self):
        self.write("id.npy", ints([3], 0, 5, 1))
        self.write("table.npy", floats([2], 7, 8))
        slow = self.quern(*"run g.qn id=id.npy table=table.npy --on interpreter".split())
        fast = self.quern(*"run g.qn id=id.npy table=table.npy --on cpu".split())
        self.assertEqual((fast[0], fast[2]), (slow[0], slow[2]))
        self.assertEqual(fast[0], 1)
        self.expect("run g.qn id=id.npy table=table.npy --on cpu -o y.npy", 1, err=slow[2])
        self.assertEqual(read_floats(self.folder / "y.npy"), [7, 0, 8])

    def test_levels(self):
        last = ""
        for level in ("expr", "lowered", "tiled", "placed", "laid", "llvm", "asm"):
            text = self.expect(f"emit m.qn --at {level} {SIZES}" if level != "expr" else "emit m.qn --at expr")
            self.assertNotEqual(text, last)
            last = text
        self.assertIn("ret", last)
        found = self.json(f"emit m.qn --at llvm {SIZES}")
        self.assertIn("define", found["text"])
        code, _, err = self.quern(*"emit m.qn --at tiled".split())
        self.assertEqual(code, 2)
        self.assertIn("error E70", err)

    def test_a_schedule_that_does_not_fit_is_an_error_at_every_level(self):
        for level in ("lowered", "tiled", "asm"):
            for schedule, error in (("matmul: z 4 grid; parts 1", "E745"), ("matmul: m 4", "E102")):
                words = f"emit m.qn --at {level} {SIZES} --schedule".split()
                code, _, err = self.quern(*words, schedule)
                self.assertEqual(code, 2, err)
                self.assertIn(f"error {error}", err)

    def test_devices(self):
        out = self.expect("devices")
        self.assertRegex(out, r"^interpreter  .*\ncpu +\S.*, \d+ cores?, vectors of (128|256|512) bits, L1 ")
        found = self.json("devices")
        self.assertEqual([d["name"] for d in found["devices"]], ["interpreter", "cpu"])
        self.assertGreaterEqual(found["devices"][1]["cores"], 1)

    def test_bench(self):
        found = self.json(f"bench m.qn {SIZES}")
        self.assertEqual([f["name"] for f in found["forms"]], ["fused", "unfused", "scalar loops"])
        for form in found["forms"]:
            self.assertEqual(form["flops"], 2 * 37 * 29 * 43)
            self.assertEqual(form["least_bytes"], 4 * (37 * 29 + 29 * 43 + 37 * 43))
        self.assertEqual(found["missing"], [])
        out = self.expect(f"bench m.qn {SIZES}")
        self.assertIn("fused is ", out)

    def test_bench_of_ranges_that_data_end(self):
        """Every form is measured, or is said not to be."""
        words = (f"bench {KERNELS}/attention.qn:attention_varlen --dim S=2 --dim H=4 --dim G=2 --dim N=16 --dim D=16 "
                 "--dim E=16")
        found = self.json(words)
        self.assertEqual(found["forms"][0]["name"], "fused")
        self.assertEqual(len(found["forms"]) + len(found["missing"]), 3)
        out = self.expect(words)
        self.assertEqual(out.count("not measured: "), len(found["missing"]))

    def test_nothing_is_half_written_by_a_killed_run(self):
        """The cache after a run that is killed while it compiles: the next run works."""
        with tempfile.TemporaryDirectory(prefix="quern-cache-") as cache:
            env = {**os.environ, "QUERN_CACHE": cache}
            for wait in (0.005, 0.01, 0.02, 0.04, 0.08):
                run = subprocess.Popen([quern_case.PROGRAM, "run", "m.qn", *SIZES.split(), "--on", "cpu"], env=env,
                                       cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                time.sleep(wait)
                run.kill()
                run.wait()
                self.expect(f"run m.qn {SIZES} --seed 1 --on cpu", env={"QUERN_CACHE": cache})


def read_floats_of(case, archive, name, code="f"):
    with zipfile.ZipFile(case.folder / archive) as z:
        data = z.read(name + ".npy")
    start = 10 + struct.unpack("<H", data[8:10])[0]
    return struct.unpack(f"<{(len(data) - start) // struct.calcsize(code)}{code}", data[start:])


if __name__ == "__main__":
    quern_case.main()
