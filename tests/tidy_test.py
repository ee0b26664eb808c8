#!/usr/bin/env python3
"""Rules of the house that a machine can check: layers, third-party names, formatting, marks left behind."""
import pathlib
import re
import shutil
import subprocess
import sys

ALLOWED = {
    "runtime": set(),
    "topology": {"runtime"},
    "compress": {"runtime"},
    "cuda": {"runtime", "compress"},
    "gossip": {"runtime", "topology", "compress"},
    "apps": {"runtime", "topology", "compress", "cuda", "gossip"},
    "tests": {"runtime", "topology", "compress", "cuda", "gossip", "apps"},
}
SOURCES = {".h", ".cc", ".cu", ".cuh"}
# Third-party headers, and the only files that may include them.
THIRD_PARTY = {
    r"<uv\.h>": r"runtime/(loop/uv_|transport/uv_|transport/ucx_|status/)|tests/runtime/",
    r"<uc[pst]/": r"runtime/transport/ucx_|tests/runtime/",
    r"<nlohmann/": r"runtime/base/json\.cc",
    r"<microhttpd\.h>": r"runtime/status/",
    r"<CLI/": r"apps/hobnob/main(_topology|_codec)?\.cc",
    r"<cblas\.h>": r"apps/models/|runtime/compute/",
    r"<zlib\.h>": r"apps/data/|tests/apps/",
}


# Every peer must come to the same plan: no float, clock or library hash in what decides one.
PLANS = re.compile(r"topology/((?!rate_)\w+_schedule|trie|plan_parts|position_schedule|schedule|graph|graph_kinds|hashed_graphs|"
                   r"member_set|view|kinds)\.(h|cc)")
UNPLANNED = r"\b(double|float|std::hash|chrono|random_device|mt19937)\b"


def check_file(root, path):
    name = path.relative_to(root).as_posix()
    top = name.split("/")[0]
    for number, line in enumerate(path.read_text().splitlines(), 1):
        where = f"{name}:{number}"
        own = re.match(r'#include "(\w+)/', line)
        if own and own[1] in ALLOWED and own[1] != top and own[1] not in ALLOWED[top]:
            yield f"{where}: {top} must not include {own[1]}"
        for header, places in THIRD_PARTY.items():
            if re.match(r"#include " + header, line) and not re.match(places, name):
                yield f"{where}: {line.strip()} does not belong here"
        if re.search(r"\b(FIXME|XXX)\b|TODO(?!\((perf|port|test|api)\))", line):
            yield f"{where}: a mark without its kind; write TODO(perf|port|test|api): text"
        if PLANS.fullmatch(name) and re.search(UNPLANNED, line.split("//")[0]):
            yield f"{where}: plans are made of integers only"
        if re.search(r"\b(sleep_for|sleep_until|usleep|nanosleep)\b", line):
            yield f"{where}: sleeps; use an executor's timer"


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    files = sorted(p for top in ALLOWED for p in (root / top).rglob("*") if p.suffix in SOURCES)
    problems = [problem for path in files for problem in check_file(root, path)]
    formatter = shutil.which("clang-format")
    if formatter is None:
        problems.append("the formatting check needs clang-format; apt-get install clang-format")
    else:
        run = subprocess.run([formatter, "--dry-run", "-Werror", *map(str, files)], capture_output=True, text=True)
        problems += [line for line in run.stderr.splitlines() if "error:" in line]
    print("\n".join(problems))
    print(f"{len(files)} files, {len(problems)} problems")
    return 1 if problems or not files else 0


if __name__ == "__main__":
    sys.exit(main())
