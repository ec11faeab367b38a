"""`quern format`: canonical files stay untouched, comments survive, what can't be read isn't written."""

import os
import stat

import quern_case
from quern_case import MATMUL, QuernCase

LOOSE = """\
# one
# two

#three
kernel   matmul(a:T[M,K], b : T[K, N])->c:T[M, N]{   # four
  # five
  c[m,n]=sum[k] (a[m, k]*b[k , n]) # six
  # seven
}
# eight
"""


class Format(QuernCase):
    def test_in_place(self):
        path = self.write("m.qn", LOOSE)
        os.chmod(path, 0o640)
        self.expect("format m.qn", 0, "")
        text = path.read_text()
        self.assertIn("kernel matmul(a: T[M, K], b: T[K, N]) -> c: T[M, N] {", text)
        for word in "one two three four five six seven eight".split():
            self.assertEqual(text.count(word), 1)
        self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o640)
        self.expect("format --check m.qn", 0, "")
        self.assertEqual(self.files(), ["m.qn"])

    def test_untouched(self):
        path = self.write("m.qn", MATMUL)
        os.utime(path, (1, 1))
        self.expect("format m.qn", 0, "")
        self.assertEqual(path.stat().st_mtime, 1)

    def test_check_writes_nothing(self):
        self.write("a.qn", LOOSE)
        self.write("b.qn", MATMUL)
        self.write("c.qn", LOOSE)
        self.expect("format --check a.qn b.qn c.qn", 2, "",
                    "error E744: a.qn is not in canonical form\n   = help: quern format a.qn\n"
                    "error E744: c.qn is not in canonical form\n   = help: quern format c.qn\n2 errors\n")
        self.assertEqual((self.folder / "a.qn").read_text(), LOOSE)

    def test_errors_are_not_formatted(self):
        bad = "kernel   k(x: f32) -> y: f32 {\n  y = \n}\n"
        path = self.write("bad.qn", bad)
        self.write("m.qn", LOOSE)
        code, out, err = self.quern("format", "bad.qn", "m.qn")
        self.assertEqual((code, out), (2, ""))
        self.assertIn("error E111", err)
        self.assertEqual(path.read_text(), bad)
        self.assertNotEqual((self.folder / "m.qn").read_text(), LOOSE)  # the others are

    def test_standard_input(self):
        out = self.expect("format -", 0, stdin=LOOSE)
        self.assertEqual(self.expect("format -", 0, stdin=out), out)
        self.expect("format --check -", 0, "", stdin=out)
        self.expect("format --check -", 2, "",
                    "error E744: - is not in canonical form\n   = help: quern format -\n", stdin=LOOSE)

    def test_windows_lines(self):
        path = self.write("w.qn", LOOSE.replace("\n", "\r\n"))
        self.expect("format w.qn", 0, "")
        self.assertNotIn(b"\r", path.read_bytes())

    def test_link_stays_a_link(self):
        self.write("real/m.qn", LOOSE)
        os.symlink("real/m.qn", self.folder / "link.qn")
        self.expect("format link.qn", 0, "")
        self.assertTrue((self.folder / "link.qn").is_symlink())
        self.expect("format --check real/m.qn", 0, "")


if __name__ == "__main__":
    quern_case.main()
