"""`quern list` and `quern emit`."""

import os
import pathlib
import subprocess

import quern_case
from quern_case import GATHER, MATMUL, QuernCase

LISTED = """\
a.qn
  kernel matmul(a: T[M, K], b: T[K, N]) -> c: T[M, N]
      Product.
b.qn
  kernel gather(id: i32[N], table: f32[V]) -> y: f32[N]
"""


class List(QuernCase):
    def test_files(self):
        self.write("a.qn", MATMUL)
        self.write("b.qn", GATHER)
        self.expect("list a.qn b.qn", 0, LISTED)

    def test_errors_are_shown_beside_the_rest(self):
        self.write("a.qn", MATMUL + "\nkernel e(x: f32) -> y: f32 {\n  y = z\n}\n")
        code, out, err = self.quern("list", "a.qn")
        self.assertEqual(code, 2)
        self.assertIn("kernel e(x: f32) -> y: f32", out)
        self.assertIn("error E201", err)

    def test_library(self):
        self.write("one/a.qn", MATMUL)
        self.write("two/b.qn", GATHER)
        self.write("two/README.md", "no kernel")
        listed = self.expect("list", 0, env={"QUERN_LIBRARY": "one:two"})
        self.assertEqual(listed, LISTED.replace("a.qn", "one/a.qn").replace("b.qn", "two/b.qn"))
        self.expect("list", 2, "", "error E117: can't read 'none': No such file or directory\n"
                                   "   = help: set QUERN_LIBRARY to the folder that holds the library\n",
                    env={"QUERN_LIBRARY": "none"})

    def test_library_beside_the_program(self):
        program = self.folder / "bin" / "quern"
        program.parent.mkdir()
        program.write_bytes(pathlib.Path(quern_case.PROGRAM).read_bytes())
        program.chmod(0o755)
        self.write("share/quern/kernels/a.qn", MATMUL)
        environment = {k: v for k, v in os.environ.items() if k != "QUERN_LIBRARY"}
        done = subprocess.run([program, "list"], capture_output=True, env=environment, timeout=60)
        self.assertEqual(done.returncode, 0)
        self.assertIn(f"{os.path.realpath(self.folder)}/share/quern/kernels/a.qn\n", done.stdout.decode())

    def test_emitted_kernel_is_accepted(self):
        self.write("a.qn", "kernel s(x: f32[R, N]) -> y: f32[R, N] {\n  y[r, n] = softmax[n](x[r, n])\n}\n")
        text = self.expect("emit a.qn --at expr")
        self.assertIn("max[n < N] x[r, n]", text)
        self.write("b.qn", text)
        self.assertEqual(self.expect("emit b.qn --at expr"), text)
        self.expect("format --check b.qn", 0, "")


if __name__ == "__main__":
    quern_case.main()
