#!/usr/bin/env python3
"""Every program shown in the documentation is run: pages are read, blocks marked `quern` go through the executable.

    check_docs.py --quern PATH FILES...

The info string of a block says what must hold. Words after `quern`, in any order:

    check (default)   `quern check` accepts it
    run               `quern run` computes it, with random arrays where none are given
    error CODE        it is refused with this code and no other; with `run` too, by `quern run`
    fragment          a piece of grammar, not tested
    noformat          need not be in canonical form (run and check blocks otherwise must be)
    M=4               a dimension (--dim); an array may give it instead
    U=bf16            a type variable (--type); T is f32 where nothing else is said
    eps=1e-5          a scalar argument
    length=[3,5]      an array argument in JSON, of the element type that the block declares for that name
    file=moe          the block is saved as moe.qn, so that later blocks of the page can import it
    kernel=gemm       the kernel to run in a block with several

The last line is `N passed, N failed`; the exit code is 1 if one failed. Standard library only.
"""

import argparse
import json
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})\s*(.*?)\s*$")
CODE = re.compile(r"^[ENB]\d+$")
SHOWN = re.compile(r"^error ([ENB]\d+)\b", re.MULTILINE)
NPY = {  # element type -> NumPy's descriptor, struct's letter
    "f64": ("<f8", "d"), "f32": ("<f4", "f"), "f16": ("<f2", "e"), "i64": ("<i8", "q"), "i32": ("<i4", "i"),
    "i16": ("<i2", "h"), "i8": ("|i1", "b"), "u32": ("<u4", "I"), "u8": ("|u1", "B"), "bool": ("|b1", "?"),
}
REAL_TYPES = {"f64", "f32", "f16", "bf16", "f8e4m3", "f8e5m2", "f8e8m0", "f4e2m1"}


class Block:
    """One fenced block: where it stands, its text, and what its info string asks for."""

    def __init__(self, page, line, info, text):
        self.page, self.line, self.text = page, line, text
        self.run = self.fragment = self.noformat = False
        self.code = None
        self.file = self.kernel = None
        self.values = []
        words = info.split()[1:]
        verbs = 0
        while words:
            word = words.pop(0)
            name, equals, value = word.partition("=")
            if word in ("check", "run", "fragment"):
                self.run |= word == "run"
                self.fragment |= word == "fragment"
                verbs += 1
            elif word == "noformat":
                self.noformat = True
            elif word == "error":
                if not words or not CODE.match(words[0]):
                    raise ValueError("`error` needs a code, as in `error E302`")
                self.code = words.pop(0)
            elif equals and name in ("file", "kernel"):
                setattr(self, name, value)
            elif equals and re.fullmatch(r"[A-Za-z]\w*", name):
                self.values.append((name, value))
            else:
                raise ValueError(f"unknown word '{word}' in the info string")
        if verbs > 1 or (self.fragment and self.code):
            raise ValueError("one of run, check, fragment, please")


def blocks(path):
    """The `quern` blocks of a page, and (line, text) of what is wrong with the page itself."""
    found, wrong = [], []
    fence = None
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        match = FENCE.match(line)
        if fence is None:
            if match:
                fence, info, start, lines = match[1], match[2], number, []
        elif match and not match[2] and match[1][0] == fence[0] and len(match[1]) >= len(fence):
            if info.split()[:1] == ["quern"]:
                try:
                    found.append(Block(path, start, info, "".join(text + "\n" for text in lines)))
                except ValueError as error:
                    wrong.append((start, str(error)))
            fence = None
        else:
            lines.append(line)
    if fence is not None:
        wrong.append((start, "the block is not closed"))
    return found, wrong


def write_npy(path, element, value):
    """A .npy file, version 1.0, from nested lists."""
    shape, level = [], value
    while isinstance(level, list):
        shape.append(len(level))
        level = level[0] if level else 0
    flat = [value]
    for _ in shape:
        flat = [x for part in flat for x in part]
    descr, letter = NPY[element]
    dims = "".join(f"{size}, " for size in shape)
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': ({dims}), }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    data = struct.pack(f"<{len(flat)}{letter}", *flat)
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data)


def arguments(block, folder):
    """The command-line arguments for the block's values."""
    out, types, dims = [], set(), []
    for name, value in block.values:
        if name.isupper():
            if value in REAL_TYPES:
                types.add(name)
                out += ["--type", f"{name}={value}"]
            else:
                dims += ["--dim", f"{name}={value}"]
        elif not block.run:
            raise ValueError(f"{name} is an argument: only for `run`")
        elif value.startswith("["):
            declared = re.search(rf"\b{name}\s*:\s*(\w+)\s*\[", block.text)
            element = declared[1] if declared else "f32"
            element = "f32" if element.isupper() else element
            path = folder / f"line{block.line}_{name}.npy"
            write_npy(path, element, json.loads(value))
            out.append(f"{name}={path}")
        else:
            out.append(f"{name}={value}")
    if block.run and "T" not in types and re.search(r":\s*T\b|\bT\s*\(", block.text):
        out += ["--type", "T=f32"]
    return out + dims


def expected_exit(code):
    if code is None:
        return 0
    if code.startswith("E80"):
        return 1
    return {"E": 2, "N": 3, "B": 70}[code[0]]


def check(block, quern, folder):
    """What is wrong with the block, as text; None if nothing is."""
    path = folder / f"{block.file or f'line{block.line}'}.qn"
    path.write_text(block.text, encoding="utf-8")
    target = f"{path}:{block.kernel}" if block.kernel else str(path)
    commands = [[quern, "run", target, *arguments(block, folder), "--seed", "1"] if block.run
                else [quern, "check", target, *arguments(block, folder)]]
    if block.code is None and not block.noformat:
        commands.append([quern, "format", "--check", str(path)])
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)
        formatting = command[1] == "format"
        expected = 0 if formatting else expected_exit(block.code)
        shown = set(SHOWN.findall(done.stderr))
        wrong = None
        if done.returncode != expected:
            wrong = f"exit code {done.returncode}, expected {expected}"
        elif not formatting and shown != ({block.code} if block.code else set()):
            wrong = f"codes {' '.join(sorted(shown)) or '(none)'}, expected {block.code or 'none'}"
        if wrong:
            return f"{wrong}\n  {' '.join(command)}\n" + "".join(f"  | {x}\n" for x in done.stderr.splitlines())
    return None


def main():
    parser = argparse.ArgumentParser(description="run the programs shown in the documentation")
    parser.add_argument("--quern", required=True, help="the executable")
    parser.add_argument("files", nargs="+", type=pathlib.Path, metavar="FILES")
    options = parser.parse_args()
    passed = failed = 0
    for page in options.files:
        found, wrong = blocks(page)
        for line, text in wrong:
            print(f"{page}:{line}: {text}")
            failed += 1
        with tempfile.TemporaryDirectory(prefix="quern-docs-") as folder:
            for block in found:
                if block.fragment:
                    continue
                try:
                    result = check(block, options.quern, pathlib.Path(folder))
                except (ValueError, KeyError, OSError, struct.error, subprocess.TimeoutExpired) as error:
                    result = f"{type(error).__name__}: {error}"
                if result:
                    print(f"{page}:{block.line}: {result.rstrip()}")
                    failed += 1
                else:
                    passed += 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
