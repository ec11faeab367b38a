#!/usr/bin/env python3
"""Times of the front end, as a user meets them: whole commands, start-up included.

Each figure is the best of several runs (the machine may be shared; the best is what the program itself needs) and is
printed with its bar. Nothing here runs in the tests.

    bench/front_end.py --quern build/release/bin/quern [--json]
"""
import argparse
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def best(command: list[str], runs: int) -> float:
    """Seconds of the fastest of `runs` runs; the command must succeed."""
    fastest = float("inf")
    for _ in range(runs):
        start = time.perf_counter()
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=ROOT)
        fastest = min(fastest, time.perf_counter() - start)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)} failed with {done.returncode}:\n{done.stderr.decode()}")
    return fastest


def library() -> str:
    return "\n".join(open(f, encoding="utf-8").read() for f in sorted(glob.glob(os.path.join(ROOT, "kernels", "*.qn"))))


def many_lines(text: str, lines: int) -> str:
    """The library again and again, its kernels renamed, until there are `lines` lines."""
    parts, count = [], 0
    while count < lines:
        part = re.sub(r"^kernel (\w+)", lambda m: f"kernel {m[1]}_{len(parts)}", text, flags=re.M)
        parts.append(part)
        count += part.count("\n") + 1
    return "\n".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quern", required=True)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    quern = os.path.abspath(options.quern)
    sizes = [f"--dim={d}" for d in ("B=1", "H=2", "G=2", "M=256", "N=256", "D=64", "E=64")]
    with tempfile.TemporaryDirectory() as folder:
        whole, large = os.path.join(folder, "library.qn"), os.path.join(folder, "large.qn")
        with open(whole, "w", encoding="utf-8") as file:
            file.write(library())
        with open(large, "w", encoding="utf-8") as file:
            file.write(many_lines(library(), 100_000))
        rows = [
            ("start-up of quern --help", best([quern, "--help"], 50), 0.010),
            ("parse and check of the library", best([quern, "list", whole], 20), 0.100),
            ("… and range proofs", best([quern, "check", "--language-only", whole], 20), 0.100),
            ("parse and check of 100,000 lines", best([quern, "list", large], 5), 2.0),
            ("… and range proofs", best([quern, "check", "--language-only", large], 5), 2.0),
            ("interpreter: attention, B 1, H 2, M = N = 256, D 64",
             best([quern, "run", "kernels/attention.qn:attention", *sizes, "--seed=1", "--on=interpreter"], 5), 2.0),
        ]
    if options.json:
        print(json.dumps([{"what": w, "seconds": s, "bar": b} for w, s, b in rows], indent=2))
        return
    for what, seconds, bar in rows:
        print(f"{what:55} {seconds * 1e3:9.1f} ms   bar {bar * 1e3:6.0f} ms   {'ok' if seconds <= bar else 'MISSED'}")


if __name__ == "__main__":
    main()
