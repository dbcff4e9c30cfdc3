"""Verdicts that were recorded while the command of the lead or of the developer ran.

Such a verdict is not the review: at that moment the driver had not asked for one, and the command may have given it
itself, under any name. The log cannot tell a person at another terminal from a command that claims to be one, so a
person's verdict is reported, too; but only an agent's approval is taken back.
"""

from __future__ import annotations

from moot.core.kind import kind_of
from moot.core.principal import name_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from moot.core.deciders.run import Run
    from moot.core.event import Event
    from moot.log import Log

_PAGE = 500
_SAID = {"approve": "approved", "reject": "rejected"}


def early_verdict(log: Log, run: Run, stages: Container[str]) -> tuple[Event, str] | None:
    """The last verdict on the task of a run that was recorded while one of these stages ran, and the stage."""
    found, opened = None, 0
    moves = [event for event in _events(log, "task", str(run.task)) if is_verdict(event)]
    for event in _events(log, "run", run.id):
        if event.type == "run:started":
            opened = event.position
        elif opened and event.data.get("stage") in stages:
            found = _between(moves, opened, event) or found
            opened = 0
    return found


def is_verdict(event: Event) -> bool:
    """Whether the event of a task ends a review, or completes the task in another way."""
    return event.data.get("phase") == "done" or event.data.get("source") == "awaiting_review"


def said(event: Event, stage: str) -> str:
    """What happened, as a sentence without its full stop."""
    what = _SAID.get(str(event.data.get("verb")), "completed")
    through = f" through the {event.via}" if (event.via or "").startswith("file ") else ""
    return f"{name_of(event.by)} {what} it{through} (event {event.position}) while the command of {stage} ran"


def _between(moves: list[Event], first: int, end: Event) -> tuple[Event, str] | None:
    inside = [move for move in moves if first < move.position < end.position]
    return (inside[-1], str(end.data["stage"])) if inside else None


def _events(log: Log, of: str, name: str) -> Iterator[Event]:
    after, stream = 0, kind_of(of).stream(name)
    while events := log.read(after, _PAGE, stream):
        yield from events
        after = events[-1].position
