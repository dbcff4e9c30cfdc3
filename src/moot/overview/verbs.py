"""watch: an overview, once or with every change. It writes nothing, and it does not count as a sign of life."""

from __future__ import annotations

import time

from moot.api.answer import Answer
from moot.api.catalogue import Param, Verb
from moot.api.explain import line
from moot.api.verbs.events import PAUSE, in_trouble
from moot.core.errors import Unavailable
from moot.core.record import Record
from moot.core.text import one_line
from moot.overview import overview
from moot.overview.panes import headline, panes
from moot.overview.recent import Recent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from moot.api.call import Call
    from moot.overview import Overview, OverviewProblem
    from moot.overview.panes import Line

    Problems = dict[tuple[str, str], OverviewProblem]

_TICK = 2.0  # seconds between reads of what no event announces: silence and late answers
_EVENTS = 10  # events that are shown once


class ProblemChange(Record):
    """A problem that is new, or gone."""

    problem: OverviewProblem
    gone: bool = False


def watch(call: Call, once: bool, follow: bool) -> Answer:  # noqa: ARG001 (only the terminal's watch differs)
    found = overview(call)
    if not follow:
        return Answer(result=found, say=tuple(_snapshot(found)))
    return Answer(result=[found], say=tuple(_snapshot(found)), more=_following(call, found))


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


def _following(call: Call, found: Overview) -> Iterator[Answer]:
    """A line for each event and for each problem that comes or goes, endlessly."""
    known = _problems(found)
    after, trouble, recent = found.position, None, Recent()
    while True:
        try:
            for events in call.engine.log.follow(after, timeout=_TICK):
                after = events[-1].position
                for event in events:
                    yield Answer(result=event, say=(line(event),))
                break
            found = overview(call, recent)
            now = _problems(found)
            yield from _changes(known, now)
            known, trouble = now, None
        except Unavailable as error:
            if trouble != error.code:
                yield Answer(result=None, warnings=(in_trouble(error),))
            trouble = error.code
            time.sleep(PAUSE)


def _problems(found: Overview) -> Problems:
    return {(problem.code, problem.about): problem for problem in found.problems}


def _changes(before: Problems, now: Problems) -> Iterator[Answer]:
    for key, problem in now.items():
        if key not in before:
            yield Answer(
                result=ProblemChange(problem), say=(one_line(f"problem: {problem.message} → {problem.remedy}", 500),)
            )
    for key, problem in before.items():
        if key not in now:
            yield Answer(result=ProblemChange(problem, gone=True), say=(one_line(f"resolved: {problem.message}", 500),))


VERBS = (
    Verb(
        "watch",
        "Show everything at a glance: problems, what needs you, agents, tasks, claims, mail, events.",
        watch,
        kind="look",
        params=(
            Param("once", "Print it once and exit, also at a terminal.", type="flag"),
            Param("follow", "Print it once, then a line for each change.", type="flag"),
        ),
        examples=("moot watch", "moot watch --once", "moot watch --follow"),
        detail=(
            "At a terminal it is live, with problems at the top. A pack can add a section. Keys: a section's "
            "number shows it alone, arrow and page keys scroll it, 0 shows all sections, q exits. Without a terminal "
            "it prints everything once. It writes nothing, and watching does not count as a sign of life."
        ),
        writes=False,
        quiet=True,
    ),
)
