#!/usr/bin/env python3
"""Runs every kernel of the library on every case and compares with the independent NumPy programs.

    run_library.py --quern PATH [--on DEVICE] [--family F] [--kernel K] [--case N] [--seed S] [--jobs J] [--keep DIR] [-v]
    run_library.py --list

A case becomes a folder with one .npy file an array and a call

    quern run kernels/FAMILY.qn:KERNEL x=DIR/x.npy … eps=0.1 --dim W=3 --type T=bf16 -o DIR/out

which writes out/NAME.npy for every result and every inout parameter. A result declared without brackets is an array of
rank 0. Types that NumPy lacks travel as raw u1 or u2. Cases marked `expect_exit` hold bad data: the call must end with
that code and name the diagnostic. The last line counts; the exit code is 0 if nothing failed, 77 without NumPy.
"""

import argparse
import concurrent.futures
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    print("skipped: NumPy is missing, and the judges of the kernel library are NumPy programs")
    sys.exit(77)

sys.dont_write_bytecode = True

from case_builder import cases_of, element_type  # noqa: E402
from compare import difference  # noqa: E402
from signatures import ROOT, library  # noqa: E402

TIMEOUT_SECONDS = 120


def write_case(case: dict, folder: pathlib.Path, quern: str, device: str) -> list[str]:
    """Puts the arrays into `folder`; the command that runs the case."""
    (folder / "out").mkdir(parents=True)
    command = [quern, "run", f"kernels/{case['family']}.qn:{case['kernel']}", "--on", device]
    for name, value in case["args"].items():
        if isinstance(value, np.ndarray):
            np.save(folder / f"{name}.npy", value)
            command.append(f"{name}={folder / name}.npy")
        else:
            command.append(f"{name}={value!r}")
    for name, size in case["dims"].items():
        command += ["--dim", f"{name}={size}"]
    for name, kind in case["types"].items():
        command += ["--type", f"{name}={kind}"]
    return command + ["-o", str(folder / "out")]


def allowed(name: str, folder: pathlib.Path, command: list[str], device: str) -> np.ndarray | float:
    """How far a device may be off: the bound that the interpreter gives, which itself is held against NumPy."""
    if device == "interpreter":
        return 0.0
    truth = folder / "truth"
    if not truth.exists():
        words = ["interpreter" if w == device else w for w in command[:-1]]
        subprocess.run([*words, str(truth), "--bounds"], cwd=ROOT, capture_output=True, timeout=TIMEOUT_SECONDS)
    path = truth / f"{name}.bound.npy"
    return np.load(path) if path.exists() else 0.0


def outcome(case: dict, command: list[str], folder: pathlib.Path, device: str) -> str:
    """Runs a case; empty if it passed, else what went wrong."""
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, errors="replace",
                              timeout=TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        return f"no answer within {TIMEOUT_SECONDS} s"
    said = (done.stderr + done.stdout).strip()
    if done.returncode != case["expect_exit"]:
        return f"exit code {done.returncode}, expected {case['expect_exit']}\n{said[-1500:]}"
    if case["expect_exit"]:
        code = case.get("code", "")
        return "" if code in said else f"refused as it should be, but without {code}\n{said[-1500:]}"
    problems = []
    for p in library()[case["kernel"]].outputs():
        path = folder / "out" / f"{p.name}.npy"
        if not path.exists():
            problems.append(f"{p.name}: no file {path.name}")
            continue
        kind = element_type(p.type, case["types"])
        slack = case["slack"].get(p.name, 0.0) + allowed(p.name, folder, command, device)
        wrong = difference(case["expect"][p.name], np.load(path), kind, slack)
        if wrong:
            problems.append(f"{p.name}: {wrong}")
    return "\n".join(problems)


def describe(case: dict) -> str:
    """Types, dimensions, shapes and scalars of a case, on one line."""
    parts = [f"{n}={v}" for n, v in (case["types"] | case["dims"]).items()]
    for name, value in case["args"].items():
        parts.append(f"{name}{list(value.shape)}" if isinstance(value, np.ndarray) else f"{name}={value!r}")
    return " ".join(parts)


def attempt(number: int, case: dict, options: argparse.Namespace, root: pathlib.Path) -> str:
    """Runs a case in its own folder, which is kept only if it fails; the report of a failure, or nothing."""
    folder = root / f"{case['kernel']}-{number}"
    command = write_case(case, folder, options.quern, options.on)
    problem = outcome(case, command, folder, options.on)
    if not problem:
        shutil.rmtree(folder)
        return ""
    again = f"{pathlib.Path(__file__).relative_to(ROOT)} --quern {shlex.quote(options.quern)} --seed {options.seed} "
    again += f"--on {options.on} --kernel {case['kernel']} --case {number}"
    indented = problem.replace("\n", "\n  ")
    return (f"FAILED {case['kernel']} case {number}, seed {options.seed}: {describe(case)}\n  {indented}\n"
            f"  again:   {again}\n  command: {shlex.join(command)}")


def chosen(options: argparse.Namespace) -> list[tuple[int, dict]]:
    picked = []
    for name, head in library().items():
        if options.kernel in (None, name) and options.family in (None, head.family):
            numbered = enumerate(cases_of(name, options.seed))
            picked += [(i, c) for i, c in numbered if options.case in (None, i)]
    return picked


def list_cases(options: argparse.Namespace) -> int:
    """Number of cases a kernel, those with bad data beside; at least 20 each."""
    counts: dict[str, list[int]] = {}
    for _, case in chosen(options):
        counts.setdefault(case["kernel"], [0, 0])[1 if case["expect_exit"] else 0] += 1
    for kernel, (good, bad) in counts.items():
        print(f"{library()[kernel].family:12} {kernel:24} {good:3}" + (f" + {bad} refused" if bad else ""))
    few = [k for k, (good, _) in counts.items() if good < 20]
    total, refused = (sum(c[i] for c in counts.values()) for i in (0, 1))
    shortage = f"; fewer than 20: {', '.join(few)}" if few else ""
    print(f"{len(counts)} kernels, {total} cases and {refused} that must be refused{shortage}")
    return 1 if few else 0


def run_all(options: argparse.Namespace) -> int:
    cases = chosen(options)
    if not cases:
        print("no case matches")
        return 2
    root = pathlib.Path(options.keep or tempfile.mkdtemp(prefix="quern-library-")).resolve()
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        reports = pool.map(lambda numbered: attempt(*numbered, options, root), cases)
        for (number, case), report in zip(cases, reports):
            failed += bool(report)
            if report:
                print(report, flush=True)
            elif options.v:
                print(f"passed {case['kernel']} case {number}: {describe(case)}", flush=True)
    if not failed and not options.keep:
        shutil.rmtree(root)
    print(f"{len(cases) - failed} passed, {failed} failed")
    return 1 if failed else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quern", help="the program under test")
    parser.add_argument("--on", default="interpreter", help="the device")
    parser.add_argument("--family", help="only kernels of kernels/FAMILY.qn")
    parser.add_argument("--kernel", help="only this kernel")
    parser.add_argument("--case", type=int, help="only the case of this number")
    parser.add_argument("--seed", type=int, default=0, help="other inputs for the same shapes")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="cases at a time")
    parser.add_argument("--keep", help="an empty folder for the files of failed cases")
    parser.add_argument("--list", action="store_true", help="number of cases a kernel, and stop")
    parser.add_argument("-v", action="store_true", help="name passed cases too")
    options = parser.parse_args()
    if options.list:
        return list_cases(options)
    if not options.quern:
        parser.error("--quern PATH is needed")
    if os.sep in options.quern:
        options.quern = str(pathlib.Path(options.quern).resolve())
    return run_all(options)


if __name__ == "__main__":
    sys.exit(main())
