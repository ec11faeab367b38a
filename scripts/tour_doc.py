#!/usr/bin/env python3
"""Puts real output into docs/tour.md: each marker names a command, the fenced block after it holds what it prints.

    tour_doc.py --quern PATH [--check] [PAGE ...]

A marker is a line `<!-- output: quern emit --at expr kernels/attention.qn:attention -->`; the command runs from the
repository's root with PATH in place of `quern`, no shell in between. A command that writes to both streams shows
standard output first. --check writes nothing and fails when a block differs. The default page is docs/tour.md.

After `output` may stand, in this order:

    (exit 2)                 the exit code; otherwise any but 0 is a failure
    (from `TEXT` to `TEXT`)  the lines from the first that holds the one text to the next that holds the other
    (block `TEXT`)           of code with labels: from label to label, where the text stands most often
    (first 20)               no more lines than that, and a line with `...`

What is left out stays out of the comparison too, so that a page shows the part that it is about. Standard library only.
"""

import argparse
import difflib
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MARKER = re.compile(r"^<!-- output(?: \(exit (?P<exit>\d+)\))?(?: \(from `(?P<start>[^`]+)` to `(?P<stop>[^`]+)`\))?"
                    r"(?: \(block `(?P<block>[^`]+)`\))?(?: \(first (?P<first>\d+)\))?: quern (?P<command>.*?) -->$")
LABEL = re.compile(r"^[\w.$]+:")
FENCE = re.compile(r"^(`{3,})(\w*)$")


class Problem(Exception):
    pass


def output(quern, words, expected):
    done = subprocess.run([quern, *words], capture_output=True, text=True, cwd=ROOT, timeout=300,
                          stdin=subprocess.DEVNULL)
    if done.returncode != expected:
        raise Problem(f"`quern {shlex.join(words)}`: exit code {done.returncode}, expected {expected}\n{done.stderr}")
    return [line.rstrip() for line in (done.stdout + done.stderr).rstrip("\n").split("\n")]


def between(lines, start, stop):
    begin = next((i for i, line in enumerate(lines) if start in line), None)
    end = next((i for i in range((begin or 0) + 1, len(lines)) if stop in lines[i]), None)
    if begin is None or end is None:
        raise Problem(f"no lines from `{start}` to `{stop}`")
    return lines[begin:end + 1]


def fullest_block(lines, text):
    """From a label to the next; the first of those with the most lines that hold `text`."""
    blocks = [[]]
    for line in lines:
        if LABEL.match(line):
            blocks.append([])
        blocks[-1].append(line)
    best = max(blocks, key=lambda block: sum(text in line for line in block))
    if not any(text in line for line in best):
        raise Problem(f"no block with `{text}`")
    return best


def selected(lines, marker):
    if marker["start"]:
        lines = between(lines, marker["start"], marker["stop"])
    if marker["block"]:
        lines = fullest_block(lines, marker["block"])
    if marker["first"] and len(lines) > int(marker["first"]):
        lines = lines[:int(marker["first"])] + ["..."]
    return lines


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
        try:
            text = selected(output(quern, shlex.split(marker["command"]), int(marker["exit"] or 0)), marker)
        except Problem as problem:
            raise Problem(f"{where}: {problem}") from None
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
