"""Arrays that don't fit the kernel, or aren't arrays: each refused with its own message, and nothing is written."""

import json
import os
import struct

import quern_case
from quern_case import MATMUL, QuernCase, floats, npy, read_floats

SUM = "kernel total(x: f32[N]) -> y: f32 {\n  y = sum[n] x[n]\n}\n"
PLACE = """\
   --> t.qn:1:14
   |
 1 | kernel total(x: f32[N]) -> y: f32 {
   |              ^
"""


class ArrayFiles(QuernCase):
    def setUp(self):
        super().setUp()
        self.write("t.qn", SUM)

    def refuse(self, err, words="x=x.npy"):
        before = self.files()
        self.expect(f"run t.qn {words} -o y.npy", 2, "", err)
        self.assertEqual(self.files(), before)

    def test_rank(self):
        self.write("x.npy", floats([1, 1], 1))
        self.refuse("error E704: x has 2 dimensions, expected 1\n" + PLACE)
        self.write("x.npy", floats([], 1))
        self.refuse("error E704: x has 0 dimensions, expected 1\n" + PLACE)

    def test_shape(self):
        self.write("m.qn", MATMUL)
        self.write("a.npy", floats([1, 2], 1, 1))
        self.write("b.npy", floats([3, 1], 1, 1, 1))
        code, _, err = self.quern("run", "m.qn", "a=a.npy", "b=b.npy")
        self.assertEqual(code, 2)
        self.assertIn("error E705: b: K is 2, the argument has 3 (with K = 2 from a)\n", err)
        code, _, err = self.quern("run", "m.qn", "a=a.npy", "--dim", "N=1", "--dim", "K=4")
        self.assertEqual(code, 2)
        self.assertIn("error E717: K is 2 from a and 4 was given\n", err)

    def test_type(self):
        self.write("x.npy", npy("<f8", [1], struct.pack("<d", 1)))
        self.refuse("error E709: x: expected f32, the argument is f64\n" + PLACE +
                    "   = help: convert the array to f32\n")
        self.write("m.qn", MATMUL)
        self.write("a.npy", floats([1, 1], 1))
        self.write("b.npy", npy("<f8", [1, 1], struct.pack("<d", 1)))
        code, _, err = self.quern("run", "m.qn", "a=a.npy", "b=b.npy")
        self.assertEqual(code, 2)
        self.assertIn("error E707: T is f32 from a and f64 from b\n", err)

    def test_one_message_an_archive(self):
        self.write("m.qn", MATMUL)
        header = json.dumps({name: {"dtype": "F99", "shape": [1, 1], "data_offsets": [4 * at, 4 * at + 4]}
                             for at, name in enumerate("ab")}).encode()
        self.write("x.safetensors", struct.pack("<Q", len(header)) + header + bytes(8))
        self.expect("run m.qn x.safetensors", 2, "",
                    "error E725: 'x.safetensors:a' has elements of type F99, which the notation does not have\n"
                    "   = help: convert it with a.astype(...)\n")

    def test_not_arrays(self):
        for name, content, code, text in (
                ("x.npy", b"", "E722", "'x.npy' is truncated: 10 bytes expected, 0 found"),
                ("x.npy", b"hello, world, this is text", "E721", "'x.npy' is not a .npy file"),
                ("x.npy", npy("<c8", [1], bytes(8)), "E725", "'x.npy' has elements of type <c8"),
                ("x.npy", npy(">f4", [1], bytes(4)), "E724", "'x.npy' is big-endian (>f4)"),
                ("x.npy", npy("<f4", [2, 2], bytes(16), fortran=True), "E723", "'x.npy' is in Fortran order"),
                ("x.npy", npy("<f4", [3], bytes(8)), "E722", "'x.npy' is truncated: "),
                ("x.npy", npy("<f4", [1 << 40, 1 << 40], bytes(8)), "E726", "'x.npy' has a shape that overflows"),
                ("x.npy", npy("<f4", [-1], bytes(8)), "E721", "'x.npy' is not a .npy file: 'shape' holds a negative"),
                ("x.npz", b"PK", "E722", "'x.npz' is truncated: 22 bytes expected, 2 found"),
                ("x.npz", b"PK" * 30, "E728", "'x.npz': its directory is missing"),
                ("x.safetensors", bytes(8) * 3, "E721", "'x.safetensors' is not a "),
        ):
            path = self.write(name, content)
            before = self.files()
            found, out, err = self.quern("run", "t.qn", f"x={name}", "-o", "y.npy")
            self.assertEqual((found, out), (2, ""), err)
            self.assertTrue(err.startswith(f"error {code}: {text}"), err)
            self.assertEqual(self.files(), before)
            path.unlink()

    def test_unreadable(self):
        self.refuse("error E720: can't read 'x.npy': No such file or directory\n")
        os.mkdir(self.folder / "x.npy")
        self.refuse("error E720: can't read 'x.npy': it is a directory\n")
        self.refuse("error E720: can't read 'none.npz': No such file or directory\n", "none.npz")

    def test_raw_bits(self):
        self.write("s.qn", "kernel s(x: T[N]) -> y: f32[N] {\n  y[n] = x[n]\n}\n")
        self.write("x.npy", npy("<u2", [2], struct.pack("<HH", 0x3F80, 0xC000)))
        self.expect("run s.qn x=x.npy --type T=bf16 -o y.npy")
        self.assertEqual(read_floats(self.folder / "y.npy"), [1, -2])
        self.expect("run s.qn x=x.npy", 2, "",
                    "error E725: 'x.npy' has elements of type <u2, which the notation does not have\n"
                    "   = help: if it holds raw bits, say of which type: --type T=bf16\n")
        for descr, size in ("<c8", 8), ("|S2", 2), ("|O", 8), ("<M8[s]", 8):
            self.write("x.npy", npy(descr, [1], bytes(size)))
            self.expect("run s.qn x=x.npy", 2, "",
                        f"error E725: 'x.npy' has elements of type {descr}, which the notation does not have\n"
                        "   = help: convert it with a.astype(...)\n")
        self.write("x.npy", npy("|V1", [2], bytes([0x38, 0xC0])))
        self.expect("run s.qn x=x.npy", 2, "",
                    "error E725: 'x.npy' has elements of type |V1, which the notation does not have\n"
                    "   = help: if it holds raw bits, say of which type: --type T=f8e4m3\n")
        self.write("x.npy", npy("|u1", [2], bytes([0x38, 0xC0])))
        self.expect("run s.qn x=x.npy --type T=f8e4m3 -o y.npy")
        self.assertEqual(read_floats(self.folder / "y.npy"), [1, -2])
        self.write("n.qn", "kernel n(x: u4[N]) -> y: f32[N] {\n  y[n] = x[n]\n}\n")
        self.write("x.npy", npy("|u1", [2], bytes([0x21, 0x43])))
        self.expect("run n.qn x=x.npy -o y.npy")
        self.assertEqual(read_floats(self.folder / "y.npy"), [1, 2, 3, 4])
        # Another array says what the bits are.
        self.write("p.qn", "kernel p(a: T[N], b: T[N]) -> y: f32[N] {\n  y[n] = a[n] + b[n]\n}\n")
        header = b'{"b":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]}}'
        self.write("b.safetensors", struct.pack("<Q", len(header)) + header + struct.pack("<HH", 0x3F80, 0x3F80))
        self.write("x.npy", npy("<u2", [2], struct.pack("<HH", 0x3F80, 0xC000)))
        self.expect("run p.qn a=x.npy b.safetensors -o y.npy")
        self.assertEqual(read_floats(self.folder / "y.npy"), [2, -1])


if __name__ == "__main__":
    quern_case.main()
