"""Kernels for GPUs from the command line: PTX, and results of the virtual GPU."""

import pathlib
import shutil
import subprocess

import quern_case
from quern_case import GATHER, MATMUL, QuernCase, floats, ints, read_floats

SIZES = "--dim M=37 --dim K=29 --dim N=43"
KERNELS = pathlib.Path(__file__).resolve().parents[2] / "kernels"
CHIPS = {"a100": "sm_80", "4090": "sm_89", "h100": "sm_90"}


class Virtual(QuernCase):
    def setUp(self):
        super().setUp()
        for name, text in (("m.qn", MATMUL), ("g.qn", GATHER)):
            self.write(name, text)

    def test_result(self):
        self.write("a.npy", floats([2, 3], 1, 2, 3, 4, 5, 6))
        self.write("b.npy", floats([3, 2], 1, 0, 0, 1, 1, 1))
        for chip in CHIPS:
            self.expect(f"run m.qn a=a.npy b=b.npy --on virtual:{chip}", 0,
                        "a: f32[2, 3]  from a.npy\nb: f32[3, 2]  from b.npy\n"
                        "c: f32[2, 2]  min 4, max 11, mean 7.5\n  [[ 4,  5],\n   [10, 11]]\n")

    def test_the_same_as_the_processor(self):
        """Sums go in another order, but over numbers that are whole that is no difference."""
        ones = [float(i % 7 - 3) for i in range(37 * 29)], [float(i % 5 - 2) for i in range(29 * 43)]
        self.write("a.npy", floats([37, 29], *ones[0]))
        self.write("b.npy", floats([29, 43], *ones[1]))
        for device in ("cpu", "virtual:h100"):
            self.quern(*f"run m.qn a=a.npy b=b.npy --on {device} -o {device[:3]}.npy".split())
        self.assertEqual(read_floats(self.folder / "cpu.npy"), read_floats(self.folder / "vir.npy"))

    def test_what_is_found_in_the_data(self):
        self.write("id.npy", ints([5], 0, 9, 1, -1, 7))
        self.write("table.npy", floats([3], 1, 2, 3))
        found = [self.quern(*f"run g.qn id=id.npy table=table.npy --on {device}".split())
                 for device in ("interpreter", "virtual:h100")]
        self.assertEqual(found[0][::2], found[1][::2])
        self.assertIn("error E801: ", found[1][2])
        self.assertEqual(found[1][0], 1)

    def test_chips(self):
        self.expect(f"run m.qn {SIZES} --on virtual:h10", 2, "",
                    "error E975: there is no chip 'h10'\n   = help: did you mean `h100`?\n")
        for chip, target in CHIPS.items():
            text = self.expect(f"emit m.qn {SIZES} --type T=f32 --at ptx --on virtual:{chip}")
            self.assertIn(f".target {target}\n", text)
            self.assertIn(".visible .entry k0(", text)

    def test_the_assembler_takes_it(self):
        ptxas = shutil.which("ptxas") or shutil.which("ptxas", path="/usr/local/cuda/bin")
        if not ptxas:
            self.skipTest("there is no ptxas here")
        kernels = {"attention.qn:attention": "B=1 H=4 G=2 M=32 N=48 D=16 E=16", "matmul.qn:matmul": "M=64 K=96 N=80",
                   "norms.qn:rms_norm": "R=8 D=999"}
        for kernel, dims in kernels.items():
            sizes = " ".join(f"--dim {d}" for d in dims.split())
            for chip, target in CHIPS.items():
                text = self.expect(f"emit {KERNELS / kernel} {sizes} --type T=f16 --at ptx --on virtual:{chip}")
                # One module a kernel.
                for i, module in enumerate(text.split(".version ")[1:]):
                    self.write("k.ptx", ".version " + module)
                    done = subprocess.run([ptxas, f"-arch={target}", self.folder / "k.ptx", "-o", self.folder / "k.cubin"],
                                          capture_output=True, text=True)
                    self.assertEqual(done.returncode, 0, f"{kernel} {i} {chip}: {done.stderr}")


if __name__ == "__main__":
    quern_case.main()
