"""The options of `moot rspec cover` and `moot rspec resume`."""

from __future__ import annotations

from moot.core.errors import Usage
from moot.core.record import Record
from moot.packs.rspec.isolation import LEVELS

SKIP, ABORT = GATE = ("skip", "abort")


class CoverOptions(Record):
    """What the caller wants. `limit`: how many documents of a wave may run at once; 0: as the settings say."""

    limit: int = 0
    level: str = ""  # for methods whose level is unclear
    existing: str = ""  # for blocks that only a person may replace
    gate: str = ""  # the answer at a wave gate
    again: bool = False
    output: bool = False
    keep: bool = False  # what was written into spec files while a stage that failed ran


def options_of(
    limit: int | None,
    level: str | None,
    existing: str | None,
    gate: str | None,
    *,
    keep: bool = False,
    output: bool = False,
) -> CoverOptions:
    """The options of a verb. Raises for a word that is not a choice."""
    for name, given, choices in (
        ("level", level, LEVELS),
        ("existing", existing, ("overwrite",)),
        ("gate", gate, GATE),
    ):
        if given and given not in choices:
            raise Usage("bad_choice", f"--{name}: {given[:80]!r} is not a choice.", f"Use {', '.join(choices)}.")
    if limit is not None and limit < 1:
        raise Usage("bad_limit", "--limit must be at least 1.", "For example: --limit 4")
    return CoverOptions(limit or 0, level or "", existing or "", gate or "", output=output, keep=keep)
