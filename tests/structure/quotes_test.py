#!/usr/bin/env python3
"""Is the code that a page shows the code that the tests build and run?

usage: quotes_test.py PAGE EXAMPLES_FOLDER

Every ```cpp block of the page must stand, line for line, in one of the folder's .cc files, and every ```text block in
one of expected/*.txt. The exit code is 1 if one doesn't. Standard library only.
"""

import pathlib
import re
import sys

BLOCK = re.compile(r"^```(cpp|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def main(arguments):
    if len(arguments) != 2:
        print(__doc__)
        return 2
    page = pathlib.Path(arguments[0]).read_text(encoding="utf-8")
    folder = pathlib.Path(arguments[1])
    sources = {
        "cpp": [path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.cc"))],
        "text": [path.read_text(encoding="utf-8") for path in sorted(folder.glob("expected/*.txt"))],
    }
    found = missing = 0
    for block in BLOCK.finditer(page):
        kind, text = block.groups()
        if any(source.startswith(text) or "\n" + text in source for source in sources[kind]):
            found += 1
            continue
        missing += 1
        line = page.count("\n", 0, block.start()) + 1
        print(f"{arguments[0]}:{line}: no example has this block:\n{text}")
    print(f"{found} blocks found, {missing} missing")
    return 1 if missing or not found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
