"""Runs small faults ("mutants") of the core and the engine against their tests, and names those that no test notices.

tools/mutants.py                      run those of tests/mutants.toml
tools/mutants.py --draw 80 --seed 7   draw new ones from the present code into tests/mutants.toml
tools/mutants.py --record             also note in tests/mutants.toml which of them survive

A mutant names a function, one line of it, and the line that replaces it. It runs in a copy of the tree: first
tests/core, then tests/engine, then tests/logs, until a test fails. A mutant whose line is gone from its function is
left out. Exits with 1 if a mutant survives that is not marked `survives = true`.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "tests" / "mutants.toml"
ROOMS = ("core", "engine")
STAGES = ("tests/core", "tests/engine", "tests/logs")
SECONDS = 600
SWAPS = {
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Lt: (" < ", " <= "),
    ast.LtE: (" <= ", " < "),
    ast.Gt: (" > ", " >= "),
    ast.GtE: (" >= ", " > "),
    ast.Is: (" is ", " is not "),
    ast.IsNot: (" is not ", " is "),
    ast.In: (" in ", " not in "),
    ast.NotIn: (" not in ", " in "),
    ast.And: (" and ", " or "),
    ast.Or: (" or ", " and "),
    ast.Add: (" + ", " - "),
    ast.Sub: (" - ", " + "),
}
HEAD = """\
# Small faults of the core and the engine, drawn at random with a seed. `make mutants` checks that a test notices each.
# Those marked `survives = true` change nothing that a test of these three folders can see.
"""

Mutant = dict[str, Any]


def functions(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    """Functions and methods by their qualified names."""

    def below(node: ast.AST, prefix: str) -> Iterator[tuple[str, ast.AST]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                yield prefix + child.name, child
            elif isinstance(child, ast.ClassDef):
                yield from below(child, f"{prefix}{child.name}.")

    yield from below(tree, "")


def place(text: str, function: str, line: str) -> int | None:
    """The index of the line in the file, if the function has it once."""
    lines = text.split("\n")
    for name, node in functions(ast.parse(text)):
        if name == function:
            span = range(node.lineno - 1, node.end_lineno or node.lineno)  # type: ignore[attr-defined]
            at = [n for n in span if lines[n].strip() == line]
            return at[0] if len(at) == 1 else None
    return None


def swaps(node: ast.AST) -> Iterator[tuple[str, str]]:
    """What a node's text may be replaced with."""
    operators = node.ops if isinstance(node, ast.Compare) else [getattr(node, "op", None)]
    for operator in operators:
        if operator is not None and type(operator) in SWAPS:
            yield SWAPS[type(operator)]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "not ", ""
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield str(node.value), str(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int):
        yield str(node.value), str(node.value + 1)


def candidates(file: Path) -> Iterator[Mutant]:
    """All mutants of one file that change one line by one operator or constant."""
    text = file.read_text(encoding="utf-8")
    lines = text.split("\n")
    for name, function in functions(ast.parse(text)):
        for node in ast.walk(function):
            if not isinstance(node, ast.expr) or node.lineno != node.end_lineno:
                continue
            line = lines[node.lineno - 1]
            segment = line[node.col_offset : node.end_col_offset]
            for old, new in swaps(node):
                if segment.count(old) == 1 and place(text, name, line.strip()) is not None:
                    changed = line[: node.col_offset] + segment.replace(old, new) + line[node.end_col_offset :]
                    module = file.relative_to(ROOT / "src" / "moot").as_posix()
                    yield {"file": module, "function": name, "old": line.strip(), "new": changed.strip()}


def draw(count: int, seed: int) -> list[Mutant]:
    """A sample over both rooms; at most one for each line."""
    files = [file for room in ROOMS for file in sorted((ROOT / "src" / "moot" / room).rglob("*.py"))]
    found = [mutant for file in files for mutant in candidates(file)]
    random.Random(seed).shuffle(found)  # a sample that can be drawn again
    chosen: dict[tuple[str, str, str], Mutant] = {}
    for mutant in found:
        chosen.setdefault((mutant["file"], mutant["function"], mutant["old"]), mutant)
    return sorted(list(chosen.values())[:count], key=lambda one: (one["file"], one["function"]))


def write(mutants: list[Mutant]) -> None:
    def quoted(value: object) -> str:
        return "true" if value is True else "'''" + str(value) + "'''" if '"' in str(value) else f'"{value}"'

    tables = ["".join(f"{key} = {quoted(value)}\n" for key, value in mutant.items()) for mutant in mutants]
    LIST.write_text(HEAD + "".join(f"\n[[mutant]]\n{table}" for table in tables), encoding="utf-8")


def located(mutant: Mutant) -> tuple[Path, int] | None:
    """Where the line is now: in its file, or in another one that has the function."""
    package = ROOT / "src" / "moot"
    for file in [package / mutant["file"], *sorted(package.rglob("*.py"))]:
        if file.exists():
            at = place(file.read_text(encoding="utf-8"), mutant["function"], mutant["old"])
            if at is not None:
                return file.relative_to(ROOT), at
    return None


def copied(folder: Path) -> None:
    """Copy what git tracks or would add."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    for name in filter(os.path.isfile, listed.stdout.splitlines()):
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(name, target)


def failing(folder: Path, stages: Sequence[str] = STAGES) -> str:
    """The first of these folders with a test that fails; empty if all pass."""
    environment = os.environ | {"PYTHONPATH": str(folder / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    for stage in stages:
        command = [sys.executable, "-m", "pytest", "-qx", "-n0", "-p", "no:cacheprovider"]
        command += [f"--basetemp={folder / 'tmp'}", stage]
        try:
            ran = subprocess.run(
                command,
                check=False,
                cwd=folder,
                env=environment,
                capture_output=True,
                timeout=SECONDS,
                preexec_fn=lambda: signal.signal(
                    signal.SIGINT, signal.default_int_handler
                ),  # ignored in background jobs
            )
        except subprocess.TimeoutExpired:
            return f"{stage} (no end)"
        if ran.returncode != 0:
            (folder / "failure").write_bytes(ran.stdout)
            return stage
    return ""


def killed_by(mutant: Mutant, file: Path, at: int) -> str:
    """The folder whose tests notice the mutant; empty if none does."""
    with tempfile.TemporaryDirectory(prefix="mutant") as name:
        folder = Path(name)
        copied(folder)
        target = folder / file
        lines = target.read_text(encoding="utf-8").split("\n")
        lines[at] = lines[at].replace(mutant["old"], mutant["new"])
        target.write_text("\n".join(lines), encoding="utf-8")
        return failing(folder)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draw", type=int, metavar="N")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--record", action="store_true", help="note the survivors in tests/mutants.toml")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1))
    options = parser.parse_args()
    if options.draw:
        write(draw(options.draw, options.seed))
        return 0
    mutants = tomllib.loads(LIST.read_text(encoding="utf-8"))["mutant"]

    os.chdir(ROOT)
    with tempfile.TemporaryDirectory(prefix="mutant") as name:
        copied(Path(name))
        if broken := failing(Path(name)):
            print((Path(name) / "failure").read_text(), f"{broken} fails without any mutant; repair that first")
            return 2

    def judged(mutant: Mutant) -> str:
        found = located(mutant)
        if found is None:
            return "gone"
        return killed_by(mutant, *found) or "survives"

    tally: dict[str, int] = {}
    surprises = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        for mutant, verdict in zip(mutants, pool.map(judged, mutants), strict=True):
            tally[verdict] = tally.get(verdict, 0) + 1
            new = verdict == "survives" and not mutant.get("survives")
            surprises += new
            if options.record:
                mutant.pop("survives", None)
                mutant.update({"survives": True} if verdict == "survives" else {})
            print(
                f"{verdict:<16}{'NEW ' if new else ''}{mutant['file']} {mutant['function']}: {mutant['new']}",
                flush=True,
            )
    if options.record:
        write(mutants)
    print("; ".join(f"{verdict} {count}" for verdict, count in sorted(tally.items())))
    return 1 if surprises and not options.record else 0


if __name__ == "__main__":
    raise SystemExit(main())
