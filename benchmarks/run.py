"""Runs all benchmarks. Prints a table, and writes `results.json`.

    python benchmarks/run.py            everything, in some minutes
    python benchmarks/run.py --quick    the same with less data, within a minute

Times are given as ratios between variants that were measured side by side. Do not compare times of two runs or two
machines. The files are in `build/`: the directory for temporary files is often in memory, where a flush is free.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
import time

import absorbing
import apsw
import carrying
import common
import emitting
import following
import growing
import looking
import mailboxes
import million
import noticing
import parsing
import sending
import staging
import starting
import teaming
import watching
from workspaces import Stage

import moot
from moot.core.identity import AGENTS_SHELLS

HERE = os.path.dirname(os.path.abspath(__file__))
PARTS = {
    "sending": sending.measure,
    "starting": starting.measure,
    "staging": staging.measure,
    "watching": watching.measure,
    "following": following.measure,
    "growing": growing.measure,
    "looking": looking.measure,
    "million": million.measure,
    "mailboxes": mailboxes.measure,
    "noticing": noticing.measure,
    "carrying": carrying.measure,
    "emitting": emitting.measure,
    "absorbing": absorbing.measure,
    "parsing": parsing.measure,
    "teaming": teaming.measure,
}
SIZES = {size.name: size for size in (common.FULL, common.QUICK, common.SMOKE)}


def main() -> None:
    asked = _arguments()
    for name in [*os.environ]:
        if name.startswith("MOOT_") or name in (*AGENTS_SHELLS, "PYTHONDONTWRITEBYTECODE"):
            del os.environ[name]  # the caller and its settings must not change the results
    os.environ["MOOT_PERSON"] = "1"
    os.makedirs(asked.directory, exist_ok=True)
    start, rows = time.monotonic(), []
    print(_head(asked.size))
    with tempfile.TemporaryDirectory(prefix="bench-", dir=asked.directory) as directory:
        stage = Stage(directory, SIZES[asked.size])
        for part in asked.only or PARTS:
            print(f"\n{part}")
            for row in PARTS[part](stage):
                print(*common.lines(row), sep="\n", flush=True)
                rows.append(row)
    missed = [row.name for row in rows if row.holds is False]
    held = sum(row.holds is True for row in rows)
    print(f"\n{held} goals met, {len(missed)} missed{': ' if missed else ''}{', '.join(missed)}")
    for row in rows:
        if row.value is None:
            print(f"NOT MEASURED: {row.name}: {row.note}")
    print(f"{time.monotonic() - start:.0f} s")
    if asked.output or not asked.only:
        common.write(rows, asked.output or os.path.join(HERE, "results.json"))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=SIZES, default="full", help="smoke runs everything once, for tests")
    parser.add_argument(
        "--quick", dest="size", action="store_const", const="quick", default="full", help="--size quick"
    )
    parser.add_argument("--only", choices=PARTS, action="append", help="run one part (repeatable)")
    parser.add_argument("--output", help="the JSON file (default for a complete run: benchmarks/results.json)")
    parser.add_argument(
        "--directory",
        default=os.path.join(os.path.dirname(HERE), "build"),
        help="a directory on the disk to measure (default: build/)",
    )
    return parser.parse_args()


def _head(size: str) -> str:
    parts = (
        f"moot {moot.__version__}",
        f"{platform.python_implementation()} {platform.python_version()}",
        f"SQLite {apsw.sqlite_lib_version()}",
        f"{len(os.sched_getaffinity(0)) if sys.platform == 'linux' else os.cpu_count()} cores",
        f"load {os.getloadavg()[0]:.1f}",
        f"{platform.system()} {platform.machine()}",
        f"size {size}",
    )
    return ", ".join(parts)


if __name__ == "__main__":
    main()
