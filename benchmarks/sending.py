"""Compares a durable send (validated, projected) with a bare insert, and with its own rows written by hand.

First with one process, then with thirty that write at the same time. Each variant has its own files on the same disk.
"""

from __future__ import annotations

import multiprocessing
import random
import time
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import apsw
import by_hand
import workspaces
from common import Rounds, Row, interleaved, timed

from moot import MootError, Workspace
from moot.views.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection

    from common import Size, Spread
    from workspaces import Stage

TEXT = "The parser is on main. " * 8 + "All tests pass. "  # 200 bytes
CROWD = 30
VARIANTS = ("moot", "bare", "hand")
GOALS = {"bare": ">= 0.4", "hand": ">= 0.7"}
AGAINST = {"bare": "a bare INSERT of its 200 bytes", "hand": "its own rows, written by hand"}
LONGEST = "< 5"  # seconds that a send of one of thirty processes may take; moot gives up after 30
_BURST = 4
_PATIENCE = 120.0


class Field(NamedTuple):
    """Where the variants write."""

    repository: str
    directory: str

    @classmethod
    def make(cls, directory: str) -> Field:
        field = cls(workspaces.make(f"{directory}/repository"), f"{directory}/by-hand")
        for name in (workspaces.SENDER, workspaces.OTHER):
            with Workspace(field.repository, agent=name) as ws:
                ws.join(name)
        by_hand.create(field.directory)
        return field


def measure(stage: Stage) -> list[Row]:
    field = Field.make(stage.room("sending"))
    return [*_alone(field, stage.size), *_crowd(field, stage.size)]


# --- one process ------------------------------------------------------------------------------------------------------


def _alone(field: Field, size: Size) -> list[Row]:
    with ExitStack() as opened:
        bare = opened.enter_context(closing(by_hand.Bare(field.directory)))
        hand = opened.enter_context(closing(by_hand.ByHand(field.directory)))
        disk = opened.enter_context(closing(by_hand.Disk(field.directory)))
        ws = opened.enter_context(Workspace(field.repository, agent=workspaces.SENDER, incarnation=1))
        acts: dict[str, Callable[[], object]] = {
            "moot": lambda: ws.send(workspaces.OTHER, TEXT),
            "bare": lambda: bare.send(TEXT),
            "hand": lambda: hand.send(TEXT),
            "disk": disk.write,
        }
        for act in acts.values():
            act()
        _check_rows(field)
        if size.seconds:  # warm up: fill each write-ahead log once, because it is overwritten from then on
            timed(acts["moot"], 400)()
            hand.hurry(TEXT, 400)
            bare.hurry(TEXT, 1200)
        rounds = interleaved({name: timed(act, _BURST) for name, act in acts.items()}, size.seconds, size.least)
    return [_compared("send.one", other, rounds.ratio(other, "moot"), _costs(rounds, other)) for other in AGAINST]


def _costs(rounds: Rounds, other: str) -> str:
    whole = rounds.total(other) / rounds.total("moot")
    ours, theirs, disk = (rounds.median(name) * 1e6 for name in ("moot", other, "disk"))
    return (
        f"{ours:,.0f} µs against {theirs:,.0f} µs, of which the disk takes {disk:,.0f} µs; "
        f"ratio of the totals {whole:.2f}"
    )


def _compared(name: str, other: str, ratio: Spread, figures: str) -> Row:
    note = f"Speed of a send against {AGAINST[other]}: {figures}; {ratio}."
    return Row(f"{name}.against_{other}", ratio.median, f"x speed of {other}", GOALS[other], note)


def _check_rows(field: Field) -> None:
    """Raise if the rows written by hand differ from moot's: the comparison would be worthless."""
    state = f"{field.repository}/.git/moot"
    views = f"{state}/views-{Store.version}.db"
    if different := by_hand.differences(f"{state}/log.db", views, field.directory):
        raise RuntimeError(f"by_hand.py no longer writes the rows of a send: {', '.join(different)} differ")


# --- thirty processes -------------------------------------------------------------------------------------------------


class Written(NamedTuple):
    """What one writer did in one round."""

    done: int
    longest: float
    errors: tuple[str, ...]


def _crowd(field: Field, size: Size) -> list[Row]:
    rounds = Rounds()
    written: dict[str, list[Written]] = {name: [] for name in VARIANTS}
    with Crowd(field) as crowd:
        for _ in range(size.crowd_rounds):
            for name in random.sample(VARIANTS, len(VARIANTS)):
                results = crowd.run(name, size.crowd_seconds)
                written[name] += results
                rounds.add(name, size.crowd_seconds / max(1, sum(result.done for result in results)))
    figures = (
        f"Stored sends of {CROWD} processes together. There is no queue: each decides, appends and projects while it "
        f"holds the writer lock. Sends per process and round: {_shares(written['moot'])}."
    )
    rows = [Row(f"send.{CROWD}.per_second", 1 / rounds.median("moot"), "sends a second", None, figures)]
    for other in AGAINST:
        ours, theirs = (1 / rounds.median(name) for name in ("moot", other))
        figures = f"{ours:,.0f} a second against {theirs:,.0f}, by {CROWD} processes at once"
        rows.append(_compared(f"send.{CROWD}", other, rounds.ratio(other, "moot"), figures))
    return [*rows, *_troubles(written, size)]


def _shares(results: list[Written]) -> str:
    """How evenly the sends were spread over the processes."""
    done = sorted(result.done for result in results)
    return f"minimum {done[0]}, median {done[len(done) // 2]}, maximum {done[-1]}"


def _troubles(written: dict[str, list[Written]], size: Size) -> list[Row]:
    errors = {name: [error for result in results for error in result.errors] for name, results in written.items()}
    others = ", ".join(f"{name}: {len(errors[name])}" for name in AGAINST)
    first = f" The first: {errors['moot'][0]}" if errors["moot"] else ""
    rows = [Row(f"send.{CROWD}.errors", len(errors["moot"]), "errors", "== 0", f"Errors of moot. {others}.{first}")]
    for name, results in written.items():
        longest = max(result.longest for result in results)
        sends = sum(result.done for result in results)
        note = f"The slowest of {sends:,} sends, in rounds of {size.crowd_seconds:g} s."
        rows.append(Row(f"send.{CROWD}.longest_wait.{name}", longest, "s", LONGEST if name == "moot" else None, note))
    return rows


class Crowd:
    """Thirty processes that have everything open. The context manager ends them.

    The parent process must have no database open: SQLite does not survive a fork.
    """

    def __init__(self, field: Field) -> None:
        context = multiprocessing.get_context(
            "fork"
        )  # starting thirty interpreters would take longer than the measurement
        self._pipes: list[Connection[Any, Any]] = []
        self._processes = []
        for _ in range(CROWD):
            ours, theirs = context.Pipe()
            process = context.Process(target=_write, args=(theirs, field), daemon=True)
            process.start()
            theirs.close()
            self._pipes.append(ours)
            self._processes.append(process)

    def __enter__(self) -> Self:
        for pipe in self._pipes:
            _heard(pipe)
        return self

    def run(self, variant: str, seconds: float) -> list[Written]:
        start = time.monotonic() + 0.1
        for pipe in self._pipes:
            pipe.send((variant, start, start + seconds))
        return [_heard(pipe) for pipe in self._pipes]

    def __exit__(self, *_: object) -> None:
        for pipe in self._pipes:
            pipe.send(None)
        for process in self._processes:
            process.join(10)
            process.kill()


def _heard(pipe: Connection[Any, Any]) -> Any:
    if not pipe.poll(_PATIENCE):
        raise TimeoutError("a writer does not answer")
    return pipe.recv()


def _write(pipe: Connection[Any, Any], field: Field) -> None:
    """The main function of one of the thirty processes."""
    bare, hand = by_hand.Bare(field.directory), by_hand.ByHand(field.directory)
    ws = Workspace(field.repository, agent=workspaces.SENDER)
    acts: dict[str, Callable[[], object]] = {
        "moot": lambda: ws.send(workspaces.OTHER, TEXT),
        "bare": lambda: bare.send_in_crowd(TEXT),
        "hand": lambda: hand.send(TEXT),
    }
    for act in acts.values():
        act()
    pipe.send("ready")
    while (order := pipe.recv()) is not None:
        variant, start, end = order
        time.sleep(max(0.0, start - time.monotonic()))
        pipe.send(_until(end, acts[variant]))


def _until(end: float, act: Callable[[], object]) -> Written:
    done, longest, errors = 0, 0.0, []
    while (start := time.monotonic()) < end:
        try:
            act()
        except (MootError, apsw.Error) as error:
            errors.append(f"{type(error).__name__}: {error}")
        now = time.monotonic()
        longest = max(longest, now - start)
        done += now <= end
    return Written(done, longest, tuple(errors))
