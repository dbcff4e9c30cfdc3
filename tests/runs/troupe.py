"""A driver of several agents at once, as small as it can be: `python -m tests.runs.troupe DIRECTORY MEMBER…`.

A member has finished when its file `NAME.done` exists, and is started until then, at most three times. One with a file
`NAME.stop` is asked to stop, with the grace time that stands in it. Prints a line for each turn that has ended.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from moot.api.verbs.runs.run import _commands, _driver, _setup
from moot.core.deciders.run import FAILED, INTERRUPTED, PASSED
from moot.core.identity import Caller
from moot.place.processes import interruptible
from moot.runs.crew import Crew, Turn
from moot.runs.drivers import DriveOptions, Driving
from moot.wiring import open_workspace

if TYPE_CHECKING:
    from collections.abc import Iterator

PACK, COMMAND = "orchestrator", "lead"
MOST = 3  # starts


def perform(root: Path, members: tuple[str, ...]) -> Iterator[str]:
    with (
        open_workspace(str(root), os.environ) as workspace,
        workspace.call(Caller(person=True, why="--person")) as call,
        interruptible(),
    ):
        commands = _commands(call, _driver(call, PACK))
        driving = Driving(_setup(call, PACK, commands, output=False), DriveOptions())
        with driving, Crew(driving) as crew:
            while True:
                head = call.engine.log.head()
                for ended in crew.ended():
                    done = (root / f"{ended.member}.done").exists()
                    how = PASSED if done else INTERRUPTED if ended.forced or ended.adopted else FAILED
                    crew.record(ended, how, ended.how)
                    yield f"{ended.member} {ended.tried.attempt} {how}{' forced' if ended.forced else ''}"
                waiting = [name for name in members if name not in crew.running]
                for name in waiting:
                    run = crew.run_of(name, "task-001", wave=1)
                    over = run.tries and (run.tries[-1].status == PASSED or len(run.tries) >= MOST)
                    if not over and not (root / f"{name}.stop").exists():
                        turn = Turn(
                            commands[COMMAND],
                            (root / "brief").read_text(encoding="utf-8"),
                            who=f"{name}#{len(run.tries) + 1}",
                            incarnation=1,
                            own={"TURN": str(len(run.tries) + 1)},
                            hides=("OLD",),
                            words={"{session}": f"session-of-{name}"},
                        )
                        crew.start(run, turn)
                        print(f"{name} started", file=sys.stderr, flush=True)
                for name in crew.running:
                    if (file := root / f"{name}.stop").exists():
                        crew.stop(name, grace=float(file.read_text()))
                if not crew.running:
                    return
                crew.wait(head)


if __name__ == "__main__":
    for line in perform(Path(sys.argv[1]), tuple(sys.argv[2:])):
        print(line, flush=True)
