"""Events of the gsd pack: how many survive when many processes emit at once, and what one costs beside the file recipe.

The recipes are those of the protocol: its shell step (jq) and its JavaScript emitter (node). See `raw_emitters`.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from typing import TYPE_CHECKING, Any

import raw_emitters
import starting
import workspaces
from common import Row, interleaved

from moot import Workspace
from moot.packs.gsd.methods import Blackboard

if TYPE_CHECKING:
    from collections.abc import Callable

    from common import Rounds
    from raw_emitters import Race
    from workspaces import Stage

_FEW = 10  # events in the small file
_ROUNDS = 15


def measure(stage: Stage) -> list[Row]:
    if gone := raw_emitters.missing():
        return [Row("emit.races", None, "events", None, f"{gone} is not installed.")]
    return [*_races(stage), *_costs(stage)]


# --- races ------------------------------------------------------------------------------------------------------------


def _races(stage: Stage) -> list[Row]:
    rows = []
    for number in stage.size.emitters:
        for recipe in ("jq", "node"):
            rows += [_alone(stage, recipe, number), _watched(stage, recipe, number), _own(stage, recipe, number)]
        root = workspaces.make(f"{stage.room(f'emit-moot-{number}')}/moot", packs=("gsd",))
        race = raw_emitters.with_moot([root], "moot", number, watched=False)
        _check(race)
        said = f"{number} processes call `moot gsd emit` at once. {_looks(race)}"
        rows.append(Row(f"emit.moot.{number}", race.kept, "events", f"== {number}", said))
    return rows


def _alone(stage: Stage, recipe: str, number: int) -> Row:
    race = raw_emitters.alone(stage.room(f"emit-{recipe}-alone-{number}"), recipe, number)
    end = "" if race.valid_at_end else " At the end it was not valid JSON."
    said = (
        f"{number} processes run the recipe ({recipe}) at once, without moot: events in the file. {_looks(race)}{end}"
    )
    return Row(f"emit.{recipe}.alone.{number}", race.kept, "events", None, said)


def _watched(stage: Stage, recipe: str, number: int) -> Row:
    root = workspaces.make(f"{stage.room(f'emit-{recipe}-watched-{number}')}/moot", packs=("gsd",))
    race = raw_emitters.with_moot([root], recipe, number)
    _check(race, torn=True)
    said = (
        f"The same while `moot mirror --watch` runs: events in the log, and in the file again. {_looks(race)} What the "
        "recipes overwrite before moot reads it is lost; what moot has seen stays."
    )
    return Row(f"emit.{recipe}.watched.{number}", race.kept, "events", None, said)


def _own(stage: Stage, recipe: str, number: int) -> Row:
    place = f"{stage.room(f'emit-{recipe}-own-{number}')}/moot"
    root = workspaces.make(place, packs=("gsd",), worktrees=number)
    race = raw_emitters.with_moot([f"{root}-{index}" for index in range(number)], recipe, number)
    _check(race, torn=True)
    said = f"The same with a worktree for each process. {_looks(race)}"
    return Row(f"emit.{recipe}.own.{number}", race.kept, "events", f"== {number}", said)


def _check(race: Race, *, torn: bool = False) -> None:
    """`torn`: whether other programs may have torn the file. moot itself never does."""
    if race.invalid and not torn:
        raise RuntimeError(f"a file that only moot writes was invalid: {race}")
    if not (race.in_step and race.valid_at_end and race.lost_again == 0):
        raise RuntimeError(f"an event that moot had seen was lost: {race}")


def _looks(race: Race) -> str:
    return f"A reader found the file invalid in {race.invalid} of {race.looks} looks."


# --- costs ------------------------------------------------------------------------------------------------------------


def _costs(stage: Stage) -> list[Row]:
    least = max(3, min(stage.size.least, _ROUNDS))
    boards = {count: Emitter(stage, count) for count in (_FEW, stage.size.small, stage.size.shown)}
    few, some, many = boards.values()
    variants: dict[str, Callable[[], float]] = {}
    for count, board in boards.items():
        variants |= {f"cli {count}": board.by_command, f"api {count}": board.by_api, f"jq {count}": board.by_recipe}
    rounds = interleaved(variants, stage.size.seconds, least)
    for board in boards.values():
        board.close()
    growth = rounds.ratio(f"cli {many.count}", f"cli {few.count}")
    inside = rounds.ratio(f"api {many.count}", f"api {few.count}")
    rows = [
        Row(
            "emit.growth",
            growth.median,
            "x",
            "< 3",
            f"`moot gsd emit` with {many.count} events in the file, against {few.count}; {growth}.",
        ),
        Row("emit.api.growth", inside.median, "x", None, f"The same from Python, in an open workspace; {inside}."),
    ]
    for board in (some, many):
        api = rounds.ratio(f"api {board.count}", f"jq {board.count}")
        cli = rounds.ratio(f"cli {board.count}", f"jq {board.count}")
        size = "some" if board is some else "many"
        rows += [
            Row(
                f"emit.api.against_recipe.{size}",
                api.median,
                "x",
                "<= 1",
                f"One event from Python, against the shell step, with {board.count} events in the file; {api}.",
            ),
            Row(
                f"emit.cli.against_recipe.{size}",
                cli.median,
                "x",
                "<= 1",
                f"The same for the command, which starts an interpreter ({_ms(rounds, 'cli', board)}, the shell step "
                f"{_ms(rounds, 'jq', board)}); {cli}.",
            ),
        ]
    return rows


def _ms(rounds: Rounds, way: str, board: Emitter) -> str:
    return f"{rounds.median(f'{way} {board.count}') * 1e3:.0f} ms"


class Emitter:
    """A workspace and a plain directory whose files have this many events, and ways to add one."""

    def __init__(self, stage: Stage, count: int) -> None:
        self.count = count
        room = stage.room(f"emit-of-{count}")
        self._root, self._alone = workspaces.make(f"{room}/moot"), f"{room}/alone"
        for root in (self._root, self._alone):
            _write(root, [_event(number) for number in range(count)])
        self._ws = Workspace.init(self._root, packs=("gsd",), person=True)
        self._board = self._ws.pack(Blackboard)
        self._task = 0
        self._script = starting.script(room)

    def close(self) -> None:
        self._ws.close()

    def by_api(self) -> float:
        event = {**_event(self._next()), "plan": "98-01"}
        return _timed(lambda: self._board.emit(event))

    def by_command(self) -> float:
        fields = ["agent=gsd-executor", "plan=97-01", f"task={self._next()}", "probe=x"]
        words = [self._script, "gsd", "emit", "probe:sent", *fields]
        return _timed(lambda: subprocess.run(words, cwd=self._root, check=True, stdout=subprocess.DEVNULL))

    def by_recipe(self) -> float:
        env = {**os.environ, "PLAN": "96-01", "TASK_NUM": str(self._next()), "TASK_NAME": "x"}
        words = ["bash", os.path.join(raw_emitters.HERE, "step.sh")]
        return _timed(lambda: subprocess.run(words, cwd=self._alone, env=env, check=True))

    def _next(self) -> int:
        self._task += 1
        return self._task


def _timed(act: Callable[[], object]) -> float:
    start = time.perf_counter()
    act()
    return time.perf_counter() - start


def _event(number: int) -> dict[str, Any]:
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    plan = f"{1 + number // 500:02d}-01"
    return {"type": "probe:sent", "agent": "gsd-executor", "plan": plan, "task": 1 + number % 500, "timestamp": now}


def _write(root: str, events: list[dict[str, Any]]) -> None:
    path = os.path.join(root, raw_emitters.FILE)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(f"{path}.draft", "w", encoding="utf-8") as file:
        json.dump({"events": events, "lastEventId": len(events), "retentionPolicy": "24h"}, file, indent=2)
    os.rename(f"{path}.draft", path)
