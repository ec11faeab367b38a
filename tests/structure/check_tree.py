"""Is the tree what the documents say? Each check below is a function that yields a line for each thing wrong.

usage: check_tree.py ROOT [check...]     all checks, or those named; exit code 1 when one finds something

The files looked at are those git would commit (tracked, or new and not ignored); without git, all but the build folder.
check_tree_test.py shows every check a tree that it must refuse, and one that all must accept.
"""

import collections
import functools
import os
import re
import subprocess
import sys
from pathlib import Path

LINE_LIMIT = 600
DRAWERS = {"util", "utils", "common", "misc", "helper", "helpers", "core"}
SCRIPTS = ["run", "test", ".ci/run", "scripts/setup"]
# Put together from parts, so that this file holds none of what it looks for.
LEFTOVERS = re.compile(r"\b(" + "|".join(["TO" + "DO", "FIX" + "ME", "X" * 3, "HA" + "CK"]) + r")\b")
MACHINE_FOLDERS = "|".join(["work", "root", "home"])
# Not where it only goes on: src/work, ${x}/work, a website's /home. The I and L are those of -I and -L.
MACHINE_PATHS = re.compile(rf"(?:(?<![\w.)}}>*/-])|(?<=-[IL]))/(?:{MACHINE_FOLDERS})(?=[/\s\"'`),;:\]]|$)")


class Tree:
    """The files of a tree, by their paths below its root."""

    def __init__(self, root):
        self.root = Path(root).resolve()
        self.paths = sorted(path for path in self._git_paths() or self._walk() if (self.root / path).is_file())

    def _git(self, *arguments):
        try:
            return subprocess.run(["git", "-C", str(self.root), *arguments], capture_output=True, check=True).stdout
        except (OSError, subprocess.CalledProcessError):
            return b""

    def _git_paths(self):
        top = self._git("rev-parse", "--show-toplevel").decode().strip()
        if not top or Path(top).resolve() != self.root:
            return []
        listed = self._git("ls-files", "-z", "--cached", "--others", "--exclude-standard")
        return [path for path in listed.decode().split("\0") if path]

    def _walk(self):
        for folder, folders, files in os.walk(self.root):
            at_root = Path(folder) == self.root
            left_out = {".git", ".venv", ".cache", "__pycache__", *(["build"] if at_root else [])}
            folders[:] = [name for name in folders if name not in left_out]
            for file in files:
                yield (Path(folder) / file).relative_to(self.root).as_posix()

    @functools.lru_cache(maxsize=None)
    def text(self, path):
        """The file's text; empty for what isn't text."""
        try:
            return (self.root / path).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            return ""

    def lines(self, path):
        return enumerate(self.text(path).splitlines(), start=1)

    def sources(self, *folders, suffixes=(".cc", ".h")):
        return [p for p in self.paths if p.split("/")[0] in folders and p.endswith(suffixes)]


def layers(tree):
    """Includes obey layers.txt."""
    allowed = {}
    for number, line in tree.lines("layers.txt"):
        line = line.split("#")[0].strip()
        if not line:
            continue
        folder, _, used = (part.strip() for part in line.partition(":"))
        for name in used.split():
            if name not in allowed:
                yield f"layers.txt:{number}: {folder} may use only folders listed above it, and {name} is not"
        allowed[folder] = {folder, *used.split()}
    for path in tree.sources("src", "include", suffixes=(".cc", ".h", ".def")):
        folder = path.split("/")[1]
        if path.count("/") < 2 or folder not in allowed:
            yield f"{path}: it is in no folder of layers.txt"
            continue
        for number, line in tree.lines(path):
            include = re.match(r'\s*#\s*include\s+(["<])([^">]+)[">]', line)
            if not include:
                continue
            quoted, target = include[1] == '"', include[2].split("/")[0]
            if quoted and target not in allowed:
                yield f'{path}:{number}: "{include[2]}" starts with no folder of layers.txt'
            elif "/" in include[2] and target in allowed and target not in allowed[folder]:
                yield f"{path}:{number}: {folder} may not include {target}"


def readmes(tree):
    """Every folder of src/ that holds sources has a README.md: its title and one paragraph."""
    for folder in sorted({os.path.dirname(path) for path in tree.sources("src")} - {"src"}):
        readme = f"{folder}/README.md"
        if readme not in tree.paths:
            yield f"{folder}: no README.md"
            continue
        blocks = [block for block in re.split(r"\n\s*\n", tree.text(readme).strip()) if block]
        if len(blocks) != 2 or not blocks[0].startswith("# ") or "\n" in blocks[0]:
            yield f"{readme}: it has to be a title and one paragraph, with an empty line between"


def sizes(tree):
    """No source is longer than a reader's patience; tables (.def) and generated files are."""
    for path in tree.sources("src", "include", "tests"):
        lines = tree.text(path).splitlines()
        if len(lines) > LINE_LIMIT and not lines[0].lower().startswith("// generated by"):
            yield f"{path}: {len(lines)} lines, the cap is {LINE_LIMIT}"


def openings(tree):
    """A source opens with a comment that says what and why; a .cc whose .h does so needn't."""
    for path in tree.sources("src", "include", "tests"):
        stem = path.rsplit(".", 1)[0]
        headers = {f"{stem}.h", f"include/quern/{os.path.basename(stem)}.h"}
        if path.endswith(".cc") and headers & set(tree.paths):
            continue
        if not tree.text(path).startswith(("//", "/*")):
            yield f"{path}:1: it has to open with a comment: what it is, and why"


def leftovers(tree):
    """What isn't done is a tested error, or an issue; never a mark in a file."""
    for path in tree.paths:
        for number, line in tree.lines(path):
            if found := LEFTOVERS.search(line):
                yield f"{path}:{number}: {found[0]}"


def heading_anchors(text):
    """The anchors GitHub gives the headings of a Markdown text, and those it sets itself."""
    anchors = set(re.findall(r'<a (?:id|name)="([^"]+)"', text))
    seen = collections.Counter()
    for heading in re.findall(r"^#{1,6}\s+(.+?)\s*#*$", without_code_blocks(text), re.MULTILINE):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
        anchors.add(f"{slug}-{seen[slug]}" if seen[slug] else slug)
        seen[slug] += 1
    return anchors


def without_code_blocks(text):
    """The text with the lines of fenced code blocks empty, so that line numbers stay."""
    fence, out = "", []
    for line in text.splitlines():
        mark = re.match(r"\s*(```+|~~~+)", line)
        inside = bool(fence)
        if mark and not fence:
            fence = mark[1]
        elif mark and fence and mark[1].startswith(fence):
            fence = ""
        out.append("" if inside or mark else line)
    return "\n".join(out)


def links(tree):
    """Links in Markdown lead to a file or folder of the tree, and to a heading that is there."""
    there = {"."} | set(tree.paths) | {folder.as_posix() for path in tree.paths for folder in Path(path).parents}
    for path in (p for p in tree.paths if p.endswith(".md")):
        for number, line in enumerate(without_code_blocks(tree.text(path)).splitlines(), start=1):
            line = re.sub(r"`[^`]*`", "", line)
            targets = re.findall(r"\]\(<?([^)>\s]+)>?[^)]*\)", line) + re.findall(r"^\s*\[[^\]]+\]:\s*(\S+)", line)
            for target in targets:
                if re.match(r"[a-z][a-z0-9+.-]*:", target):
                    continue  # another site
                file, _, anchor = target.partition("#")
                found = os.path.normpath(os.path.join(os.path.dirname(path), file)) if file else path
                if found not in there:
                    yield f"{path}:{number}: {target} leads nowhere"
                elif anchor and found.endswith(".md") and anchor not in heading_anchors(tree.text(found)):
                    yield f"{path}:{number}: {file or path} has no heading #{anchor}"


def drawers(tree):
    """No file or folder is named for what doesn't belong anywhere."""
    for path in tree.paths:
        for part in path.split("/"):
            if part.split(".")[0].lower() in DRAWERS:
                yield f"{path}: '{part}' is a drawer; name it for what it does"


def machine_paths(tree):
    """Nothing depends on where somebody's machine keeps things."""
    for path in tree.paths:
        for number, line in tree.lines(path):
            if found := MACHINE_PATHS.search(line):
                yield f"{path}:{number}: '{found[0]}' is a path of one machine"


def executables(tree):
    """The scripts that a newcomer types can be run."""
    for script in SCRIPTS:
        if not os.access(tree.root / script, os.X_OK):
            yield f"{script}: it is not there, or not executable"


CHECKS = [layers, readmes, sizes, openings, leftovers, links, drawers, machine_paths, executables]


def main(arguments):
    if not arguments:
        print(__doc__)
        return 2
    tree = Tree(arguments[0])
    by_name = {check.__name__: check for check in CHECKS}
    found = 0
    for name in arguments[1:] or by_name:
        for problem in by_name[name](tree):
            print(f"{name}: {problem}")
            found += 1
    print(f"{len(tree.paths)} files, {found} problems")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
