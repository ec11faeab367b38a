"""The command line itself: help, version, misspellings, values that can't be, exit codes."""

import os
import pathlib
import re
import resource
import subprocess
import time

import quern_case
from quern_case import GATHER, MATMUL, QuernCase

SHARE = pathlib.Path(__file__).resolve().parents[2] / "share"
COMMANDS = ("run", "check", "format", "list", "emit", "derive", "bench", "devices", "exec")
# What the function that bash calls offers behind `quern COMMAND --`.
BASH = """
source "$1"
COMP_LINE="quern $2 --"
COMP_POINT=${#COMP_LINE}
_quern
printf '%s\\n' "${COMPREPLY[@]}"
"""


class Usage(QuernCase):
    def error(self, words, what, remedy, code=2):
        self.expect(words, code, out="", err=f"error E740: {what}\n   = help: {remedy}\n")

    def test_help(self):
        for command in ("run", "check", "format", "list", "emit", "derive", "bench", "devices", "exec"):
            text = self.expect(f"{command} --help")
            self.assertIn(f"Usage: quern {command} ", text)
            self.assertIn("Examples:\n  quern " + command, text)
            self.assertEqual(self.expect(f"{command} -h"), text)
            self.assertLess(max(map(len, text.splitlines())), 121)
        text = self.expect("--help")
        for command in ("run", "check", "format", "list", "emit", "derive", "bench", "devices", "exec"):
            self.assertRegex(text, rf"\n  {command} +[A-Z]")

    def long_options(self, command):
        found = set(re.findall(r"^  (?:-\w,)?(--[a-z-]+)", self.expect(f"{command} --help"), re.MULTILINE))
        self.assertIn("--help", found)
        return found

    def test_bash_offers_what_help_says(self):
        for command in COMMANDS:
            done = subprocess.run(["bash", "-c", BASH, "bash", SHARE / "completions/quern.bash", command],
                                  capture_output=True, text=True, timeout=60)
            offered = {word for word in done.stdout.split() if word.startswith("--")}
            self.assertEqual(offered, self.long_options(command), command)

    def test_fish_offers_what_help_says(self):
        text = (SHARE / "completions/quern.fish").read_text()
        lines = re.findall(r"-n '__fish_seen_subcommand_from ([a-z ]+)' (?:-s \w )?-l ([\w-]+)", text)
        for command in COMMANDS:
            offered = {"--" + option for commands, option in lines if command in commands.split()}
            self.assertEqual(offered | {"--help", "--color"}, self.long_options(command), command)

    def test_the_manual_has_what_help_says(self):
        page = (SHARE / "man/man1/quern.1").read_text()
        for word in {word for command in COMMANDS for word in self.long_options(command)}:
            self.assertRegex(page, rf"(?m)^\.It Fl (\w , )?-{word[2:]}\b")
        synopsis = page[page.index(".Sh SYNOPSIS"):page.index(".Sh DESCRIPTION")]
        ways = {way.split()[1]: way for way in synopsis.split(".Nm\n") if way.startswith(".Cm")}
        self.assertEqual(set(ways), set(COMMANDS))
        for command in COMMANDS:
            for option in self.long_options(command) - {"--help", "--color"}:
                compiler = command != "check" and option[2:] in ("checks", "operands", "deterministic", "schedule", "vectors")
                shown = "Ar compiler options" if compiler else "Fl v" if option == "--verbose" else f"Fl -{option[2:]}"
                self.assertIn(shown, ways[command], f"{command} {option}")

    def test_version(self):
        self.assertRegex(self.expect("--version"), r"^quern \d+\.\d+\.\d+\n$")

    def test_start_is_quick(self):
        times = []
        for _ in range(15):
            begin = time.perf_counter()
            self.quern("--help")
            times.append(time.perf_counter() - begin)
        # 10 ms is what is wanted; sanitizers and busy machines take a multiple.
        self.assertLess(min(times), 0.25)

    def test_what_compiles_nothing_loads_no_compiler(self):
        self.write("m.qn", MATMUL)
        for words in ("--help", "check --language-only m.qn", "format m.qn", "list m.qn", "emit m.qn --at expr"):
            self.assertNotIn("libquern_compiler", self.quern(*words.split(), env={"LD_DEBUG": "files"})[2], words)
        self.assertIn("libquern_compiler", self.quern("devices", env={"LD_DEBUG": "files"})[2])

    def test_commands(self):
        self.error("", "a command is missing", "see `quern --help`")
        self.error("rnu a.qn", "there is no command 'rnu'", "did you mean `run`?")
        self.error("zzzzzz", "there is no command 'zzzzzz'", "see `quern --help`")
        self.error("run", "FILE is missing", "see `quern run --help`")
        self.error("check", "FILE is missing", "see `quern check --help`")
        self.error("format --check", "FILE is missing", "see `quern format --help`")
        self.error("emit --at expr", "FILE is missing", "see `quern emit --help`")
        self.error("emit a.qn b.qn --at expr", "unexpected argument 'b.qn'", "see `quern emit --help`")

    def test_options(self):
        self.error("run a.qn --dmi M=3", "there is no option '--dmi'", "did you mean `--dim`?")
        self.error("--colr never list", "there is no option '--colr'", "did you mean `--color`?")
        self.error("check --jsn a.qn", "there is no option '--jsn'", "did you mean `--json`?")
        self.error("-V", "there is no option '-V'", "see `quern --help`")
        self.error("run --hlep", "there is no option '--hlep'", "did you mean `--help`?")
        self.error("format --qqqqqqqqq a.qn", "there is no option '--qqqqqqqqq'", "see `quern format --help`")
        self.error("list --seed 3", "there is no option '--seed'", "see `quern list --help`")
        self.error("run a.qn --seed", "--seed needs a value", "see `quern run --help`")
        self.error("run a.qn --seed 1 --seed 2", "--seed is given twice", "see `quern run --help`")
        self.error("check a.qn --color sometimes", "--color sometimes: expected auto, always or never",
                   "see `quern check --help`")

    def test_sizes(self):
        self.write("m.qn", MATMUL)
        whole = "is not a whole number up to 9223372036854775807"
        for command in ("run", "check"):
            see = f"see `quern {command} --help`"
            self.error(f"{command} m.qn --dim M", "--dim M: expected NAME=size", see)
            self.error(f"{command} m.qn --dim =3", "--dim =3: expected NAME=size", see)
            self.error(f"{command} m.qn --dim M=", "--dim M=: expected NAME=size", see)
            self.error(f"{command} m.qn --dim M=four", f"--dim M=four: 'four' {whole}", see)
            self.error(f"{command} m.qn --dim M=4.0", f"--dim M=4.0: '4.0' {whole}", see)
            self.error(f"{command} m.qn --dim M=+4", f"--dim M=+4: '+4' {whole}", see)
            self.error(f"{command} m.qn --dim M=9223372036854775808",
                       f"--dim M=9223372036854775808: '9223372036854775808' {whole}", see)
            self.error(f"{command} m.qn --dim M=1 --dim M=1", "--dim M is given twice", see)
            self.error(f"{command} m.qn --type T=bf61", "--type T=bf61: 'bf61' is not a type", "did you mean `bf16`?")
            self.error(f"{command} m.qn --type T=complex64", "--type T=complex64: 'complex64' is not a type",
                       "types are f64 f32 f16 bf16 f8e4m3 f8e5m2 f8e8m0 f4e2m1 i64 i32 i16 i8 i4 u32 u8 u4 bool")
            self.error(f"{command} m.qn --type T=f32 --type T=f32", "--type T is given twice", see)
            self.expect(f"{command} m.qn --dim M=-3", 2, "",
                        "error E711: M is -3: a dimension can't be negative\n"
                        "   = help: --dim M takes a whole number, 0 or more\n")

    def test_counts(self):
        self.write("m.qn", MATMUL)
        for text in ("-1", "1.5", "x", "18446744073709551616"):
            self.error(f"run m.qn --seed {text}",
                       f"--seed {text}: expected a whole number from 0 to 18446744073709551615", "see `quern run --help`")
        for text in ("0", "1025", "many"):
            self.error(f"run m.qn --threads {text}", f"--threads {text}: expected a whole number from 1 to 1024",
                       "see `quern run --help`")
        self.error("run m.qn --bounds", "--bounds needs -o", "see `quern run --help`")

    def test_names_that_are_not_there(self):
        self.write("m.qn", MATMUL)
        sizes = "--dim M=1 --dim K=1 --dim N=1"
        self.expect(f"run m.qn {sizes} --dim L=1", 2, "",
                    "error E712: matmul has no parameter, dimension or type L\n   = help: it has a, b, M, K, N, T\n")
        self.expect("check m.qn --dim L=1 --type U=f32", 2, None,
                    "error E712: matmul has no parameter, dimension or type L\n   = help: it has K, M, N\n"
                    "error E712: matmul has no parameter, dimension or type U\n   = help: it has T\n2 errors\n")

    def test_devices(self):
        self.write("m.qn", MATMUL)
        for name in ("cuda:0", "hip:1"):
            self.expect(f"run m.qn --on {name}", 3, "",
                        f"error N905: device '{name}' is not supported yet\n   = help: --on interpreter\n")
        self.expect("run m.qn --on abacus", 2, "",
                    "error E743: there is no device 'abacus'\n   = help: devices: interpreter, cpu, virtual:CHIP\n")
        self.expect("run m.qn --on interpeter", 2, "",
                    "error E743: there is no device 'interpeter'\n   = help: did you mean interpreter?\n")

    def test_levels(self):
        self.write("m.qn", MATMUL)
        self.expect("emit --at sass m.qn", 3, "",
                    "error N906: level 'sass' is not there yet\n   = help: --at expr\n")
        sizes = "--dim M=1 --dim K=1 --dim N=1 --type T=f32"
        self.error(f"emit --at ptx m.qn {sizes}", "--at ptx needs a GPU, as in --on virtual:h100",
                   "see `quern emit --help`")
        self.error(f"emit --at asm --on interpreter m.qn {sizes}", "--on interpreter: nothing is compiled for it",
                   "see `quern emit --help`")
        self.error("emit --at exprs m.qn", "there is no level 'exprs'", "did you mean `expr`?")
        self.error("emit --at machine m.qn", "there is no level 'machine'",
                   "levels are expr, lowered, tiled, placed, laid, llvm, asm, ptx")
        self.error("emit m.qn", "--at LEVEL is missing", "see `quern emit --help`")

    def test_compiler_options(self):
        self.write("m.qn", MATMUL)
        see = "see `quern run --help`"
        self.error("run m.qn --checks none", "--checks none: expected trust or keep", see)
        self.error("run m.qn --operands any", "--operands any: expected exact or round", see)
        self.error("run m.qn --vectors avx3", "--vectors avx3: expected sse2, avx2 or avx512", see)
        self.error("run m.qn --checks trust --checks trust", "--checks is given twice", see)
        self.error("run m.qn --on cpu --bounds -o out", "--bounds needs --on interpreter", see)
        self.error("check m.qn --deterministic", "there is no option '--deterministic'", "see `quern check --help`")

    def test_a_compiler_that_is_missing(self):
        self.write("m.qn", MATMUL)
        sizes = "--dim M=1 --dim K=1 --dim N=1"
        env = {"QUERN_COMPILER": "./none.so"}
        for words in (f"run m.qn --on cpu {sizes}", f"emit m.qn --at llvm {sizes}", f"derive m.qn {sizes}",
                      f"bench m.qn {sizes}", "devices"):
            code, _, err = self.quern(*words.split(), env=env)
            self.assertEqual(code, 3, words)
            self.assertIn("error N908: the compiler can't be used: ./none.so: cannot open", err)
            self.assertIn("--on interpreter needs none\n", err)
        # A library, but another one; and what needs no compiler.
        code, _, err = self.quern("devices", env={"QUERN_COMPILER": "libm.so.6"})
        self.assertEqual((code, "another library of that name" in err), (3, True), err)
        self.expect(f"run m.qn --on interpreter {sizes}", env=env)
        self.expect("check m.qn", env=env)

    def test_color(self):
        self.write("m.qn", MATMUL)
        plain = "error E741: m.qn has no kernel matmol\n   = help: did you mean m.qn:matmul?\n"
        for option in ("", "--color auto ", "--color=never "):
            self.expect(f"emit {option}--at expr m.qn:matmol", 2, "", plain)
        self.expect("--color never emit --at expr m.qn:matmol", 2, "", plain)
        code, _, err = self.quern(*"emit --color always --at expr m.qn:matmol".split())
        self.assertEqual(code, 2)
        self.assertTrue(err.startswith("\033[1m\033[31merror E741\033[0m"))
        self.assertEqual(self.terminal({}, "emit", "--at", "expr", "m.qn:matmol")[:4], b"\033[1m")
        for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
            self.assertEqual(self.terminal(env, "emit", "--at", "expr", "m.qn:matmol")[:5], b"error")

    def terminal(self, env, *words):
        """What is written to a terminal that is standard error."""
        master, slave = os.openpty()
        subprocess.run([quern_case.PROGRAM, *words], stderr=slave, cwd=self.folder, timeout=60,
                       env={**{k: v for k, v in os.environ.items() if k != "NO_COLOR"}, "TERM": "xterm", **env})
        os.close(slave)
        text = os.read(master, 1 << 16)
        os.close(master)
        return text

    def test_exit_1_is_what_the_data_did(self):
        self.write("g.qn", GATHER)
        self.write("id.npy", quern_case.ints([2], 0, 9))
        code, _, err = self.quern("run", "g.qn", "id=id.npy", "--dim", "V=4", "--seed", "1")
        self.assertEqual(code, 1)
        self.assertIn("error E801: table[id[n]] is 9 at n = 1, the dimension has 4\n", err)

    def test_exit_70_is_one_line(self):
        # An address space too small for the source: nothing a user wrote causes this, and it must not look like it.
        self.write("big.qn", "# " + "x" * (64 << 20) + "\n")

        def small():
            resource.setrlimit(resource.RLIMIT_AS, (100 << 20, 100 << 20))

        done = subprocess.run([quern_case.PROGRAM, "format", "--check", "big.qn"], cwd=self.folder,
                              capture_output=True, preexec_fn=small, timeout=120)
        if done.returncode not in (2, 70):
            self.skipTest(f"no room to start at all: {done.stderr[:200]!r}")
        self.assertEqual(done.stderr.decode(), "error B001: bug in quern: out of memory\n"
                                               "   = help: please report it, with the file and the command\n")

    def test_full_disk(self):
        with open("/dev/full", "wb") as full:
            code, _, err = self.quern("--help", stdout=full)
        self.assertEqual((code, err), (2, "error E730: can't write 'standard output': No space left on device\n"))


if __name__ == "__main__":
    quern_case.main()
