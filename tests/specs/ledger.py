"""moot's own ledger: the requirement files, what scope.toml says about them, and the promises of ARCHITECTURE.md.

`tests/kit/ledger.py` judges it. tests/conftest.py keeps it in every whole run; `make requirements` prints it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.kit.ledger import Ledger, Pins, Requirement, pin_requirements, pin_table, read_requirements, write_pins

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PINS = HERE / "pins.toml"
WATCHED = ("src", "tests", "pyproject.toml", "ARCHITECTURE.md", "tools/packages")
PINS_COMMENT = """\
Digests of every requirement, promise, deferral, clause and surface. A change of any of them fails the tests until this
file is renewed with tools/requirements.py --pin, which prints what changed."""


def read() -> Ledger:
    return ledger_of(tomllib.loads((HERE / "scope.toml").read_text(encoding="utf-8")))


def ledger_of(scope: dict[str, Any], root: Path = ROOT) -> Ledger:
    """The ledger that a scope describes."""
    promises = read_promises((ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8"))
    requirements = {**read_requirements(HERE / "requirements"), **promises}
    table = dict(_deferrals(scope))
    deferrals = {name: found for name in requirements if (found := table.get(name) or table.get(_protocol(name)))}
    return Ledger(
        root=ROOT,
        requirements=requirements,
        tests=ROOT / "tests",
        deferred={name: str(entry["why"] if isinstance(entry, dict) else entry) for name, entry in deferrals.items()},
        clauses=scope["clause"],
        packages=programs((ROOT / "tools" / "packages").read_text(encoding="utf-8")),
        watched=WATCHED,
        report=ROOT / "build" / "requirements.json",
        pins=PINS,
        pinned=pins_of(scope, promises),
        defects=[*strays(scope, requirements), *unreasoned(scope), *built(scope, root)],
    )


def pins_of(scope: dict[str, Any], promises: Mapping[str, Requirement]) -> Pins:
    """What is pinned: the requirement files, the promises, and what the scope takes back."""
    return {
        **pin_requirements(HERE / "requirements"),
        "promises": pin_table({name: promise.must for name, promise in promises.items()}),
        "deferrals": pin_table(dict(_deferrals(scope))),
        "clauses": pin_table(scope["clause"]),
        "surfaces": pin_table(scope["surface"]),
    }


def renew_pins() -> None:
    write_pins(PINS, read().pinned, PINS_COMMENT)


def read_promises(text: str) -> dict[str, Requirement]:
    """The promises of ARCHITECTURE.md: the numbered rows of its table."""
    rows = re.findall(r"^\| (\d+) \| (.+?) \|", text, re.MULTILINE)
    return {f"promise {n}": Requirement(f"promise {n}", "promises", must) for n, must in rows}


def programs(script: str) -> set[str]:
    """The programs that tools/packages installs: the only ones without which a test may be skipped."""
    wanted = re.search(r'^wanted="(.*)"$', script, re.MULTILINE)
    return {pair.partition(":")[0] for pair in wanted[1].split()} if wanted else set()


def strays(scope: dict[str, Any], known: Mapping[str, Requirement]) -> Iterator[str]:
    """Entries that name no requirement, and protocols that are in scope and deferred, or neither."""
    deferred = dict(_deferrals(scope))
    wanted = {f"{name}-*" for name in scope["in_scope"]["protocols"]}
    protocols = {_protocol(name) for name in known if not name.startswith("promise ")}
    for name in [*scope["clause"], *(name for name in deferred if name not in protocols)]:
        if name not in known:
            yield f"{name} is in no requirement file (only a whole protocol may be written S1-*)"
    for name in sorted(wanted - protocols):
        yield f"no requirement begins with {name[:-1]}"
    for name in sorted(protocols):
        if name in wanted and name in deferred:
            yield f"{name} is in scope and deferred"
        if name not in wanted and name not in deferred:
            yield f"{name} is neither in scope nor deferred"
    for name in deferred:
        if name in known and _protocol(name) in deferred:
            yield f"{name} is deferred twice: {_protocol(name)} is deferred, too"


def unreasoned(scope: dict[str, Any]) -> Iterator[str]:
    """Deferrals and clauses without a sentence, or without a surface of the closed list."""
    for name, entry in _deferrals(scope):
        if not isinstance(entry, dict) or entry.keys() != {"needs", "why"}:
            yield f"{name} needs exactly `needs` and `why`"
        elif entry["needs"] not in scope["surface"]:
            yield f"{name} needs {entry['needs']}, which is not in the list [surface]"
    reasons = [(name, entry.get("why", "")) for name, entry in _deferrals(scope) if isinstance(entry, dict)]
    for name, reason in [*reasons, *scope["clause"].items()]:
        if len(reason) < 20 or not reason.endswith("."):
            yield f"{name} gives no reason in a sentence"


def built(scope: dict[str, Any], root: Path = ROOT) -> Iterator[str]:
    """Deferrals that wait for something that is there."""
    for name, entry in _deferrals(scope):
        surface = entry.get("needs", "") if isinstance(entry, dict) else ""
        sign = scope["surface"].get(surface, {})
        folder, place = root / "src" / "moot" / "surfaces" / surface, root / sign.get("path", "-")
        there = place.exists() and ("text" not in sign or sign["text"] in place.read_text(encoding="utf-8"))
        if there or (surface and folder.exists()):
            yield f"{name} is deferred until there is {surface}, and that is there"


def _deferrals(scope: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    yield from scope["deferred"].items()
    yield from ((f"promise {n}", entry) for n, entry in scope["promises"]["deferred"].items())


def _protocol(name: str) -> str:
    """`S1-*` for any requirement of that protocol."""
    return f"{name.partition('-')[0]}-*"
