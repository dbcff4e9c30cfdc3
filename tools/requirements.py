"""Prints how much of each protocol is proven, from the report of the last whole test run.

Exits with 1 if a requirement is open, a mark is not valid, a pinned requirement changed, or the report is missing or
older than the tree. `make test` writes the report.
"""

from __future__ import annotations

import argparse
import signal
import sys
import textwrap
from collections import Counter
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.kit.ledger import (
    Ledger,
    Verdict,
    differences,
    judge,
    pin_requirements,
    read_pins,
    read_report,
    read_requirements,
    tree_digest,
)
from tests.specs.ledger import HERE, PINS, read, renew_pins

STATES = ("proven", "deferred", "not run here", "open")
LISTS = {"open": "open", "deferred": "deferred", "proven": "proven", "not-run": "not run here", "taken-back": ""}


def table(ledger: Ledger, verdict: Verdict) -> None:
    """One row for each protocol, one for the promises."""
    groups: dict[str, list[str]] = {}
    for name, requirement in ledger.requirements.items():
        groups.setdefault(requirement.group, []).append(name)
    protocols = [name for group, names in groups.items() if group != "promises" for name in names]
    for title, names in [*groups.items(), ("all protocols", protocols)]:
        states = Counter(verdict.states[name] for name in names)
        counts = "  ".join(f"{state} {states[state]:>3}" for state in STATES)
        print(f"{title:<18}{len(names):>4}  {counts}  taken back {len(ledger.clauses.keys() & set(names)):>2}")
    print("\nTaken back: proven, except for a clause that scope.toml names. LIST=taken-back prints them.")


def listing(ledger: Ledger, verdict: Verdict, which: str) -> None:
    """The requirements of one kind with their text, and with the reason or the tests."""
    for name, requirement in ledger.requirements.items():
        if (name not in ledger.clauses) if which == "taken-back" else (verdict.states[name] != LISTS[which]):
            continue
        print(textwrap.fill(f"{name}  {requirement.must}", 118, subsequent_indent="    "))
        notes = [f"deferred: {ledger.deferred[name]}"] if which == "deferred" else []
        notes += [f"except: {ledger.clauses[name]}"] if name in ledger.clauses else []
        notes += [f"by {test}" for test in verdict.proofs.get(name, [])] if which == "proven" else []
        for note in notes:
            print(textwrap.fill(note, 118, initial_indent="    ", subsequent_indent="      ", break_on_hyphens=False))
        print()


def compare(folder: Path) -> int:
    """Name what differs between the requirement files of another folder and those of this tree."""
    lines = differences(pin_requirements(folder), pin_requirements(HERE / "requirements"))
    theirs, ours = read_requirements(folder), read_requirements(HERE / "requirements")
    for line in lines:
        print(line)
        name = line.partition(": ")[2].partition(" was ")[0]
        for title, found in (("there", theirs), ("here", ours)):
            if name in found:
                print(
                    textwrap.fill(
                        f"{title}: {found[name].must}", 118, initial_indent="    ", subsequent_indent="      "
                    )
                )
    print(f"{len(lines)} differences from {folder}")
    return 1 if lines else 0


def pin() -> int:
    """Renew the pins, and print what changed since they were written."""
    before = read_pins(PINS) if PINS.exists() else {}
    for line in differences(before, read().pinned):
        print(line)
    renew_pins()
    return 0


def state(which: str | None, place: Path | None) -> int:
    """Print what the last whole run proved."""
    ledger = replace(read(), report=place) if place else read()
    report = read_report(ledger)
    tree, outcomes = report or ("", [])
    verdict = judge(ledger, outcomes)
    notes = []
    if report is None:
        notes = ["There is no report of a whole test run, so nothing counts as proven. `make test` writes one."]
    elif tree != tree_digest(ledger):
        notes = ["The report is older than the tree: files changed since that run. `make test` writes a new one."]
    if which:
        listing(ledger, verdict, which)
    else:
        table(ledger, verdict)
        for title, lines in verdict.failing().items() if report else ():
            print(f"\n{title}:", *lines, sep="\n  ")
        for line in verdict.not_run_here:
            print(f"not run here: {line}")
    for note in notes:
        print(f"\n{note}", file=sys.stderr)
    return 1 if notes or verdict.failing() else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", choices=LISTS, help="name the requirements of this kind")
    parser.add_argument("--from", dest="folder", type=Path, help="compare the requirement files with those of a folder")
    parser.add_argument("--report", type=Path, help="a report from elsewhere, instead of build/requirements.json")
    parser.add_argument("--pin", action="store_true", help="renew the pins, after a look at what changed")
    chosen = parser.parse_args()
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # ends quietly under `| head`
    if chosen.pin:
        return pin()
    return compare(chosen.folder) if chosen.folder else state(chosen.list, chosen.report)


if __name__ == "__main__":
    sys.exit(main())
