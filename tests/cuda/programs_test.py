"""Programs that nvcc builds here, run by `quern exec`: with a static and with a shared runtime, by the driver's
functions, linked from parts; and what is said of those that can't run.

usage: programs_test.py QUERN NVCC     skipped (77) where there is no nvcc
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
QUERN, NVCC = "", ""
FOLDER = tempfile.TemporaryDirectory(prefix="quern-cuda-")


def build(name, *options, sources=None, output=None):
    """The program that nvcc makes of name.cu, made once."""
    path = pathlib.Path(FOLDER.name) / (output or "-".join([name, *options]).translate(str.maketrans("/=,", "___")))
    if not path.exists():
        files = [str(HERE / f"{source}.cu") for source in sources or [name]]
        subprocess.run([NVCC, "-std=c++17", "-lineinfo", "-o", str(path), *options, *files], check=True,
                       capture_output=True)
    return path


def run(*words, **options):
    done = subprocess.run([QUERN, "exec", *map(str, words)], capture_output=True, text=True, timeout=300, **options)
    return done.returncode, done.stdout, done.stderr


class Programs(unittest.TestCase):
    maxDiff = None

    def test_static_and_shared_runtime(self):
        for options in ([], ["-cudart", "shared"], ["-gencode", "arch=compute_80,code=compute_80"],
                        ["-Xfatbin", "-compress-all"]):
            with self.subTest(options=options):
                self.assertEqual(run("--", build("vector_add", *options)),
                                 (0, "device says 1000\ncount 1000, total 6\n", ""))

    def test_lz4(self):
        self.assertEqual(run("--", build("vector_add", "--compress-mode=speed")),
                         (0, "device says 1000\ncount 1000, total 6\n", ""))

    def test_linked_device_code(self):
        program = build("linked", "-rdc=true", sources=["linked_main", "linked_part"])
        self.assertEqual(run("--", program), (0, "0 2 4 6 5\n", ""))

    def test_kernels_launch_kernels(self):
        says = ("sum right, 0 failures\ncudaErrorInvalidConfiguration: invalid configuration argument\n"
                "1 0 32 1024 2 3000, cudaSuccess\n")
        for options in ([], ["-cudart", "shared"], ["-arch=sm_90"], ["-default-stream", "per-thread"],
                        ["-DCUDA_FORCE_CDP1_IF_SUPPORTED", "-arch=sm_80"], ["-Xfatbin", "-compress-all"]):
            with self.subTest(options=options):
                self.assertEqual(run("--", build("children", "-rdc=true", *options)), (0, says, ""))
        code, out, err = run("--", build("children", "-rdc=true"), "overrun")
        self.assertEqual((code, out), (1, ""))
        for text in ("= kernel: store(int*)", "= launched by overruns(int*) at ", "children.cu:", "thread (64, 0, 0)"):
            self.assertIn(text, err)
        code, out, err = run("--json", "--", build("children", "-rdc=true"), "overrun")
        (by,) = json.loads(err)["launched_by"]
        self.assertEqual((by["kernel"], by["block"], by["thread"]), ("_Z8overrunsPi", [0, 0, 0], [0, 0, 0]))
        cubin = build("children", "-rdc=true", "-gencode", "arch=compute_80,code=sm_80")
        self.assertEqual(run("--", cubin)[2].splitlines()[0],
                         f"error E971: {cubin} holds machine code (sm_80) and no PTX")

    def test_a_kernel_of_a_cu_file_launches_another(self):
        code, out, err = run(HERE / "children.cu", "overruns", "--grid", "1", "--block", "1", "--", "0x0")
        self.assertEqual((code, out), (1, ""), err)
        self.assertIn("launched by overruns", err)

    def test_bulk_copies(self):
        for arch in ("sm_80", "sm_90"):
            with self.subTest(arch=arch):
                self.assertEqual(run("--", build("bulk_copy", f"-arch={arch}")), (0, "cudaSuccess, 0 wrong\n", ""))

    def test_graph(self):
        self.assertEqual(run("--", build("graph")), (0, "6 6 timed cudaSuccess\n", ""))

    def test_graph_memory(self):
        self.assertEqual(run("--", build("graph_memory")), (0, "sum 448, cudaSuccess\n", ""))

    def test_devices(self):
        program = build("two_devices")
        self.assertEqual(run("--chip", "a100", "--", program), (0, "0: sm_80, 108 multiprocessors, peer 0\n", ""))
        self.assertEqual(run("--devices", "2", "--", program),
                         (0, "0: sm_90, 132 multiprocessors, peer 0\n1: sm_90, 132 multiprocessors, peer 1\n", ""))

    def test_driver(self):
        ptx = pathlib.Path(FOLDER.name) / "fill.ptx"
        subprocess.run([NVCC, "--ptx", "-o", str(ptx), str(HERE / "fill.cu")], check=True, capture_output=True)
        self.assertEqual(run("--", build("driver_api", "-lcuda"), ptx), (0, f"sum {64 * 7 + 63 * 32}\n", ""))

    def test_nvrtc_and_the_linker(self):
        folder = pathlib.Path(NVCC).resolve().parent.parent / "lib64"
        if not list(folder.glob("libnvrtc.so*")):
            self.skipTest("no NVRTC beside nvcc")
        program = build("nvrtc_module", "-lnvrtc", "-lcuda", "-Xlinker", f"-rpath={folder}")
        self.assertEqual(run("--", program), (0, "41, blocks of 256\n42, blocks of 256\n", ""))

    def test_a_bad_access_ends_the_program(self):
        program = build("out_of_bounds")
        code, out, err = run("--", program)
        self.assertEqual((code, out), (1, ""))
        self.assertIn("overrun", err)
        self.assertIn("out_of_bounds.cu:4", err)
        self.assertEqual(run("--check", "continue", "--", program)[0], 3)

    def test_what_is_left_when_main_ends(self):
        program = build("unfinished")
        code, out, err = run("--", program, "fault")
        self.assertEqual((code, out), (1, ""))
        self.assertIn("unfinished.cu:5", err)
        self.assertEqual(run("--", program, "print"), (0, "said\n", ""))
        self.assertEqual(run("--", program, "latch"), (0, "host\nsaid\n", ""))
        self.assertEqual(run("--", program, "stuck"), (0, "", ""))
        code, out, err = run("--timeout", "1", "--", program, "stuck")
        self.assertEqual((code, out), (1, ""))
        self.assertIn("the kernel did not end in time", err)

    def test_processes_share_memory_events_and_pools(self):
        self.assertEqual(run("--", build("processes")),
                         (0, "not for others: cudaErrorInvalidValue\nnot of the device: cudaErrorInvalidValue\n"
                          "wrong: cudaErrorInvalidValue\nimport: cudaSuccess\nleft: cudaSuccess\n"
                          "close: cudaSuccess, again: cudaErrorInvalidValue\n11 11, 2 2, cudaSuccess\n", ""))

    def test_assertions_let_the_program_go_on(self):
        program = build("asserts")
        code, out, err = run("--", program)
        self.assertEqual((code, out), (0, "710, then 710\n710\n"))
        self.assertIn("error: assertion\n", err)
        self.assertIn("asserts.cu:5", err)
        self.assertEqual(run("--", program, "unheard")[:2], (1, ""))

    def test_conditions_of_graphs(self):
        program = build("conditions")
        self.assertEqual(run("--", program),
                         (0, "cudaErrorInvalidValue\ncudaErrorInvalidValue\n21 5 0, cudaSuccess\n", ""))
        code, _, err = run("--", program, "wrong")
        self.assertEqual(code, 1)
        self.assertIn("error: out-of-bounds write of 4 bytes", err)

    def test_mapped_memory(self):
        program = build("mapped", "-lcuda")
        code, out, err = run("--", program, "all")
        self.assertEqual((code, err), (0, ""))
        bad = ("free what is mapped", "map twice", "map outside", "map too much", "map half", "map nothing", "unmap half",
               "cuMemFree", "export", "import", "release twice", "unmap twice", "free twice")
        good = ("release", "unmap", "free")
        says = dict(line.split(": ") for line in out.splitlines()[1:])
        self.assertEqual(out.splitlines()[0], "42")
        self.assertEqual(says, {w: "CUDA_ERROR_INVALID_VALUE" for w in bad} | {w: "CUDA_SUCCESS" for w in good})
        for what, said in (("closed", "error: out-of-bounds write of 4 bytes"),
                           ("behind", "error: out-of-bounds write of 4 bytes"),
                           ("readonly", "error: write of 4 bytes to read-only memory")):
            with self.subTest(what=what):
                code, out, err = run("--", program, what)
                self.assertEqual((code, out), (1, ""))
                self.assertIn(said, err)

    def test_textures(self):
        self.assertEqual(run("--", build("textures")), (0, "0 failures\n", ""))

    def test_textures_of_the_driver(self):
        ptx = pathlib.Path(FOLDER.name) / "read_texture.ptx"
        subprocess.run([NVCC, "--ptx", "-o", str(ptx), str(HERE / "read_texture.cu")], check=True, capture_output=True)
        self.assertEqual(run("--", build("driver_textures", "-lcuda"), ptx),
                         (0, "8 x 8 x 2, format 1, 1 channel, flags 1\nfilter 1, flags 0, same array 1\n112 116\n"
                          "56 64 72\nonce\n", ""))

    def test_texture_references(self):
        self.assertEqual(run("--", build("references", "-lcuda"), HERE / "reference.ptx"),
                         (0, "1 1\n3\n2\n14\n27\ndrawn 27, offset 0\n0\n", ""))

    def test_bad_accesses_of_textures(self):
        program = build("texture_faults")
        for what, said, thread in (
                ("outside", ["error: out-of-bounds write of 4 bytes", "x 32 (in bytes), y 1 is outside of the surface "
                             "of 8 x 4 elements of 4 bytes"], "(8, 0, 0)"),
                ("unwritten", ["error: read of 4 bytes that nothing wrote", "(cudaMallocArray)"], "(0, 0, 0)"),
                ("freed", ["error: read of 4 bytes after free", "which were freed"], "(0, 0, 0)"),
                ("destroyed", ["error: use of a texture or surface object that does not exist"], "(0, 0, 0)")):
            with self.subTest(what=what):
                code, out, err = run("--", program, what)
                self.assertEqual((code, out), (1, ""))
                for text in [*said, "texture_faults.cu:", f"thread {thread} of block (0, 0, 0)"]:
                    self.assertIn(text, err)

    def test_blas_and_random_numbers(self):
        says = ("CUBLAS_STATUS_SUCCESS: product right, norm right, mean right\n"
                "CUBLAS_STATUS_SUCCESS: sum 221184\n")
        for options in ([], ["-cudart", "shared"]):
            with self.subTest(options=options):
                self.assertEqual(run("--", build("blas", "-lcublas", "-lcurand", *options)), (0, says, ""))

    def test_other_libraries(self):
        program = build("vector_add", "-Xlinker", "--no-as-needed", "-lcufft")
        code, out, err = run("--", program)
        self.assertEqual((code, out), (2, ""))
        self.assertIn("it needs libcufft.so.", err)

    def test_what_cant_run(self):
        cubin = build("out_of_bounds", "-gencode", "arch=compute_80,code=sm_80")
        self.assertEqual(run("--", cubin)[::2], (2, f"error E971: {cubin} holds machine code (sm_80) and no PTX\n"
                         "   = help: build it with -arch=sm_80, which keeps PTX too, or with "
                         "-gencode arch=compute_80,code=compute_80\n"))
        stripped = pathlib.Path(FOLDER.name) / "stripped"
        shutil.copy(build("out_of_bounds"), stripped)
        subprocess.run(["strip", str(stripped)], check=True)
        self.assertEqual(run("--", stripped)[::2],
                         (2, f"error E974: can't run '{stripped}': it is stripped, so the CUDA runtime inside it can't "
                          "be found\n   = help: leave out -s and strip, or build it with -cudart shared\n"))
        newer = build("out_of_bounds", "-gencode", "arch=compute_100,code=compute_100")
        self.assertEqual(run("--", newer)[2].splitlines()[0],
                         f"error E973: {newer} holds PTX for compute_100 only; h100 runs compute_90 and older")

    def test_a_kernel_of_a_cu_file(self):
        code, out, err = run(HERE / "fill.cu", "fill", "--grid", "1", "--block", "4", "--", "0x0", "4", "1")
        self.assertEqual((code, out), (1, ""), err)
        self.assertIn("fill.cu:4", err)


def main():
    global QUERN, NVCC
    QUERN = sys.argv.pop(1)
    NVCC = sys.argv.pop(1) if len(sys.argv) > 1 else ""
    if not NVCC or not shutil.which(NVCC):
        print("skipped: no nvcc, so no CUDA programs can be built")
        sys.exit(77)
    unittest.main()


main()
