"""`quern exec`: one kernel on arrays and numbers, and what is said of a command line or a program that can't be run.
Programs that nvcc builds are in tests/cuda."""

import json
import pathlib
import re

import quern_case
from quern_case import QuernCase, floats, ints, read_floats

SAXPY = """\
.version 7.0
.target sm_80
.address_size 64
.visible .entry _Z5saxpyfPKfPfi(.param .f32 a, .param .u64 x, .param .u64 y, .param .u32 n)
{
  .reg .pred %q;
  .reg .f32 %f<4>;
  .reg .b32 %r<6>;
  .reg .b64 %d<8>;
  ld.param.f32 %f0, [a];
  ld.param.u64 %d0, [x];
  ld.param.u64 %d1, [y];
  ld.param.u32 %r0, [n];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.u32 %r4, %r1, %r2, %r3;
  setp.ge.u32 %q, %r4, %r0;
  @%q bra done;
  cvta.to.global.u64 %d2, %d0;
  cvta.to.global.u64 %d3, %d1;
  mul.wide.u32 %d4, %r4, 4;
  add.u64 %d5, %d2, %d4;
  add.u64 %d6, %d3, %d4;
  ld.global.f32 %f1, [%d5];
  ld.global.f32 %f2, [%d6];
  fma.rn.f32 %f3, %f0, %f1, %f2;
  st.global.f32 [%d6], %f3;
done:
  ret;
}
"""


class Exec(QuernCase):
    def setUp(self):
        super().setUp()
        self.write("saxpy.ptx", SAXPY)
        self.write("x.npy", floats([4], 1, 2, 3, 4))
        self.write("y.npy", floats([4], 10, 20, 30, 40))

    def test_a_kernel_on_arrays(self):
        words = "exec saxpy.ptx saxpy --grid 2 --block 2 0.5 x.npy inout:y.npy 4"
        self.expect(words, out="y.npy: f32[4]\n")
        self.assertEqual(read_floats(self.folder / "y.npy"), [10.5, 21, 31.5, 42])
        self.assertEqual(read_floats(self.folder / "x.npy"), [1, 2, 3, 4])
        # By its name in PTX; what is not inout stays as it is.
        self.expect("exec saxpy.ptx _Z5saxpyfPKfPfi --grid 1 --block 4 1 x.npy y.npy 4", out="")
        self.assertEqual(read_floats(self.folder / "y.npy"), [10.5, 21, 31.5, 42])

    def test_a_bad_access(self):
        words = "exec saxpy.ptx saxpy --block 8 2 x.npy inout:y.npy 5"
        code, out, err = self.quern(*words.split())
        self.assertEqual((code, out), (1, ""))
        self.assertIn("saxpy", err)
        self.assertEqual(read_floats(self.folder / "y.npy"), [10, 20, 30, 40])
        code, out, err = self.quern(*words.split(), "--json")
        fault = json.loads(err)
        self.assertEqual((code, out, fault["fault"], fault["thread"], fault["kernel"]),
                         (1, "", "out-of-bounds", [4, 0, 0], "_Z5saxpyfPKfPfi"))
        # docs/json.md names these fields and no others.
        page = (pathlib.Path(__file__).resolve().parent.parent.parent / "docs" / "json.md").read_text(encoding="utf-8")
        told = re.findall(r"^\| `([^`\[]+)` \|", page[page.index("## exec"):], re.MULTILINE)
        self.assertEqual(sorted(told), sorted(fault))

    def test_arguments_that_are_not_the_kernels(self):
        say = lambda words, code, text: self.expect("exec saxpy.ptx saxpy " + words, code, "", text)
        say("1 x.npy y.npy", 2, "error E961: _Z5saxpyfPKfPfi takes 4 arguments, 3 were given\n")
        say("1 x.npy y.npy four", 2, "error E976: _Z5saxpyfPKfPfi: argument 4 is a u32, 'four' is none\n")
        say("1 x.npy y.npy 4294967296", 2, "error E976: _Z5saxpyfPKfPfi: argument 4 is a u32, '4294967296' is none\n")
        say("1 x.npy y.npy x.npy", 2, "error E976: _Z5saxpyfPKfPfi: argument 4 has 4 bytes, an array's address has 8\n")
        self.expect("exec saxpy.ptx axpy 1", 2, "",
                    "error E962: there is no kernel axpy\n   = help: it holds _Z5saxpyfPKfPfi\n")
        self.expect("exec saxpy.ptx", 2, "", "error E740: KERNEL is missing: the name of the kernel to run\n"
                    "   = help: see `quern exec --help`\n")

    def test_options(self):
        def error(words, what):
            self.expect("exec " + words, 2, "", f"error E740: {what}\n   = help: see `quern exec --help`\n")
        error("saxpy.ptx saxpy --grid 0", "--grid 0: expected one to three numbers, such as 4,2,1")
        error("saxpy.ptx saxpy --block 1,2,3,4", "--block 1,2,3,4: expected one to three numbers, such as 4,2,1")
        error("saxpy.ptx saxpy --check some", "--check some: expected all, memory, no-init, shared-init, none or continue")
        error("saxpy.ptx saxpy --timeout -3", "--timeout -3: expected a number of seconds")
        error("--devices 0 -- ./app", "--devices 0: expected a whole number from 1 to 64")
        self.expect("exec --chip h10 -- ./app", 2, "",
                    "error E975: there is no chip 'h10'\n   = help: did you mean `h100`?\n")
        self.expect("exec --chip gtx -- ./app", 2, "", "error E975: there is no chip 'gtx'\n   = help: chips: a100, a6000, "
                    "4090, h100, h200, b200, b300, 5090\n")

    def test_json_of_what_is_refused(self):
        code, out, err = self.quern(*"exec --json --chip gtx -- ./app".split())
        said = json.loads(err)
        self.assertEqual((code, out, said["command"], said["diagnostics"][0]["code"]), (2, "", "exec", "E975"))

    def test_programs_that_are_none(self):
        self.write("text", "hello, this is text and no program")
        (self.folder / "folder").mkdir()
        self.expect("exec -- ./missing", 2, "", "error E974: can't run './missing': No such file or directory\n")
        self.expect("exec -- ./folder", 2, "", "error E974: can't run './folder': it is a folder\n")
        self.expect("exec -- ./text", 2, "",
                    "error E974: can't run './text': it is not executable\n   = help: chmod +x ./text\n")
        (self.folder / "text").chmod(0o755)
        self.expect("exec -- ./text", 2, "",
                    "error E974: can't run './text': it is no ELF file\n   = help: give a program that nvcc built, a .cu "
                    "file, or PTX with the name of a kernel\n")

    def test_a_program_without_cuda_is_itself(self):
        script = self.write("script.sh", '#!/bin/sh\necho "$1 $QUERN_CHIP $QUERN_DEVICES"\nexit 7\n')
        script.chmod(0o755)
        self.expect("exec --devices 2 -- ./script.sh --chip", 7, "--chip h100 2\n")

    def test_no_nvcc(self):
        self.write("k.cu", "__global__ void k() {}\n")
        self.expect("exec k.cu k", 3, "", "error N921: can't compile 'k.cu': nvcc isn't found\n"
                    "   = help: install the CUDA toolkit, or give PTX\n", env={"PATH": "/usr/bin", "CUDA_HOME": ""})

    def test_a_library_that_is_missing(self):
        code, _, err = self.quern(*"exec saxpy.ptx saxpy 1 x.npy y.npy 4".split(), env={"QUERN_CUDA": "/nowhere"})
        self.assertEqual((code, err.splitlines()[0]),
                         (3, "error N909: CUDA code can't be run: libquern_cuda.so is not beside it"))

    def test_numbers(self):
        self.write("keep.ptx", """\
.version 7.0
.target sm_80
.address_size 64
.visible .entry keep(.param .u64 p, .param .s32 a, .param .b32 b)
{
  .reg .b32 %r<2>;
  .reg .b64 %d<2>;
  ld.param.u64 %d0, [p];
  cvta.to.global.u64 %d1, %d0;
  ld.param.s32 %r0, [a];
  ld.param.b32 %r1, [b];
  st.global.b32 [%d1], %r0;
  st.global.b32 [%d1+4], %r1;
  ret;
}
""")
        self.write("p.npy", ints([2], 0, 0))
        self.expect("exec keep.ptx keep inout:p.npy -- -5 1.5", out="p.npy: i32[2]\n")
        self.assertEqual(read_floats(self.folder / "p.npy", "i"), [-5, 0x3fc00000])


if __name__ == "__main__":
    quern_case.main()
