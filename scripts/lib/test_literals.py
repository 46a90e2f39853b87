#!/usr/bin/env python3
"""The log texts that stand in the tests of a format, as seeds of the fuzzer.

  scripts/lib/test_literals.py FOLDER FILE...   a file in FOLDER for each string literal of the C++
                                                sources that is a line at least
"""
import ast
import hashlib
import pathlib
import re
import sys

# A raw literal, or ordinary ones that stand one behind the other.
LITERAL = re.compile(r'R"(\w*)\((.*?)\)\1"|((?:"(?:[^"\\\n]|\\.)*"\s*)+)', re.S)
ORDINARY = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
LONGEST = 6000


def unescaped(text):
    return ast.literal_eval(f'b"{text}"') if text.isascii() else text.encode()


def literals(source):
    source = re.sub(r"^#include.*$|^\s*//.*$", "", source, flags=re.M)
    for raw in LITERAL.finditer(source):
        if raw[3] is None:
            yield raw[2].encode()
            continue
        try:
            yield b"".join(unescaped(part) for part in ORDINARY.findall(raw[3]))
        except (SyntaxError, ValueError):
            pass  # an escape that Python reads otherwise


def main():
    folder = pathlib.Path(sys.argv[1])
    for name in sys.argv[2:]:
        for text in literals(pathlib.Path(name).read_text(encoding="utf-8")):
            if len(text) >= 30:
                # The first byte says how input is cut.
                file = folder / ("test_" + hashlib.sha1(text).hexdigest()[:12])
                file.write_bytes(b"\x07" + text[:LONGEST])


if __name__ == "__main__":
    main()
