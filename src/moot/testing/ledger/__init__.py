"""Ties requirements to the tests that prove them, and fails a run in which a requirement is not proven.

Call `keep` in `pytest_configure`. A test names what it proves with `@pytest.mark.proves("D-1")`, and proves it by
passing. See `verdict` for when a requirement is proven, `checks` for what a test must do, `recorder` for which runs are
judged.
"""

from __future__ import annotations

from pathlib import Path  # noqa: TID253 (only tests load this package)

from moot.testing.ledger.requirements import Requirement, pin_requirements, read_requirements, write_pins
from moot.testing.ledger.verdict import Ledger

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    import pytest

__all__ = ["Ledger", "Requirement", "keep", "pin", "read"]

REPORT = "build/requirements.json"


def keep(config: pytest.Config, read: Callable[[], Ledger]) -> None:
    """Judge the whole runs of a test suite. `read` is called only for these."""
    from moot.testing.ledger.recorder import Recorder

    config.addinivalue_line("markers", "proves(*ids): the requirements that this test proves")
    config.pluginmanager.register(Recorder(config, read), "moot-ledger")


def read(
    root: str | Path,
    requirements: str = "requirements.toml",
    *,
    tests: str = "tests",
    deferred: Mapping[str, str] | None = None,
    pins: str | None = None,
    packages: Collection[str] = (),
) -> Ledger:
    """The ledger of a project. Paths are relative to its root.

    `requirements` is a file (`[spec]` with `number` and `pack`; `[[requirement]]` with `id` and `must`) or a folder of
    them. `deferred` gives a reason for each id that is not proven yet. `pins` is a file written by `pin`. A test may be
    skipped without one of the programs in `packages`, with the reason "NAME is not installed".
    """
    base = Path(root).resolve()
    known = read_requirements(base / requirements)
    return Ledger(
        root=base,
        requirements=known,
        tests=base / tests,
        deferred=deferred or {},
        packages=packages,
        watched=(requirements, tests, "src", *([pins] if pins else [])),
        report=base / REPORT,
        pins=base / pins if pins else None,
        pinned=pin_requirements(base / requirements),
        defects=[f"{name} is deferred, but is not a requirement" for name in deferred or {} if name not in known],
    )


def pin(root: str | Path, requirements: str, pins: str) -> None:
    """Write down the present requirements, so that a later change of them is noticed."""
    comment = "Digests of the requirements. A changed requirement fails the tests until this file is renewed."
    write_pins(Path(root, pins), pin_requirements(Path(root, requirements)), comment)
