"""Files that are hostile, damaged or missing, and which kernel of a file is meant: the same for all commands."""

import os
import subprocess

import quern_case
from quern_case import GATHER, MATMUL, QuernCase

COMMANDS = ("run", "check", "format", "list", "emit --at expr")


class Source(QuernCase):
    def test_unreadable(self):
        os.mkdir(self.folder / "folder.qn")
        for command in COMMANDS:
            for file, why in (("none.qn", "No such file or directory"), ("folder.qn", "it is a directory")):
                self.expect(f"{command} {file}", 2, "", f"error E117: can't read '{file}': {why}\n")

    def test_endless(self):
        self.expect("check --language-only /dev/zero", 2, "", "error E117: can't read '/dev/zero': it is larger than 256 MiB\n")

    def test_empty(self):
        self.write("empty.qn", "")
        self.expect("check --language-only empty.qn", 0, "empty.qn: no kernel\n")
        self.expect("format empty.qn", 0, "")
        self.expect("list empty.qn", 0, "empty.qn\n")
        for command in ("run", "emit --at expr"):
            self.expect(f"{command} empty.qn", 2, "",
                        "error E740: empty.qn holds no kernel\n   = help: see docs/notation.md\n")

    def test_not_utf8(self):
        self.write("latin.qn", b"# caf\xe9\n")
        for command in COMMANDS:
            self.expect(f"{command} latin.qn", 2, "",
                        "error E114: byte 0xe9 at offset 5 is not valid UTF-8\n   --> latin.qn:1:6\n   |\n"
                        " 1 | # caf?\n   |      ^\n   = help: save the file as UTF-8\n")

    def test_deep(self):
        self.write("deep.qn", "kernel k(x: f32) -> y: f32 {\n  y = " + "(" * (1 << 20) + "\n}\n")
        for command in COMMANDS:
            code, _, err = self.quern(*command.split(), "deep.qn")
            self.assertEqual(code, 2)
            self.assertIn("error E113: nested deeper than 250 levels", err)
            self.assertLess(len(err), 4000)

    def test_many_errors(self):
        lines = "".join(f"  y{i}[n] = z{i}[n]\n" for i in range(150))
        self.write("many.qn", "kernel k(x: f32[N]) -> y: f32[N] {\n" + lines + "  y[n] = x[n]\n}\n")
        code, _, err = self.quern("check", "--language-only", "many.qn")
        self.assertEqual(code, 2)
        errors = sum(line.startswith("error E") for line in err.splitlines())
        self.assertEqual(errors, 100)
        more, count = err.splitlines()[-2:]
        self.assertRegex(more, r"^… and \d+ more$")
        self.assertRegex(count, r"^\d+ errors$")
        self.assertEqual(int(more.split()[2]) + 100, int(count.split()[0]))

    def test_which_kernel(self):
        self.write("two.qn", MATMUL + "\n" + GATHER)
        for command in ("run", "emit --at expr"):
            self.expect(f"{command} two.qn", 2, "",
                        "error E742: two.qn holds 2 kernels\n   = help: name one: two.qn:matmul\n")
        for command in ("run", "check", "list", "emit --at expr"):
            err = "error E741: two.qn has no kernel matmol\n   = help: did you mean two.qn:matmul?\n"
            self.assertEqual(self.quern(*command.split(), "two.qn:matmol")[2], err)
        self.expect("check --language-only two.qn:unlike", 2, "",
                    "error E741: two.qn has no kernel unlike\n   = help: it holds matmul, gather\n")
        self.expect("emit --at expr two.qn:gather", 0,
                    "kernel gather(id: i32[N], table: f32[V]) -> y: f32[N] {\n  y[n < N] = table[id[n]]\n}\n")
        self.assertEqual(len(self.expect("list two.qn:gather").splitlines()), 2)

    def test_colon_in_a_name(self):
        self.write("odd:name", MATMUL)
        self.expect("check --language-only odd:name", 0, "odd:name:matmul: 6 subscripts: proved for all sizes\n")

    def test_errors_elsewhere(self):
        self.write("half.qn", MATMUL + "\nkernel broken(x: f32[N]) -> y: f32[N] {\n  y[n] = z\n}\n")
        self.expect("check --language-only half.qn:matmul", 0, "half.qn:matmul: 6 subscripts: proved for all sizes\n")
        self.expect("run half.qn:matmul --dim M=1 --dim N=1 --dim K=1 --seed 1", 0)
        for words in ("check half.qn", "check half.qn:broken", "run half.qn:broken", "emit --at expr half.qn:broken"):
            code, _, err = self.quern(*words.split())
            self.assertEqual(code, 2, words)
            self.assertIn("half.qn:7:10", err)

    def test_standard_input(self):
        self.expect("check --language-only -", 0, "-:matmul: 6 subscripts: proved for all sizes\n", stdin=MATMUL)
        self.expect("emit --at expr -- -:matmul", 0, stdin=MATMUL)

    def test_closed_standard_input(self):
        done = subprocess.run(["sh", "-c", '"$0" format - <&-', quern_case.PROGRAM], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertEqual(done.stderr, "error E117: can't read standard input: it is closed\n")

    def test_imports(self):
        self.write("lib/half.qn", "fn half(x) = x / 2\n")
        self.write("use.qn", "import half\n\nkernel k(x: f32[N]) -> y: f32[N] {\n  y[n] = half(x[n])\n}\n")
        self.expect("check --language-only use.qn", 0, env={"QUERN_LIBRARY": "lib"})
        code, _, err = self.quern("check", "--language-only", "use.qn", env={"QUERN_LIBRARY": "other:"})
        self.assertEqual(code, 2)
        self.assertIn("error E609: there is no file half.qn to import", err)


if __name__ == "__main__":
    quern_case.main()
