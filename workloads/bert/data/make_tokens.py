#!/usr/bin/env python3
"""Writes a token file for bert_train --data (format: README.md next to this file).

Standard input: one document a line, token numbers divided by blanks.
    ./make_tokens.py corpus.tok --vocabulary 30522 < numbers.txt
"""
import argparse
import array
import struct
import sys


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out")
    parser.add_argument("--vocabulary", type=int, default=30522)
    args = parser.parse_args()
    wide = args.vocabulary > 1 << 16
    tokens = array.array("I" if wide else "H")
    starts = array.array("Q", [0])
    for number, line in enumerate(sys.stdin, 1):
        document = [int(word) for word in line.split()]
        if any(not 0 <= token < args.vocabulary for token in document):
            sys.exit(f"line {number}: a token is not in 0..{args.vocabulary - 1}")
        if document:
            tokens.extend(document)
            starts.append(len(tokens))
    if not tokens:
        sys.exit("standard input holds no tokens")
    if sys.byteorder == "big":
        tokens.byteswap()
        starts.byteswap()
    with open(args.out, "wb") as out:
        out.write(struct.pack("<8sIIQQ", b"BERTTOK1", tokens.itemsize, args.vocabulary,
                              len(starts) - 1, len(tokens)))
        out.write(starts.tobytes())
        out.write(tokens.tobytes())


if __name__ == "__main__":
    main()
