"""Weighs the code: statements of the syntax tree per room of src and tests.

tools/weight.py               the rooms, their ceilings, and what else lies below src
tools/weight.py --base REV    and the change since a commit
tools/weight.py --files 20    and the heaviest files
tools/weight.py --check       fail if a room is above its ceiling in tools/weights.toml, or has none
tools/weight.py --lower       lower each ceiling to what its room weighs now

Line breaks, comments and docstrings weigh nothing, so dense code saves nothing. Syntax-tree nodes per statement show
whether the statements grew instead, and the lines of other files whether code moved there. A room is a package of
src/moot (of packs/, each pack) or a folder of tests. Ceilings only fall: to raise one takes a line in an ADR that says
why. A room that replaces another starts with the budget of its own, and stands beside the old one until that is gone.
"""

from __future__ import annotations

import argparse
import ast
import subprocess
import tomllib
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CEILINGS = ROOT / "tools" / "weights.toml"
HEAD = """\
# The most statements that each room may have; `make weight` prints what it has. Ceilings only fall
# (tools/weight.py --lower). To raise one takes a line in docs/decisions/0028-ceilings.md that says why.
"""

Weights = dict[str, Counter[str]]


def git(*words: str) -> str:
    return subprocess.run(["git", "-C", str(ROOT), *words], check=True, capture_output=True, text=True).stdout


def room(path: str) -> tuple[str, str]:
    """The half of the house (src or tests) and the room that a file belongs to."""
    half, *folders = path.split("/")[:-1]
    folders = folders[1:] if half == "src" else folders
    return half, "/".join(folders[: 2 if folders[:1] == ["packs"] else 1]) or "(top)"


def weighed(sources: dict[str, str]) -> tuple[Weights, Counter[str], float]:
    """Statements per room and per file, and nodes per statement."""
    rooms: Weights = {"src": Counter(), "tests": Counter()}
    files: Counter[str] = Counter()
    nodes = 0
    for path, text in sources.items():
        half, name = room(path)
        for node in ast.walk(ast.parse(text)):
            nodes += isinstance(node, ast.stmt | ast.expr)
            docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            if isinstance(node, ast.stmt) and not docstring:
                rooms[half][name] += 1
                files[path] += 1
    return rooms, files, nodes / max(1, files.total())


def here() -> list[str]:
    """What git tracks or would add, and is there."""
    listed = git("ls-files", "-co", "--exclude-standard", "src", "tests").splitlines()
    return [path for path in listed if (ROOT / path).is_file()]


def at(revision: str) -> dict[str, str]:
    paths = git("ls-tree", "-r", "--name-only", revision, "src", "tests").splitlines()
    return {path: git("show", f"{revision}:{path}") for path in paths if path.endswith(".py")}


def other_lines(paths: list[str]) -> Counter[str]:
    """Lines of what is not Python below src, by kind of file."""
    lines: Counter[str] = Counter()
    for path in paths:
        if path.startswith("src/") and not path.endswith(".py"):
            lines[Path(path).suffix.lstrip(".") or Path(path).name] += (ROOT / path).read_bytes().count(b"\n")
    return lines


def read_ceilings() -> dict[str, dict[str, int]]:
    return tomllib.loads(CEILINGS.read_text(encoding="utf-8")) if CEILINGS.exists() else {"src": {}, "tests": {}}


def offences(rooms: Weights, ceilings: dict[str, dict[str, int]]) -> list[str]:
    found = []
    for half, weights in rooms.items():
        limits = ceilings[half]
        for name, weight in weights.items():
            if name not in limits:
                found.append(f"{half} {name} has {weight} statements and no ceiling in tools/weights.toml")
            elif weight > limits[name]:
                found.append(f"{half} {name} has {weight} statements; its ceiling is {limits[name]}")
        found += [f"{half} {name} is gone; remove its ceiling" for name in limits.keys() - weights.keys()]
    return found


def lower(rooms: Weights, ceilings: dict[str, dict[str, int]]) -> None:
    text = HEAD
    for half, weights in rooms.items():
        limits = {name: min(weight, ceilings[half].get(name, weight)) for name, weight in weights.items()}
        text += f"\n[{half}]\n" + "".join(f'"{name}" = {limit}\n' for name, limit in sorted(limits.items()))
    CEILINGS.write_text(text, encoding="utf-8")


def table(rooms: Weights, earlier: Weights, ceilings: dict[str, dict[str, int]], base: str | None) -> None:
    for half, weights in rooms.items():
        names = sorted(weights.keys() | earlier.get(half, {}).keys(), key=lambda name: -weights[name])
        for name in [*names, ""]:
            now, limit = (weights[name], ceilings[half].get(name)) if name else (weights.total(), None)
            before = (earlier[half][name] if name else earlier[half].total()) if base else now
            change = f"{now - before:+8}" if base else ""
            print(f"{now:8}{change}  {f'of {limit}' if limit else '':<9}  {half} {name or 'in all'}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", metavar="REV")
    parser.add_argument("--files", type=int, default=0, metavar="N")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--lower", action="store_true")
    options = parser.parse_args()
    paths = here()
    sources = {path: (ROOT / path).read_text(encoding="utf-8") for path in paths if path.endswith(".py")}
    rooms, files, density = weighed(sources)
    ceilings = read_ceilings()
    if options.lower:
        lower(rooms, ceilings)
        return 0
    if options.check:
        found = offences(rooms, ceilings)
        print("\n".join(found), end="\n" if found else "")
        return 1 if found else 0
    table(rooms, weighed(at(options.base))[0] if options.base else {}, ceilings, options.base)
    others = ", ".join(f"{count} {kind}" for kind, count in other_lines(paths).most_common())
    print(f"{density:8.2f}  nodes per statement; lines of other files below src: {others}")
    for path, weight in files.most_common(options.files):
        print(f"{weight:8}  {path}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
