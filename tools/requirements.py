"""Prints how much of each protocol is proven, deferred and open. `--list open|deferred|proven` names them."""

from __future__ import annotations

import argparse
import signal
import sys
import textwrap
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.specs.ledger import Ledger


def table(ledger: Ledger) -> None:
    """One row per protocol."""
    specs = sorted({(requirement.spec, requirement.pack) for requirement in ledger.requirements.values()})
    for number, pack in specs:
        row(f"S{number} {pack}", ledger, {name for name in ledger.requirements if name.startswith(f"S{number}-")})
    row("all", ledger, set(ledger.requirements))
    named = sum(n in ledger.marks.promise for n in ledger.promises)
    print(
        f"\n{'promises':<18}{len(ledger.promises):>4}  with a test {named}  deferred {len(ledger.deferred_promises)}"
        f"  open {len(ledger.open_promises)}"
    )


def row(title: str, ledger: Ledger, names: set[str]) -> None:
    proven = names & ledger.proven.keys()
    deferred = names & ledger.deferred.keys() - proven
    partly = len(proven & ledger.clauses.keys())
    print(
        f"{title:<18}{len(names):>4}  proven {len(proven):>3}  (with a deferred clause {partly:>2})"
        f"  deferred {len(deferred):>3}  open {len(names - proven - deferred):>3}"
    )


def listing(ledger: Ledger, which: str) -> None:
    """The requirements of one kind with their text, and with the reason or the tests."""
    for name in {"open": ledger.open, "deferred": ledger.deferred, "proven": ledger.proven}[which]:
        print(textwrap.fill(f"{name}  {ledger.requirements[name].must}", 118, subsequent_indent="    "))
        notes = [f"deferred: {ledger.deferred[name]}"] if which == "deferred" else []
        if which == "proven":
            notes = [f"except: {ledger.clauses[name]}"] if name in ledger.clauses else []
            notes += [f"by {test}" for test in ledger.proven[name]]
        for note in notes:
            print(textwrap.fill(note, 118, initial_indent="    ", subsequent_indent="      ", break_on_hyphens=False))
        print()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", choices=["open", "deferred", "proven"], help="name the requirements of this kind")
    which = parser.parse_args().list
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # ends quietly under `| head`
    ledger = Ledger.read()
    if which:
        listing(ledger, which)
    else:
        table(ledger)
    return 0


if __name__ == "__main__":
    sys.exit(main())
