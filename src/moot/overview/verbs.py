"""watch: an overview. It writes nothing, and it does not count as a sign of life."""

from __future__ import annotations

from moot.api.answer import Answer
from moot.api.catalogue import Param, Verb
from moot.overview import overview
from moot.overview.panes import headline, panes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from moot.api.call import Call
    from moot.overview import Overview
    from moot.overview.panes import Line

_EVENTS = 10  # events that are shown


def watch(call: Call, once: bool) -> Answer:  # noqa: ARG001 (only the terminal's watch differs)
    found = overview(call)
    return Answer(result=found, say=tuple(_snapshot(found)))


def _snapshot(found: Overview) -> Iterator[str]:
    """The overview as plain lines."""
    yield _plain(headline(found))
    for pane in panes(found):
        if not pane.lines and not pane.urgent:
            continue
        yield ""
        yield pane.title
        shown = pane.lines[:_EVENTS] if pane.name == "events" else pane.lines
        yield from (f"  {_plain(pieces)}" for pieces in shown)


def _plain(pieces: Line) -> str:
    return "".join(text for text, _ in pieces).rstrip()


VERBS = (
    Verb(
        "watch",
        "Show everything at a glance: problems, what needs you, agents, tasks, claims, mail, events.",
        watch,
        kind="look",
        params=(Param("once", "Print it once and exit, also at a terminal.", type="flag"),),
        examples=("moot watch", "moot watch --once"),
        detail=(
            "At a terminal it is live, with problems at the top; `q` exits. A pack can add a section. Without a "
            "terminal it prints everything once. `moot log --follow` prints events as they come. It writes nothing, "
            "and watching does not count as a sign of life."
        ),
        writes=False,
        quiet=True,
    ),
)
