#!/usr/bin/env python3
"""Puts real output into docs/tour.md: each marker names a command, the fenced block after it holds what it prints.

    tour_doc.py --quern PATH [--check] [PAGE ...]

A marker is a line `<!-- output: quern emit --at expr kernels/attention.qn:attention -->`; the command runs from the
repository's root with PATH in place of `quern`, no shell in between. A command that writes to both streams shows
standard output first. Any exit code but 0 is a failure, unless the marker says `(exit 2)` after `output`. --check
writes nothing and fails when a block differs. The default page is docs/tour.md. Standard library only.
"""

import argparse
import difflib
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MARKER = re.compile(r"^<!-- output(?: \(exit (\d+)\))?: quern (.*?) -->$")
FENCE = re.compile(r"^(`{3,})(\w*)$")


class Problem(Exception):
    pass


def output(quern, words, expected):
    done = subprocess.run([quern, *words], capture_output=True, text=True, cwd=ROOT, timeout=300,
                          stdin=subprocess.DEVNULL)
    if done.returncode != expected:
        raise Problem(f"`quern {shlex.join(words)}`: exit code {done.returncode}, expected {expected}\n{done.stderr}")
    return [line.rstrip() for line in (done.stdout + done.stderr).rstrip("\n").split("\n")]


def renew(page, quern):
    """The page's text with every block replaced."""
    lines = page.read_text(encoding="utf-8").split("\n")
    out = []
    i = 0
    while i < len(lines):
        out.append(lines[i])
        marker = MARKER.match(lines[i])
        i += 1
        if not marker:
            continue
        where = f"{page.name}:{i}"
        while i < len(lines) and not lines[i].strip():
            out.append(lines[i])
            i += 1
        fence = FENCE.match(lines[i]) if i < len(lines) else None
        if not fence:
            raise Problem(f"{where}: a fenced block must follow the marker")
        end = next((j for j in range(i + 1, len(lines)) if lines[j] == fence[1]), None)
        if end is None:
            raise Problem(f"{where}: the block is not closed")
        text = output(quern, shlex.split(marker[2]), int(marker[1] or 0))
        longest = max((len(m[0]) for line in text if (m := re.match(r"`{3,}", line))), default=2)
        ticks = "`" * max(3, longest + 1)
        out += [ticks + (fence[2] or "text"), *text, ticks]
        i = end + 1
    return "\n".join(out)


def main():
    parser = argparse.ArgumentParser(description="put real output into docs/tour.md")
    parser.add_argument("--quern", required=True, type=lambda text: str(pathlib.Path(text).resolve()))
    parser.add_argument("--check", action="store_true", help="fail when a block differs")
    parser.add_argument("pages", nargs="*", type=pathlib.Path, default=[ROOT / "docs/tour.md"])
    options = parser.parse_args()
    status = 0
    for page in options.pages:
        try:
            text = renew(page, options.quern)
        except (Problem, OSError, subprocess.TimeoutExpired) as error:
            print(error)
            status = 1
            continue
        old = page.read_text(encoding="utf-8")
        if not options.check:
            page.write_text(text, encoding="utf-8")
        elif text != old:
            sys.stdout.writelines(difflib.unified_diff(old.splitlines(True), text.splitlines(True), page.name, "now"))
            print(f"{page.name} is behind: run scripts/tour_doc.py --quern PATH")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
