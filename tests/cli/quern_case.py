"""A test case that runs `quern` in an empty folder, and writes arrays without NumPy."""

import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest
import zipfile

PROGRAM = ""
# Compiled code of these tests, and nobody else's.
CACHE = tempfile.TemporaryDirectory(prefix="quern-cli-cache-")

MATMUL = """\
# Product.
kernel matmul(a: T[M, K], b: T[K, N]) -> c: T[M, N] {
  c[m, n] = sum[k] a[m, k] * b[k, n]
}
"""
SCALE = """\
kernel scale(x: f32[N], s: f32 = 2) -> (y: f32[N], n: i32) {
  y[i] = x[i] * s
  n = sum[i < N] 1
}
"""
GATHER = """\
kernel gather(id: i32[N], table: f32[V]) -> y: f32[N] {
  y[n] = table[id[n]]
}
"""


class QuernCase(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self._folder = tempfile.TemporaryDirectory(prefix="quern-cli-")
        self.addCleanup(self._folder.cleanup)
        self.folder = pathlib.Path(self._folder.name)

    def write(self, name, content):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def quern(self, *words, stdin="", env=None, stdout=subprocess.PIPE, user=None):
        """(exit code, standard output, standard error)"""
        environment = {k: v for k, v in os.environ.items()
                       if k not in ("QUERN_LIBRARY", "QUERN_COMPILER", "QUERN_CUDA", "NO_COLOR")}
        environment["QUERN_CACHE"] = CACHE.name
        done = subprocess.run([PROGRAM, *words], input=stdin.encode(), stdout=stdout, stderr=subprocess.PIPE,
                              cwd=self.folder, env={**environment, **(env or {})}, timeout=120, user=user)
        return done.returncode, (done.stdout or b"").decode(), done.stderr.decode(errors="replace")

    def expect(self, words, code=0, out=None, err="", **options):
        """Runs a line of words; compares what is given, standard error always."""
        found = self.quern(*(words.split() if isinstance(words, str) else words), **options)
        self.assertEqual((found[0], found[2]), (code, err))
        if out is not None:
            self.assertEqual(found[1], out)
        return found[1]

    def files(self):
        """All files and folders below, the hidden ones too."""
        return sorted(p.relative_to(self.folder).as_posix() for p in self.folder.rglob("*"))


def npy(descr, shape, data, fortran=False):
    """The bytes of a .npy file, version 1.0."""
    header = f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {tuple(shape)!r}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data


def floats(shape, *values):
    return npy("<f4", shape, struct.pack(f"<{len(values)}f", *values))


def ints(shape, *values):
    return npy("<i4", shape, struct.pack(f"<{len(values)}i", *values))


def npz(path, **members):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name + ".npy", content)


def read_floats(path, letter="f"):
    """The elements of a .npy file of floats."""
    content = path.read_bytes()
    start = 10 + struct.unpack("<H", content[8:10])[0]
    data = content[start:]
    return list(struct.unpack(f"<{len(data) // struct.calcsize(letter)}{letter}", data))


def main():
    global PROGRAM
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    # Tests are in the script; they find the program here.
    sys.modules["quern_case"].PROGRAM = PROGRAM
    unittest.main()
