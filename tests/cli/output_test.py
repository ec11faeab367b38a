"""`run -o`: all results or none, and the place is tried before anything is computed."""

import os
import resource
import struct
import subprocess
import zipfile

import quern_case
from quern_case import MATMUL, SCALE, QuernCase, floats, read_floats

SIZES = "--dim M=2 --dim K=3 --dim N=2 --seed 1"


class Output(QuernCase):
    def setUp(self):
        super().setUp()
        self.write("m.qn", MATMUL)
        self.write("s.qn", SCALE)
        self.write("x.npy", floats([2], 1, 3))

    def test_folder(self):
        out = self.expect("run s.qn x=x.npy -o out/deep --bounds")
        self.assertEqual([f for f in self.files() if f.startswith("out")],
                         ["out", "out/deep", "out/deep/n.npy", "out/deep/y.bound.npy", "out/deep/y.npy"])
        self.assertEqual(read_floats(self.folder / "out/deep/y.npy"), [2, 6])
        bounds = read_floats(self.folder / "out/deep/y.bound.npy", "d")
        self.assertEqual(len(bounds), 2)
        self.assertTrue(all(0 <= b < 1e-5 for b in bounds))
        self.assertIn("  -> out/deep/y.npy\n  -> out/deep/y.bound.npy\n", out)
        # Once more, over what is there.
        self.expect("run s.qn x=x.npy s=3 -o out/deep/")
        self.assertEqual(read_floats(self.folder / "out/deep/y.npy"), [3, 9])

    def test_archives(self):
        out = self.expect("run s.qn x=x.npy -o r.npz --bounds")
        self.assertIn("  -> r.npz:y\n  -> r.npz:y.bound\n", out)
        with zipfile.ZipFile(self.folder / "r.npz") as archive:
            self.assertEqual(sorted(archive.namelist()), ["n.npy", "y.bound.npy", "y.npy"])
        self.expect("run s.qn x=x.npy -o r.safetensors")
        content = (self.folder / "r.safetensors").read_bytes()
        size = struct.unpack("<Q", content[:8])[0]
        self.assertIn(b'"y":{"dtype":"F32","shape":[2],', content[8:8 + size])

    def test_one_array(self):
        self.expect(f"run m.qn {SIZES} -o c.npy --bounds")
        self.assertEqual([f for f in self.files() if f.startswith("c.")], ["c.bound.npy", "c.npy"])
        self.expect("run s.qn x=x.npy -o y.npy", 2, "",
                    "error E740: -o y.npy: a .npy file holds one array, there are 2\n"
                    "   = help: give a folder, an .npz or a .safetensors file\n")

    def refuse(self, path, why, words=f"run m.qn {SIZES}"):
        before = self.files()
        self.expect(f"{words} -o {path}", 2, "", f"error E730: can't write '{path}': {why}\n")
        self.assertEqual(self.files(), before)

    def test_places_that_are_no_good(self):
        self.write("file", "text")
        os.mkdir(self.folder / "d.npy")
        os.symlink("/dev/full", self.folder / "full.npy")
        self.refuse("file", "it is a file; a folder, or a name ending in .npy, .npz or .safetensors, is expected")
        self.refuse("file/sub", "Not a directory")
        self.refuse("file/c.npy", "Not a directory")
        self.refuse("none/c.npy", "No such file or directory")
        self.refuse("d.npy", "it is a folder")
        self.refuse("full.npy", "it is not a regular file")
        self.refuse("/dev/full", "it is a file; a folder, or a name ending in .npy, .npz or .safetensors, is expected")
        self.refuse("/proc/none/c.npz", "No such file or directory")
        self.assertEqual((self.folder / "file").read_text(), "text")

    def test_no_path(self):
        self.expect(["run", "m.qn", *SIZES.split(), "-o", ""], 2, "",
                    "error E740: -o needs a path\n   = help: see `quern run --help`\n")

    def test_a_kind_of_file_that_there_is_not(self):
        before = self.files()
        self.expect(f"run m.qn {SIZES} -o c.txt", 2, "",
                    "error E740: -o c.txt: there is no such kind of file\n"
                    "   = help: give a name ending in .npy, .npz or .safetensors, or a folder: `c.txt/`\n")
        self.assertEqual(self.files(), before)
        self.expect(f"run m.qn {SIZES} -o c.txt/")
        self.assertIn("c.txt/c.npy", self.files())

    def test_no_permission(self):
        os.mkdir(self.folder / "locked", 0o555)
        user = None
        if os.geteuid() == 0:
            # The superuser may write everywhere: be nobody, who may at least read what is here.
            user = 65534
            os.chmod(self.folder, 0o755)
            try:
                self.quern("--version", user=user)
            except PermissionError:
                self.skipTest("nobody may not run the program")
        for path in ("locked/c.npy", "locked/sub", "locked/r.npz"):
            self.expect(f"run m.qn {SIZES} -o {path}", 2, "",
                        f"error E730: can't write '{path}': Permission denied\n", user=user)
        self.assertEqual([f for f in self.files() if f.startswith("locked")], ["locked"])

    def test_disk_runs_full(self):
        # A limit on the size of files stands for the full disk: the first result fits, the second does not.
        self.write("c.npz", "old")
        self.write("two.qn", "kernel two(x: f32[N]) -> (a: f32[1], b: f32[N]) {\n  a[i] = 1\n  b[n] = x[n]\n}\n")

        def small():
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

        before = self.files()
        for path, named in (("out/sub", "out/sub/b.npy"), ("c.npz", "c.npz"), ("c.safetensors", "c.safetensors")):
            done = subprocess.run([quern_case.PROGRAM, *f"run two.qn --on interpreter --dim N=5000 --seed 1 -o {path}".split()],
                                  cwd=self.folder, capture_output=True, preexec_fn=small, timeout=60)
            self.assertEqual((done.returncode, done.stdout), (2, b""))
            self.assertRegex(done.stderr.decode(), rf"^error E730: can't write '{named}': .*File too large\n$")
            self.assertEqual(self.files(), before)
        self.assertEqual((self.folder / "c.npz").read_text(), "old")

    def test_tried_before_computing(self):
        # An hour of computing, if it came to that.
        self.refuse("none/c.npy", "No such file or directory",
                    "run m.qn --on interpreter --dim M=4000 --dim K=4000 --dim N=4000 --seed 1")

    def test_folder_in_the_way_of_a_result(self):
        os.makedirs(self.folder / "out/n.npy")
        self.expect("run s.qn x=x.npy -o out", 2, "", "error E730: can't write 'out/n.npy': it is a folder\n")
        self.assertEqual([f for f in self.files() if f.startswith("out")], ["out", "out/n.npy"])

    def test_old_results_stay_when_nothing_is_computed(self):
        self.write("c.npy", floats([1], 5))
        self.quern("run", "m.qn", "a=none.npy", "-o", "c.npy")
        self.assertEqual(read_floats(self.folder / "c.npy"), [5])

    def test_link_stays_a_link(self):
        self.write("real.npy", floats([1], 5))
        os.symlink("real.npy", self.folder / "link.npy")
        self.expect("run s.qn x=x.npy -o r.npz")
        self.expect(f"run m.qn {SIZES} -o link.npy")
        self.assertTrue((self.folder / "link.npy").is_symlink())
        self.assertEqual(len(read_floats(self.folder / "real.npy")), 4)


if __name__ == "__main__":
    quern_case.main()
