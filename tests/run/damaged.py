#!/usr/bin/env python3
"""Kernels damaged on purpose must not be proved, and the same kernels intact must be.

    damaged.py --quern PATH [--only WORD] [-v]

Every file of damaged/ holds one kernel of the library in which a guard, a bound, a size or an offset was changed, so
that a subscript that goes through no data leaves its range at the sizes of the second line:

    # damaged: the bound goes one past the diagonal
    # bind: B=2 H=4 G=2 M=3 N=5 D=4 E=3

`quern check --language-only FILE --dim B=2 … --json` must end with exit code 2 and E306, or report at least one subscript with
"status": "checked" and without "data": true: kept a check that was not asked for by data. A prover that proves nothing
would pass that, so the library's own text is checked at the same sizes as well, and there every subscript without data
must be proved (skipped where the damage lies in the sizes or changed the kernel's dimensions).
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True

from signatures import KERNELS, ROOT  # noqa: E402

FOLDER = pathlib.Path(__file__).resolve().parent / "damaged"


def kernel_texts() -> dict[str, str]:
    """Kernels of the library by name, without their comments."""
    texts = {}
    for path in sorted(KERNELS.glob("*.qn")):
        for m in re.finditer(r"^kernel (\w+).*?^}\n", path.read_text(), re.M | re.S):
            texts[m[1]] = m[0]
    return texts


def bind_options(sizes: str) -> list[str]:
    return [word for size in sizes.split() for word in ("--dim", size)]


def unproved(node) -> list[dict]:
    """All objects of a JSON value with status "checked" that data doesn't excuse."""
    if isinstance(node, list):
        return [found for child in node for found in unproved(child)]
    if not isinstance(node, dict):
        return []
    here = [node] if node.get("status") == "checked" and node.get("data") is not True else []
    return here + [found for child in node.values() for found in unproved(child)]


def check(quern: str, path: pathlib.Path, sizes: str) -> tuple[int, str, list[dict]]:
    """Exit code, all that was said, unproved subscripts."""
    command = [quern, "check", "--language-only", str(path), *bind_options(sizes), "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, errors="replace", timeout=120)
    try:
        report = json.loads(done.stdout)
    except ValueError:
        report = None
    return done.returncode, done.stdout + done.stderr, unproved(report)


def dimensions(text: str) -> set[str]:
    """Names of dimensions in a kernel's head."""
    return set(re.findall(r"\b[A-Z][A-Z0-9_]*\b", text[:text.index("{")])) - {"T"}


def judge(quern: str, path: pathlib.Path, library: dict[str, str], scratch: pathlib.Path) -> list[str]:
    """What is wrong with the answers for one damaged kernel and its original."""
    text = path.read_text()
    sizes = re.search(r"^# bind: (.*)$", text, re.M)[1]
    body = text[text.index("kernel "):]
    name = re.match(r"kernel (\w+)", body)[1]
    code, said, kept = check(quern, path, sizes)
    problems = []
    if not (code == 2 and "E306" in said) and not (code == 0 and kept):
        problems.append(f"{path.name}: proved or wrongly refused (exit code {code}), bound at {sizes}\n{said[-800:]}")
    if body != library[name] and dimensions(body) == dimensions(library[name]):
        intact = scratch / path.name
        intact.write_text(library[name])
        code, said, kept = check(quern, intact, sizes)
        if code != 0 or kept:
            problems.append(f"{name}, intact, bound at {sizes}: exit code {code}, not proved: {kept}\n{said[-800:]}")
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quern", required=True, help="the program under test")
    parser.add_argument("--only", default="", help="only files with this in their name")
    parser.add_argument("-v", action="store_true", help="name what passed too")
    options = parser.parse_args()
    if os.sep in options.quern:
        options.quern = str(pathlib.Path(options.quern).resolve())
    paths = [p for p in sorted(FOLDER.glob("*.qn")) if options.only in p.name]
    library, failed = kernel_texts(), 0
    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        answers = pool.map(lambda p: judge(options.quern, p, library, pathlib.Path(scratch)), paths)
        for path, problems in zip(paths, answers):
            failed += bool(problems)
            if problems:
                print("FAILED " + "\n  ".join(problems).replace("\n", "\n  "), flush=True)
            elif options.v:
                print(f"passed {path.name}")
    print(f"{len(paths) - failed} passed, {failed} failed")
    return 1 if failed or not paths else 0


if __name__ == "__main__":
    sys.exit(main())
