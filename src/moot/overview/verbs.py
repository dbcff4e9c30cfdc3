"""watch: everything at a glance, once or as it changes. It writes nothing, nor does it count as a sign of life."""

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

_ROUND = 2.0  # seconds between looks at what no event announces: silence, and answers that are late
_LEAST = ("events",)  # sections that a snapshot shows only the beginning of
_SOME = 10


class ProblemChange(Record):
    """A problem that was not there before, or is not any more."""

    problem: OverviewProblem
    gone: bool = False


def watch(call: Call, once: bool, follow: bool) -> Answer:  # noqa: ARG001 (without a terminal, once is all there is)
    found = overview(call)
    if not follow:
        return Answer(result=found, say=tuple(told(found)))
    return Answer(result=[found], say=tuple(told(found)), more=_following(call, found))


def told(found: Overview) -> Iterator[str]:
    """A snapshot as plain lines."""
    yield _plain(headline(found))
    for pane in panes(found):
        if not pane.lines and not pane.urgent:
            continue
        yield ""
        yield pane.title
        shown = pane.lines[:_SOME] if pane.name in _LEAST else pane.lines
        yield from (f"  {_plain(pieces)}" for pieces in shown)


def _plain(pieces: tuple[tuple[str, str], ...]) -> str:
    return "".join(text for text, _ in pieces).rstrip()


def _following(call: Call, found: Overview) -> Iterator[Answer]:
    """A line per change, without end: events, and problems that come and go."""
    known = _problems(found)
    after, trouble, recent = found.position, None, Recent()
    while True:
        try:
            for events in call.engine.log.follow(after, timeout=_ROUND):
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


def _problems(found: Overview) -> dict[tuple[str, str], OverviewProblem]:
    return {(problem.code, problem.about): problem for problem in found.problems}


def _changes(
    before: dict[tuple[str, str], OverviewProblem], now: dict[tuple[str, str], OverviewProblem]
) -> Iterator[Answer]:
    for key, problem in now.items():
        if key not in before:
            yield Answer(
                result=ProblemChange(problem), say=(one_line(f"problem: {problem.message} → {problem.remedy}", 500),)
            )
    for key, problem in before.items():
        if key not in now:
            yield Answer(result=ProblemChange(problem, gone=True), say=(one_line(f"no more: {problem.message}", 500),))


VERBS = (
    Verb(
        "watch",
        "Everything at a glance: problems, what needs you, agents, tasks, claims, mail, events.",
        watch,
        kind="look",
        params=(
            Param("once", "Say it once and end, also at a terminal.", type="flag"),
            Param("follow", "Plain lines: everything once, then a line for each change.", type="flag"),
        ),
        examples=("moot watch", "moot watch --once", "moot watch --follow"),
        detail=(
            "At a terminal it is live: a change is seen at once, what is wrong stands first. Keys: 1 to 7 show one "
            "section alone, arrows and pages scroll it, 0 shows all again, q leaves. Without a terminal it is said "
            "once. It writes nothing, and whoever watches does not count as present."
        ),
        writes=False,
        quiet=True,
    ),
)
