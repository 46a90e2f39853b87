"""One header, one body: what x.h declares is defined in x.cpp, so a name is found by its file's name.

usage: bodies_test.py BERTBENCH SOURCE

Reads the text: clang-format leaves what a namespace holds at the first column. A definition outside of
unnamed namespaces whose name another header declares, and the own one does not, is in the wrong file.
"""
import collections
import pathlib
import re
import sys

# Trees in which every body lies where its header says.
HELD = ["harness"]
TREES = ["parsers", "reports", "harness", "workloads"]

NAME = r"~?[A-Za-z_]\w*|operator[^\s(]+"
CLASS = re.compile(r"^(?:template <.*> *\n)?(?:class|struct) (\w+)(?: final)?(?: *:[^;{]*)? *\{", re.M)
DECLARED = re.compile(rf"^(?!using|return|namespace|#|//|\}})[A-Za-z_\[][^;={{}}()]*?[ *&>]({NAME})\(", re.M)
DEFINED = re.compile(rf"^(?!using|namespace|static|struct|class|enum|extern|typedef|inline|constexpr|template|#|//|\}})"
                     rf"[A-Za-z_\[][^;={{}}()\n]*?(?:^|[ *&>])((?:\w+::)*(?:{NAME}))\(", re.M)


def without_comments(text):
    text = re.sub(r"//[^\n]*", "", text)
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    return re.sub(r'R"(\w*)\(.*?\)\1"', '""', text, flags=re.S)


def without_unnamed_namespaces(text):
    # clang-format ends each with this comment, so comments must still be there.
    return re.sub(r"^namespace \{$.*?^\}  // namespace$", "", text, flags=re.M | re.S)


def problems(source, trees):
    classes, functions = collections.defaultdict(set), collections.defaultdict(set)
    for tree in TREES:
        for path in (source / tree).rglob("*.h"):
            text = without_comments(path.read_text())
            name = path.relative_to(source).as_posix()
            for match in CLASS.finditer(text):
                classes[match.group(1)].add(name)
            for match in DECLARED.finditer(text):
                functions[match.group(1)].add(name)
    count, found = 0, []
    for tree in trees:
        for path in sorted((source / tree).rglob("*.cpp")):
            name = path.relative_to(source).as_posix()
            text = path.read_text()
            own = name[:-len("cpp")] + "h"
            included = set(re.findall(r'^#include "([^"]+)"', text, re.M))
            for match in DEFINED.finditer(without_comments(without_unnamed_namespaces(text))):
                what = match.group(1)
                first, *rest = what.split("::")
                declared = classes[first] if rest else functions[first]
                declared = {one for one in declared if one in included or one == own}
                count += own in declared
                if declared and own not in declared:
                    found.append(f"{name}: defines {what}, which {', '.join(sorted(declared))} declares")
    return count, found


def main():
    source = pathlib.Path(sys.argv[2])
    trees = sys.argv[3:] or HELD
    count, found = problems(source, trees)
    assert count > 100  # it reads what it claims to read
    for line in sorted(set(found)):
        print(line)
    sys.exit(1 if found else 0)


main()
