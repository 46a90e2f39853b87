#!/usr/bin/env python3
"""What the compiler made of each kernel for sm_90: machine_code.py BERT_CUDA_SO [--nvcc NVCC]

Compares registers, wide memory operations and sizes with tests/golden/machine_code, a table for each nvcc;
BB_UPDATE_GOLDEN=1 writes the table anew. Rules that need no table hold with every nvcc. Ends with 77 (skipped)
where there is no disassembler (BB_CUDA_TOOLS names a folder with cuobjdump and nvdisasm) or no table.
"""

import argparse
import fnmatch
import glob
import os
import pathlib
import re
import shutil
import site
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
TABLES = ROOT / "tests/golden/machine_code"
ARCHITECTURE = "sm_90"
SKIPPED = 77

# Stack bytes that a kernel may have. Every other kernel keeps all of its values in registers.
LOCAL_MEMORY = {
    "reduce_partials_kernel": 56,  # one of the arguments' pointers, chosen by an index
}

# Kernels whose time is that of their memory traffic, and that were slow once when the compiler had taken their
# stores apart. norm_backward's fourth argument: the width is a multiple of 64.
WIDE_STORES = ("norm_backward_kernel<*, true, *>", "flash_*_kernel<*>", "whole_head_kernel<*>", "gelu_forward_kernel<*>",
               "column_sums_kernel<*>", "cast_fp8_kernel<*>")

# The functions of the compiler that divide integers of 64 bits, which no instruction does.
DIVISION = r"__cuda_sm\d+_(?:div|rem)_[su]64"

COLUMNS = ("registers", "threads", "shared", "blocks", "stack", "local", "LDG.128", "STG.128", "LDGSTS.128", "LDSM",
           "HMMA", "instructions", "loop", "inner")

HEADER = """\
# What nvcc {version} made of each kernel for sm_90. BB_UPDATE_GOLDEN=1 on machine_code.py rewrites it.
# shared: bytes of static shared memory; blocks: how many a multiprocessor holds, dynamic shared memory left out;
# stack: bytes a thread; local: loads and stores of it; LDG.128, STG.128: loads and stores of 16 bytes, LDGSTS.128:
# copies of 16 bytes into shared memory; LDSM: ldmatrix; HMMA: mma; instructions: without padding; loop: the longest;
# inner: the longest within it.
"""


def skip(reason):
    print("skipped: " + reason)
    sys.exit(SKIPPED)


def find_tools(nvcc):
    """The first cuobjdump that is found, and a PATH by which it finds nvdisasm, which it starts."""
    next_to_nvcc = os.path.dirname(os.path.realpath(nvcc)) if nvcc else None
    wheels = "nvidia/*/bin"
    folders = [os.environ.get("BB_CUDA_TOOLS"), next_to_nvcc, *os.environ.get("PATH", "").split(os.pathsep),
               "/usr/local/cuda/bin", *glob.glob(str(ROOT / "build/cuda_tools" / wheels))]
    for packages in [*site.getsitepackages(), site.getusersitepackages()]:
        folders += glob.glob(os.path.join(packages, wheels))
    path = os.pathsep.join(folder for folder in folders if folder)
    tools = [shutil.which(name, path=path) for name in ("cuobjdump", "nvdisasm")]
    for name, tool in zip(("cuobjdump", "nvdisasm"), tools):
        if tool is None:
            skip(f"no {name} (folders searched: BB_CUDA_TOOLS, nvcc's, PATH, build/cuda_tools, python3's packages)")
    return tools[0], os.pathsep.join(os.path.dirname(tool) for tool in tools)


def readable(symbol):
    """_ZN4bert4cuda39_GLOBAL__N__<hash>4nameI13__nv_bfloat16Li2ELb1EEE... -> name<bf16, 2, true>

    The types are those that kernels here have as template arguments. The anonymous namespace is left out, as its
    hash changes with the path of the source."""
    builtin = {"f": "float", "d": "double", "i": "int", "j": "unsigned", "l": "long", "m": "unsigned long"}
    short = {"__nv_bfloat16": "bf16", "__half": "fp16"}
    rest = symbol
    seen = []  # what S_, S0_, S1_ ... stand for

    def take(pattern):
        nonlocal rest
        match = re.match(pattern, rest)
        if match:
            rest = rest[match.end():]
        return match

    def name():
        nonlocal rest
        length = int(take(r"\d+")[0])
        text, rest = rest[:length], rest[length:]
        return text

    def argument():
        if match := take(r"Lb([01])E"):
            return "true" if match[1] == "1" else "false"
        if match := take(r"L[a-z](n?)(\d+)E"):
            return ("-" if match[1] else "") + match[2]
        if take(r"LN(?:S\d*_)?"):  # a number of an enumeration
            while re.match(r"\d", rest):
                seen.append(name())
            return take(r"E(\d+)E")[1]
        if match := take(r"S(\d*)_"):
            return seen[int(match[1]) + 1 if match[1] else 0]
        if match := take(r"[fdijlm]"):
            return builtin[match[0]]
        if re.match(r"\d", rest):
            text = name()
            seen.append(short.get(text, text))
            return seen[-1]
        raise ValueError(f"machine_code.py cannot read the name {symbol}, from {rest}")

    if not take("_ZN"):
        raise ValueError(f"machine_code.py cannot read the name {symbol}")
    text = ""
    while re.match(r"\d", rest):
        text = name()
        seen.append(text)
    if not take("I"):
        return text
    arguments = []
    while not take("E"):
        arguments.append(argument())
    return f"{text}<{', '.join(arguments)}>"


def blocks_of(registers, threads, shared):
    """Blocks that one multiprocessor of sm_90 holds at a time."""
    warps = -(-threads // 32)
    registers_of_warp = -(-registers * 32 // 256) * 256
    # Each quarter of a multiprocessor has a quarter of the registers and whole warps.
    by_registers = 65536 // 4 // registers_of_warp * 4 // warps
    by_shared = 228 * 1024 // (-(-(shared + 1024) // 128) * 128)
    return min(by_registers, by_shared, 2048 // (warps * 32), 32)


def counts(code):
    """Of a kernel's instructions, as pairs of address and text."""
    operations = []
    loops = []
    for address, text in code:
        operation = re.sub(r"^@\S+\s+", "", text).split()[0]
        if operation == "NOP":
            continue
        operations.append(operation)
        # A loop ends with a branch back under a condition. One without comes from code that was put after the
        # kernel's end and returns into its middle; the last instruction of all branches to itself.
        branch = re.match(r"@\S+\s+BRA\b.*?0x([0-9a-f]+)$", text)
        if branch and int(branch[1], 16) <= address:
            loops.append((int(branch[1], 16), address))

    def size(loop):
        return (loop[1] - loop[0]) // 16 + 1

    longest = max(loops, key=size, default=None)
    within = [loop for loop in loops if loop != longest and longest[0] <= loop[0] and loop[1] <= longest[1]]

    def number(pattern):
        return sum(bool(re.match(pattern, operation)) for operation in operations)

    wide = r"\.(.*\.)?128\b"
    return {"local": number(r"(LDL|STL)\b"), "LDG.128": number("LDG" + wide), "STG.128": number("STG" + wide),
            "LDGSTS.128": number("LDGSTS" + wide), "LDSM": number(r"LDSM\b"), "HMMA": number(r"HMMA\b"),
            "instructions": len(operations), "loop": size(longest) if longest else 0,
            "inner": max(map(size, within), default=0)}


def read_kernels(tool, path, module):
    """({name: {column: number}}, the names of those that call a division of 64-bit integers, version of nvcc) of
    all kernels in module for the architecture."""

    def dump(*options):
        run = subprocess.run([tool, "-arch", ARCHITECTURE, *options, module], capture_output=True, text=True,
                             env={**os.environ, "PATH": path + os.pathsep + os.environ.get("PATH", "")})
        if run.returncode != 0:
            sys.exit(f"error: {tool} {' '.join(options)} ended with {run.returncode}: {run.stderr.strip()}")
        return run.stdout

    threads = {}
    versions = set()
    dividing = set()
    kernel_of = {}  # section of code -> kernel; each file of the module counts its own sections
    section = attribute = ""
    for line in dump("-elf").splitlines():
        if line == "Sections:":
            kernel_of = {}
        elif match := re.match(r"\s*0x[0-9a-f]+\s.*\s(0x[0-9a-f]+)\s+\.text\.(\S+)$", line):
            kernel_of[match[1]] = match[2]
        elif match := re.match(rf"\s*0x[0-9a-f]+\s.*\s(0x[0-9a-f]+)\s+\S*{DIVISION}$", line):
            dividing.add(kernel_of[match[1]])
        elif match := re.match(r"\.nv\.info\.(\S+)$", line):
            section = match[1]
        elif match := re.match(r"\s+Attribute:\s+(\S+)", line):
            attribute = match[1]
        elif attribute == "EIATTR_MAX_THREADS" and (match := re.match(r"\s+Value:\s+(\S+) (\S+) (\S+)", line)):
            threads[section] = int(match[1], 16) * int(match[2], 16) * int(match[3], 16)
        elif match := re.match(r"\s+Tool Version: .* V([\d.]+)", line):
            versions.add(match[1])

    resources = {}
    for match in re.finditer(r"Function (\S+):\s+REG:(\d+) STACK:(\d+) SHARED:(\d+)", dump("-res-usage")):
        # The linker has put the 1 KiB that the system keeps of a block's shared memory before a kernel's own.
        resources[match[1]] = (int(match[2]), int(match[3]), max(0, int(match[4]) - 1024))

    code = {}
    for line in dump("-sass").splitlines():
        if match := re.match(r"\s+Function : (\S+)", line):
            code[match[1]] = []
        elif match := re.match(r"\s+/\*([0-9a-f]+)\*/\s+(.*?)\s*;", line):
            code[list(code)[-1]].append((int(match[1], 16), match[2]))

    if not code or not code.keys() == resources.keys() == threads.keys():
        sys.exit(f"error: {tool} listed the code of {len(code)} kernels, the registers of {len(resources)}, the "
                 f"threads of {len(threads)}. It must be as new as nvcc; each kernel needs __launch_bounds__.")
    if len(versions) != 1:
        sys.exit(f"error: {module} is of more than one ptxas: {', '.join(sorted(versions)) or 'unknown'}")
    kernels = {}
    for symbol in code:
        name = readable(symbol)
        if name in kernels:
            sys.exit(f"error: two kernels are named {name}; the table needs names that differ")
        registers, stack, shared = resources[symbol]
        kernels[name] = {"registers": registers, "threads": threads[symbol], "shared": shared,
                         "blocks": blocks_of(registers, threads[symbol], shared), "stack": stack,
                         **counts(code[symbol])}
    return kernels, {readable(symbol) for symbol in dividing}, versions.pop()


def table_of(kernels, version):
    lines = [("kernel", *COLUMNS)]
    lines += [(name, *(str(kernels[name][column]) for column in COLUMNS)) for name in sorted(kernels)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    return HEADER.format(version=version) + "".join(
        "  ".join([line[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:]))]) + "\n"
        for line in lines)


def kernels_of(table):
    lines = [re.split(r"\s{2,}", line) for line in table.splitlines() if line and not line.startswith("#")]
    return {line[0]: dict(zip(lines[0][1:], map(int, line[1:]))) for line in lines[1:]}


def differences(before, after):
    """One line for each kernel that is new, gone or other than it was."""
    for name in sorted(before.keys() | after.keys()):
        if name not in after:
            yield f"{name}: gone"
        elif name not in before:
            yield f"{name}: new"
        else:
            changes = [f"{column} {before[name].get(column)} -> {after[name].get(column)}"
                       for column in {**before[name], **after[name]}
                       if before[name].get(column) != after[name].get(column)]
            if changes:
                yield f"{name}: {', '.join(changes)}"


def broken_rules(kernels, dividing):
    for name in sorted(dividing):
        yield (f"{name}: a division of 64-bit integers, a call of about 70 instructions: divide in 32 bits, or on the "
               "host")
    for name, kernel in sorted(kernels.items()):
        allowed = max((most for pattern, most in LOCAL_MEMORY.items() if fnmatch.fnmatchcase(name, pattern)), default=0)
        if kernel["stack"] > allowed or (kernel["local"] and not allowed):
            yield (f"{name}: {kernel['stack']} bytes of local memory a thread where {allowed} are allowed, "
                   f"{kernel['local']} loads and stores of it")
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in WIDE_STORES) and kernel["STG.128"] == 0:
            yield f"{name}: no store of 16 bytes (store_words() in device/numbers.h says what takes one apart)"
    for pattern in (*LOCAL_MEMORY, *WIDE_STORES):
        if not fnmatch.filter(kernels, pattern):
            yield f"{pattern}: no kernel has such a name; a rule of machine_code.py is about none"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("module")
    parser.add_argument("--nvcc", help="a disassembler next to it is taken first")
    arguments = parser.parse_args()
    kernels, dividing, version = read_kernels(*find_tools(arguments.nvcc), arguments.module)

    failures = list(broken_rules(kernels, dividing))
    table = table_of(kernels, version)
    golden = TABLES / f"{ARCHITECTURE}-nvcc-{version}.txt"
    if os.environ.get("BB_UPDATE_GOLDEN") is not None:
        golden.parent.mkdir(parents=True, exist_ok=True)
        golden.write_text(table)
    known = golden.exists()
    if known and golden.read_text() != table:
        changes = list(differences(kernels_of(golden.read_text()), kernels))
        failures += changes or ["the table's layout"]
        failures.append(f"{golden.relative_to(ROOT)} differs; BB_UPDATE_GOLDEN=1 stores the new table")
    if failures:
        print("\n".join(failures))
        sys.exit(1)
    if not known:
        tables = ", ".join(sorted(table.stem for table in TABLES.glob("*.txt")))
        skip(f"the rules hold; there is no table for nvcc {version} ({tables})")
    print(f"{len(kernels)} kernels are as {golden.relative_to(ROOT)} says")


if __name__ == "__main__":
    main()
