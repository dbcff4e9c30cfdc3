"""The verbs that the help desk brings: one that reads, one that speaks, and one that only people may use."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from moot.api.answer import Answer, Table
from moot.api.catalogue import KEY, Param, Verb
from moot.core.record import Record
from moot.views import queries

if TYPE_CHECKING:
    from moot.api.call import Call
    from moot.engine.unit_of_work import Work


class Tally(Record):
    """The number of cases in each state."""

    cases: dict[str, int]


def tally(call: Call, states: tuple[str, ...], fail: bool, follow: bool) -> Answer:
    if fail:
        raise KeyError("counter")
    found: dict[str, int] = {}
    for task in queries.tasks(call.engine.read(), ended=True):
        if not states or task.state in states:
            found[task.state] = found.get(task.state, 0) + 1
    rows = tuple((state, str(count)) for state, count in found.items())
    return Answer(
        result=[Tally(cases=found)] if follow else Tally(cases=found),
        say=tuple(f"{state}: {count}" for state, count in rows) or ("No cases.",),
        table=Table(columns=("state", "cases"), rows=rows, title="Cases"),
        more=_broken() if follow else None,
    )


def _broken() -> Iterator[Answer]:
    yield Answer(result=Tally(cases={}), say=("again",))
    raise KeyError("counter")


def open_(call: Call, counter: int) -> Answer:
    bound = call.packs.binding("desk:opened")
    assert bound is not None
    saying = call.packs.saying(call, bound, {"counter": counter}, kind="desk:opened")

    def act(work: Work) -> None:
        call.packs.hear(work, saying.replace(sender=call.actor(work)))

    call.commit(act)
    return Answer(result={"counter": counter}, say=(f"counter {counter} is open",))


def close(_call: Call) -> Answer:
    return Answer(result={"closed": True}, say=("closed",))


TALLY = Verb(
    "desk tally",
    "Count the cases in each state.",
    tally,
    kind="look",
    params=(
        Param("states", "Only these states.", positional=True, many=True, suggested=("asked", "closed")),
        Param("fail", "Fail, as code of a pack may.", type="flag"),
        Param("follow", "Keep counting, and fail.", type="flag"),
    ),
    examples=("moot desk tally", "moot desk tally asked"),
    writes=False,
)
OPEN = Verb(
    "desk open",
    "Open a counter.",
    open_,
    kind="speak",
    params=(Param("counter", "Its number.", type="int", positional=True, required=True), KEY),
    examples=("moot desk open 3",),
)
CLOSE = Verb("desk close", "Close the desk.", close, kind="person", params=(KEY,), examples=("moot desk close",))
