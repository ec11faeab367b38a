"""The heads of the library's kernels, read from their text: parameters, results, their types and defaults.

The driver must know how an argument lies in its file and what a result's bits mean, and it must not ask the program
under test. Heads are regular enough for a small reader: brackets are matched, commas at depth 0 separate.
"""

import functools
import pathlib
import re
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[2]
KERNELS = ROOT / "kernels"


class Parameter(NamedTuple):
    name: str
    type: str  # a type name, or a type variable such as T
    rank: int
    inout: bool
    default: str | None


class Signature(NamedTuple):
    name: str
    family: str
    given: list[str]  # names the caller may give, with their default: "W", "F = 0"
    parameters: list[Parameter]
    results: list[Parameter]

    def outputs(self) -> list[Parameter]:
        """What a run writes: every result and the final value of every inout parameter."""
        return self.results + [p for p in self.parameters if p.inout]


def split(text: str) -> list[str]:
    """At commas outside brackets."""
    parts, depth, start = [], 0, 0
    for at, c in enumerate(text):
        depth += (c in "([") - (c in ")]")
        if c == "," and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    return [p.strip() for p in parts + [text[start:]] if p.strip()]


def closing(text: str, opening: int) -> int:
    """Position of the bracket that closes the one at `opening`."""
    depth = 0
    for at in range(opening, len(text)):
        depth += (text[at] in "([") - (text[at] in ")]")
        if depth == 0:
            return at
    raise ValueError("a bracket is not closed")


def parameter(text: str) -> Parameter:
    m = re.fullmatch(r"(inout )?(\w+): (\w+)(?:\[(.*?)\])?(?: = (.+))?", " ".join(text.split()))
    if m is None:
        raise ValueError(f"not a parameter: {text}")
    return Parameter(m[2], m[3], len(split(m[4])) if m[4] else 0, bool(m[1]), m[5])


def read_heads(text: str, family: str) -> list[Signature]:
    found = []
    for m in re.finditer(r"^kernel (\w+)", text, re.M):
        at, given = m.end(), []
        if text[at] == "[":
            end = closing(text, at)
            given, at = split(text[at + 1:end]), end + 1
        end = closing(text, at)
        parameters = [parameter(p) for p in split(text[at + 1:end])]
        rest = text[end + 1:text.index("{", end)].strip()
        results = rest.removeprefix("->").strip()
        if results.startswith("(") and closing(results, 0) == len(results) - 1:
            results = results[1:-1]
        found.append(Signature(m[1], family, given, parameters, [parameter(p) for p in split(results)]))
    return found


@functools.lru_cache(maxsize=None)
def library() -> dict[str, Signature]:
    """All kernels of kernels/*.qn by name."""
    heads = {}
    for path in sorted(KERNELS.glob("*.qn")):
        for head in read_heads(path.read_text(), path.stem):
            heads[head.name] = head
    return heads
