#!/usr/bin/env python3
"""Do the editors know the language? editors/words.json lists its words; here it is held against the sources, and both
grammars against it. Usage: editors_test.py [ROOT]. Standard library only; Vim is tried when it is installed.
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent.parent
EDITORS = ROOT / "editors"

SAMPLE = """\
# sum of a comment
kernel twice[W, dyn F](x: bf16[N, K / 2], inout y: T[N], eps: f32 = 1e-6) -> max_: T[N] = 0 {
  s[n, k < length[n]]: f32 = sum[k] x[n, k // 2] * 0x1f if n <= W and not true else -inf
  for[n if s[n, 0] >= 0] y[slot[n] // 2] += softmax[n](s[n, 0]) + max(1, max[n] s[n, 0])
  z = exp(cos[0]) + mine[n](y[n])
}
"""
# Word, which occurrence (from 0), the scope it must have in the TextMate grammar, and the group in Vim's.
SCOPES = [
    ("sum", 0, "comment", "quernComment"),
    ("kernel", 0, "keyword.declaration", "quernDeclare"),
    ("twice", 0, "entity.name.function", "quernName"),
    ("W", 0, "variable.other.constant.dimension", "quernDimension"),
    ("dyn", 0, "storage.modifier", "quernModifier"),
    ("bf16", 0, "storage.type", "quernType"),
    ("inout", 0, "storage.modifier", "quernModifier"),
    ("eps", 0, "variable.parameter", None),
    ("1e-6", 0, "constant.numeric.float", "quernFloat"),
    ("->", 0, "keyword.operator.arrow", "quernOperator"),
    ("s", 0, "entity.name.variable.definition", "quernDefinition"),
    ("sum", 1, "keyword.operator.reduction", "quernReduction"),
    ("0x1f", 0, "constant.numeric.hex", "quernNumber"),
    ("if", 0, "keyword.control", "quernConditional"),
    ("and", 0, "keyword.operator.logical", "quernLogical"),
    ("inf", 0, "constant.language", "quernConstant"),
    ("for", 0, "keyword.control", "quernRepeat"),
    ("y", 1, "entity.name.variable.definition", "quernDefinition"),
    ("softmax", 0, "support.function.prelude", "quernPrelude"),
    ("max", 0, "support.function.builtin", "quernFunction"),
    ("max", 1, "keyword.operator.reduction", "quernReduction"),
    ("z", 0, "entity.name.variable.definition", "quernDefinition"),
    ("exp", 0, "support.function.builtin", "quernFunction"),
    ("cos", 0, None, ""),
    ("mine", 0, "entity.name.function.call", "quernCall"),
]

failures = []
checks = 0


def expect(condition, text):
    global checks
    checks += 1
    if not condition:
        failures.append(text)


def position(word, occurrence):
    found = [m.start() for m in re.finditer(rf"(?<!\w){re.escape(word)}(?!\w)", SAMPLE)]
    return found[occurrence]


def against_sources(words):
    """The list is what the sources say, as far as these exist."""
    table = ROOT / "src/base/scalar_type.def"
    types = re.findall(r"^QUERN_TYPE\((\w+)", table.read_text(), re.MULTILINE)
    types = ["bool" if name == "boolean" else name for name in types]
    expect(types == words["types"], f"types of words.json differ from {table.name}: {types}")
    ops = ROOT / "src/expr/ops.def"
    if ops.exists():
        known = set(re.findall(r"\w+", ops.read_text()))
        for name in words["functions"] + words["reductions"]:
            expect(name in known, f"'{name}' of words.json does not occur in src/expr/ops.def")
    else:
        print("skipped: src/expr/ops.def is not there yet")
    prelude = ROOT / "src/lang/prelude.qn"
    if prelude.exists():
        names = re.findall(r"^fn (\w+)", prelude.read_text(), re.MULTILINE)
        expect(sorted(names) == sorted(words["prelude"]), f"functions of prelude.qn differ from words.json: {names}")
    else:
        print("skipped: src/lang/prelude.qn is not there yet")
    page = (ROOT / "docs/notation.md").read_text(encoding="utf-8")
    for kind, names in words.items():
        for name in names:
            expect(re.search(rf"\b{name}\b", page), f"docs/notation.md does not mention '{name}' ({kind})")


def patterns_of(grammar):
    """Every pattern of the grammar in the order in which an editor tries them."""
    out = []

    def collect(entry):
        if "include" in entry:
            collect(grammar["repository"][entry["include"].removeprefix("#")])
            return
        if "match" in entry:
            out.append(entry)
        for inner in entry.get("patterns", []):
            collect(inner)

    for entry in grammar["patterns"]:
        collect(entry)
    return out


def scopes(patterns, text):
    """offset -> scope, as an editor would give it: at each place the earliest match, the first pattern among equals."""
    out = {}
    start = 0
    for line in text.splitlines(keepends=True):
        at = 0
        while at < len(line):
            best = None
            for regex, entry in patterns:
                match = regex.search(line, at)
                if match and match.end() > at and (best is None or match.start() < best[0].start()):
                    best = (match, entry)
            if best is None:
                break
            match, entry = best
            for i in range(match.start(), match.end()):
                if "name" in entry:
                    out[start + i] = entry["name"]
            for group, capture in entry.get("captures", {}).items():
                for i in range(*match.span(int(group))):
                    out[start + i] = capture["name"]
            at = match.end()
        start += len(line)
    return out


def textmate(words):
    for name in ("package.json", "language-configuration.json", "syntaxes/quern.tmLanguage.json"):
        try:
            json.loads((EDITORS / "vscode" / name).read_text())
        except ValueError as error:
            failures.append(f"{name}: {error}")
            return
    package = json.loads((EDITORS / "vscode/package.json").read_text())
    for entry in package["contributes"]["grammars"]:
        expect((EDITORS / "vscode" / entry["path"]).is_file(), f"package.json names {entry['path']}")
    for entry in package["contributes"]["languages"]:
        expect((EDITORS / "vscode" / entry["configuration"]).is_file(), f"package.json names {entry['configuration']}")
    text = (EDITORS / "vscode/syntaxes/quern.tmLanguage.json").read_text()
    compiled = []
    for entry in patterns_of(json.loads(text)):
        try:
            compiled.append((re.compile(entry["match"]), entry))
        except re.error as error:
            failures.append(f"TextMate: {entry['match']}: {error}")
    body = " ".join(entry["match"] for _, entry in compiled).replace("\\b", " ")
    for kind, names in words.items():
        for name in names:
            expect(re.search(rf"(?<!\w){name}(?!\w)", body), f"TextMate grammar lacks '{name}' ({kind})")
    given = scopes(compiled, SAMPLE)
    for word, occurrence, scope, _ in SCOPES:
        found = given.get(position(word, occurrence))
        good = found is None if scope is None else (found or "").startswith(scope)
        expect(good, f"TextMate: '{word}' ({occurrence}) is {found}, expected {scope}")


def vim(words):
    body = re.sub(r'^\s*".*$', "", (EDITORS / "vim/syntax/quern.vim").read_text(), flags=re.MULTILINE)
    body = re.sub(r"\\[<>|]|\\%\(", " ", body)
    for kind, names in words.items():
        for name in names:
            expect(re.search(rf"(?<!\w){name}(?!\w)", body), f"Vim's grammar lacks '{name}' ({kind})")
    program = shutil.which("vim")
    if not program or "+syntax" not in subprocess.run([program, "--version"], capture_output=True, text=True).stdout:
        print("skipped: no vim with syntax highlighting to try the plugin in")
        return
    with tempfile.TemporaryDirectory() as folder:
        sample, result, script = (pathlib.Path(folder) / name for name in ("a.qn", "result", "script.vim"))
        sample.write_text(SAMPLE)
        lines = [f"set nocompatible runtimepath^={EDITORS}/vim", "filetype plugin on", "syntax on", f"edit {sample}",
                 "let out = [&filetype, &commentstring, &textwidth, v:errmsg]"]
        for word, occurrence, _, _ in SCOPES:
            before = SAMPLE[:position(word, occurrence)]
            line, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
            lines.append(f"call add(out, synIDattr(synID({line}, {column}, 1), 'name'))")
        lines += [f"call writefile(out, '{result}')", "qall!"]
        script.write_text("\n".join(lines) + "\n")
        subprocess.run([program, "-N", "-u", "NONE", "-i", "NONE", "-es", "-S", str(script)], timeout=60,
                       stdin=subprocess.DEVNULL, capture_output=True)
        if not result.exists():
            failures.append("vim did not finish the script")
            return
        out = result.read_text().splitlines()
        expect(out[:4] == ["quern", "# %s", "120", ""], f"vim: filetype, comment, width, error are {out[:4]}")
        for (word, occurrence, _, group), found in zip(SCOPES, out[4:]):
            expect(group is None or found == group, f"vim: '{word}' ({occurrence}) is '{found}', expected '{group}'")


def main():
    listed = json.loads((EDITORS / "words.json").read_text())
    words = {kind: text.split() for kind, text in listed.items()}
    against_sources(words)
    textmate(words)
    vim(words)
    for text in failures:
        print(text)
    print(f"{checks - len(failures)} passed, {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
