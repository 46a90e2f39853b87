"""The rooms of the source tree: which folder may include which, and that no code asks for a launcher by its name.

usage: rooms_test.py BERTBENCH SOURCE
"""
import collections
import pathlib
import re
import sys

# Lowest first: a file includes files of its own folder and of those listed before it.
FLOORS = """
parsers/core parsers/input parsers/scan parsers/lines parsers/assemble parsers/rules parsers/formats
parsers/described parsers/generic parsers/reader
reports/model reports/stats reports/measure reports/cells reports/gate reports/output reports/store
reports/studies
harness/sweep/process harness/sweep/config harness/sweep/journal harness/sweep/observe
harness/sweep/plan harness/sweep/launch harness/sweep/execute
harness/cli
workloads/bert/core workloads/bert/model workloads/bert/comm workloads/bert/data workloads/bert/log
workloads/bert/reference workloads/bert/cpu
workloads/bert/cuda/emulated workloads/bert/cuda/device workloads/bert/cuda/kernels
workloads/bert/cuda/products workloads/bert/cuda
workloads/bert/train
""".split()
TREES = ["parsers", "reports", "harness", "workloads"]
# Programs that measure single parts; nothing includes them.
BENCHES = ["parsers/bench", "workloads/kernels"]
BY_NAME = re.compile(r'launcher[\w.>*-]* [=!]= "')


def floor_of(folder):
    fits = [floor for floor in FLOORS if folder == floor or folder.startswith(floor + "/")]
    return FLOORS.index(max(fits, key=len)) if fits else None


def problems(source):
    found = []
    pairs = collections.defaultdict(list)
    for tree in TREES:
        for path in sorted((source / tree).rglob("*")):
            if path.suffix not in (".h", ".cpp", ".cu", ".inc"):
                continue
            name = path.relative_to(source).as_posix()
            folder = path.parent.relative_to(source).as_posix()
            if folder in BENCHES:
                continue
            if floor_of(folder) is None:
                found.append(f"{name}: lies in no folder of the list in tests/contract/rooms_test.py")
                continue
            text = path.read_text()
            if name.startswith("harness/") and BY_NAME.search(text):
                found.append(f"{name}: compares the name of a launcher: what differs is a field of Launcher")
            for target in re.findall(r'^#include "([^"]+)"', text, re.M):
                if not (source / target).exists():
                    continue  # generated
                other = str(pathlib.PurePosixPath(target).parent)
                if other == folder:
                    continue
                pairs[folder, other].append(f"{name} includes {target}")
                if floor_of(other) is None:
                    found.append(f"{name}: includes {target}, which no library may")
                elif floor_of(other) > floor_of(folder):
                    found.append(f"{name}: includes {target}, which is on a higher floor")
                elif name.startswith("workloads/") != target.startswith("workloads/"):
                    found.append(f"{name}: includes {target}, but workloads stand alone")
                family = re.match(r"parsers/formats/[^/]+/", target)
                if family and not name.startswith(family.group()):
                    found.append(f"{name}: includes {target}, which is its family's own")
    for (one, other), lines in sorted(pairs.items()):
        if one < other and (other, one) in pairs:
            found += [f"{one} and {other} include each other: {lines[0]}; {pairs[other, one][0]}"]
    return found


def main():
    source = pathlib.Path(sys.argv[2])
    found = problems(source)
    # The test reads what it claims to read.
    assert len(list((source / "parsers").rglob("*.h"))) > 50
    for line in found:
        print(line)
    sys.exit(1 if found else 0)


main()
