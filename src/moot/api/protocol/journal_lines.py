"""The lines of a pack's journal: one for each event. A pack can add to them (`Protocol.lines`)."""

from __future__ import annotations

from moot.core.pack_code import PackCode
from moot.core.principal import label
from moot.core.text import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from moot.api.protocol import Packs
    from moot.engine.unit_of_work import Work
    from moot.views.journal import Happening
    from moot.views.store import Store

INFO, WARN, ERROR = LEVELS = ("INFO", "WARN", "ERROR")
_LEVELS = {
    "entry:held": WARN,
    "file:quarantined": ERROR,
    "task:flagged": WARN,
    "task:rejected": WARN,
    "task:failed": WARN,
    "task:lapsed": WARN,
}
MOOT = "moot"  # who wrote a note: then it is a line like that of an event
_WIDTH = 4000
_DOUBT = "approved_although"  # a flag of an approval


def lines_of(packs: Packs, pack: str, store: Store, happened: Iterable[Happening]) -> list[Sequence[str]]:
    """The lines for each of these events of a pack."""
    for protocol in packs.having("lines"):
        if protocol.pack.name == pack:
            with PackCode(pack, "lines"):
                return [protocol.lines(store, one) for one in happened]
    return [(line_of(one),) for one in happened]


def line_of(happened: Happening) -> str:
    """An event as a line: its time, its level, its task, who did it, and its sentence."""
    doubtful = happened.type == "task:approved" and _DOUBT in happened.text
    level = WARN if doubtful else _LEVELS.get(happened.type, INFO)
    return noted(happened.at, level, f"{_about(happened)}{happened.text}")


def note(work: Work, pack: str, level: str, text: str) -> None:
    """Add a line of moot itself to the journal of a pack, for what no other event says."""
    from moot.core.deciders.feed import NoteInFeed

    work.do("feed", pack, NoteInFeed(text=f"{level} {one_line(text, _WIDTH)}", who=MOOT))


def noted(at: str, level: str, text: str) -> str:
    return f"[{at}] [{level}] {text}"


def _about(happened: Happening) -> str:
    who = "" if happened.who == MOOT else label(happened.who.removeprefix("role:").removeprefix("person:"))
    words = ", ".join(one_line(word, 200) for word in (happened.task, who) if word)
    return f"{words}: " if words else ""


def time_in(line: str) -> str | None:
    """The time of a line that moot may have written; None for other lines."""
    if not line.startswith("["):
        return None
    at, _, rest = line[1:].partition("] [")
    return at if rest.startswith(tuple(f"{level}] " for level in LEVELS)) else None
