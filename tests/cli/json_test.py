"""`--json`: what is printed, and that docs/json.md names exactly the fields that are."""

import json
import pathlib
import re

import quern_case
from quern_case import GATHER, MATMUL, SCALE, QuernCase, floats, ints

PAGE = pathlib.Path(__file__).resolve().parent.parent.parent / "docs" / "json.md"
GROUPED = """\
kernel grouped(q: f32[H], k: f32[G]) -> y: f32[H] {
  y[h] = q[h] * k[h // (H // G)]
}
"""
# An error with a note, in a file and outside.
NOTED = "kernel a(x: f32) -> y: f32 {\n  y = x\n  y = x\n}\n\nkernel a(x: f32) -> y: f32 {\n  y = x\n}\n"
BLUR = "kernel blur(x: f32[N]) -> y: f32[N] {\n  y[i] = sum[r < 3] x[i + r]\n}\n"
# Objects whose keys are the user's names, and lists that reuse the fields of diagnostics.
NAMED = ("dimensions", "types", "kernels[].subscripts[].sizes", "kernels[].compiled.cases[].sizes",
         "kernels[].compiled.cases[].types")


def documented():
    """Command -> the fields of its table and of the common one."""
    tables, command = {}, None
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            command = line[3:]
            tables[command] = set()
        elif found := re.match(r"\| `([^`]+)` \|", line):
            tables[command].add(found[1])
    common = tables.pop("All commands")
    tables.pop("exec")  # its lines are another kind of object: exec_test.py
    return {command: fields | common for command, fields in tables.items()}


def paths(value, prefix=""):
    """All fields, as the page writes them."""
    if isinstance(value, list):
        for element in value:
            if isinstance(element, (dict, list)):
                yield from paths(element, prefix + "[]")
    elif isinstance(value, dict) and prefix not in NAMED:
        for key, inner in value.items():
            path = f"{prefix}.{key}" if prefix else key
            yield path
            if path != "kernels[].remarks":
                yield from paths(inner, path)


class Json(QuernCase):
    def json(self, words, code=0, **options):
        """The objects printed; standard error is empty."""
        found, out, err = self.quern(*words.split(), "--json", **options)
        self.assertEqual((found, err), (code, ""), out)
        objects = [json.loads(line) for line in out.splitlines()]
        for value in objects:
            self.assertEqual((value["version"], value["command"]), (1, words.split()[0]))
        return objects

    def setUp(self):
        super().setUp()
        for name, text in (("m.qn", MATMUL), ("g.qn", GATHER), ("s.qn", SCALE), ("h.qn", GROUPED), ("n.qn", NOTED),
                           ("blur.qn", BLUR)):
            self.write(name, text)
        self.write("x.npy", floats([2], 1, float("inf")))
        self.write("id.npy", ints([2], 1, 7))

    def test_check(self):
        one, two = self.json("check m.qn h.qn")
        self.assertEqual((one["file"], one["diagnostics"], two["file"]), ("m.qn", [], "h.qn"))
        kernel, = one["kernels"]
        self.assertEqual((kernel["name"], kernel["refused"], kernel["all_sizes_given"]), ("matmul", False, False))
        self.assertEqual(kernel["signature"], "kernel matmul(a: T[M, K], b: T[K, N]) -> c: T[M, N]")
        self.assertEqual([s["status"] for s in kernel["subscripts"]], ["proved"] * 6)
        self.assertEqual(kernel["subscripts"][0],
                         {"file": "m.qn", "line": 3, "column": 5, "tensor": "c", "axis": 0, "text": "m",
                          "status": "proved", "data": False, "write": True, "local": False, "sizes": None})
        sized = [s for s in two["kernels"][0]["subscripts"] if s["status"] == "sized"]
        self.assertEqual([(s["text"], s["sizes"]) for s in sized], [("h // (H // G)", {"H": 4, "G": 2})])
        checked = [s for s in self.json("check g.qn")[0]["kernels"][0]["subscripts"] if s["status"] == "checked"]
        self.assertEqual([(s["text"], s["data"]) for s in checked], [("id[n]", True)])

    def test_check_refuses(self):
        found, = self.json("check blur.qn --dim N=4", 2)
        self.assertTrue(found["kernels"][0]["all_sizes_given"])
        problem, = found["diagnostics"]
        self.assertEqual({k: problem[k] for k in ("code", "severity", "file", "line", "column", "end_line", "end_column")},
                         {"code": "E306", "severity": "error", "file": "blur.qn", "line": 2, "column": 23, "end_line": 2,
                          "end_column": 28})
        found, = self.json("check none.qn", 2)
        self.assertEqual((found["kernels"], found["diagnostics"][0]["code"]), ([], "E117"))
        found, = self.json("check m.qn --dim M=x", 2)
        self.assertEqual(found["diagnostics"][0]["code"], "E740")

    def test_run(self):
        found, = self.json("run m.qn --dim M=2 --dim K=3 --dim N=5 --seed 3 --on interpreter")
        self.assertEqual((found["kernel"], found["device"], found["seed"]), ("matmul", "interpreter", 3))
        self.assertEqual((found["dimensions"], found["types"]), ({"M": 2, "K": 3, "N": 5}, {"T": "f32"}))
        self.assertEqual(found["arguments"][0],
                         {"name": "a", "type": "f32", "shape": [2, 3], "origin": "random", "path": None, "value": None})
        result, = found["results"]
        self.assertEqual((result["name"], result["shape"], len(result["first"])), ("c", [2, 5], 8))
        self.assertLessEqual(result["min"], result["mean"])
        self.assertGreater(result["largest_bound"], 0)

        found, = self.json("run s.qn x=x.npy -o out --bounds")
        self.assertIsNone(found["seed"])
        self.assertEqual([(a["origin"], a["path"], a["value"]) for a in found["arguments"]],
                         [("file", "x.npy", None), ("default", None, 2)])
        y, n = found["results"]
        self.assertEqual((y["min"], y["max"], y["mean"], y["first"]), (2, "inf", "inf", [2, "inf"]))
        self.assertEqual((y["path"], y["bound_path"]), ("out/y.npy", "out/y.bound.npy"))
        self.assertEqual((n["first"], n["largest_bound"], n["bound_path"]), ([2], None, None))

    def test_run_finds(self):
        found, = self.json("run g.qn id=id.npy --dim V=4 --seed 1", 1)
        self.assertEqual([(d["code"], d["severity"]) for d in found["diagnostics"]], [("E801", "data")])
        self.assertEqual(len(found["results"]), 1)
        found, = self.json("run g.qn --on cuda:0", 3)
        self.assertEqual(found["diagnostics"][0]["severity"], "unsupported")
        self.assertEqual((found["kernel"], found["arguments"], found["results"]), ("", [], []))

    def test_list(self):
        one, two = self.json("list m.qn s.qn")
        kernel, = one["kernels"]
        self.assertEqual((kernel["name"], kernel["documentation"], kernel["line"]), ("matmul", "Product.", 2))
        self.assertEqual(kernel["parameters"][0],
                         {"name": "a", "type": "T", "shape": ["M", "K"], "inout": False, "value": None})
        self.assertEqual(kernel["results"], [{"name": "c", "type": "T", "shape": ["M", "N"], "inout": False, "value": None}])
        self.assertEqual(two["kernels"][0]["parameters"][1]["value"], "2")
        self.json("list none.qn", 2)

    def test_emit(self):
        found, = self.json("emit --at expr m.qn")
        self.assertEqual((found["file"], found["kernel"], found["level"]), ("m.qn", "matmul", "expr"))
        self.assertEqual(found["text"], self.quern("emit", "--at", "expr", "m.qn")[1])
        found, = self.json("emit --at sass m.qn", 3)
        self.assertEqual((found["text"], found["diagnostics"][0]["code"]), (None, "N906"))

    def test_page(self):
        """Each field printed is documented, and each documented one is printed by some case."""
        cases = {
            "check": [("check m.qn h.qn g.qn", 0), ("check n.qn", 2), ("check blur.qn", 2)],
            "run": [("run m.qn --dim M=2 --dim K=3 --dim N=5", 0), ("run n.qn:a", 2)],
            "list": [("list m.qn s.qn", 0), ("list n.qn", 2)],
            "emit": [("emit --at expr m.qn", 0), ("emit --at expr n.qn:a", 2)],
            "derive": [("derive n.qn:a", 2), ("derive m.qn --dim M=2 --dim K=3 --dim N=5", 0)],
            "bench": [("bench n.qn:a", 2), ("bench m.qn --dim M=2 --dim K=3 --dim N=5", 0)],
            "devices": [("devices", 0), ("devices", 3)],
        }
        for command, fields in documented().items():
            printed = set()
            for words, code in cases[command]:
                env = {"QUERN_COMPILER": "none"} if code == 3 else None
                for value in self.json(words, code, env=env):
                    printed |= set(paths(value))
            if command == "devices":  # it reads no file, so its messages have no place
                printed, fields = ({f for f in s if not f.startswith("diagnostics[]")} for s in (printed, fields))
            self.assertEqual(sorted(printed), sorted(fields), command)


if __name__ == "__main__":
    quern_case.main()
