"""Shows what moot is for, in half a minute: four agents build one small program together.

Two agents use moot (`agents/builder.py`, `agents/reviewer.py`). Two know nothing about it, and only read and write the
JSON files of their own protocol (`agents/lead.py`, `agents/developer.py`). They work in two worktrees of a temporary
repository, on eight tasks that depend on each other. Two agents want the same file. One is killed while it works, and
replaced. At the end the demo checks the result, and counts every number from the log.

    make demo
    .venv/bin/python demo/run.py --help
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
import time
from typing import TYPE_CHECKING, NamedTuple

from stage import Stage
from story import Line, Numbers, counted
from view import Plain, Screen

from moot import Workspace

if TYPE_CHECKING:
    from collections import Counter

    from moot.core.event import Event

LONGEST = 180.0
INTERRUPTED, NOBODY_READS, TERMINATED = 130, 141, 143
SMALLEST = os.terminal_size((70, 20))
BUILDER, REVIEWER, LEAD, DEVELOPER = "Yeats", "Sappho", "team-lead", "developer"
MIRROR, WAITING = "moot mirror", "moot wait"

INTRODUCTION = (
    "Four agents build a program, in two worktrees (desk, bench) of one repository.",
    f"{BUILDER} builds and {REVIEWER} reviews; they use moot. A team lead and a developer know only their files.",
)


class Planned(NamedTuple):
    id: str
    title: str
    needs: tuple[str, ...] = ()
    lifecycle: str = "core"


PLAN = (
    Planned("money", "Amounts in whole cents"),
    Planned("stock", "What is for sale", ("money",)),
    Planned("exports", "What the package offers", ("money",)),
    Planned("discount", "Ten per cent off", ("money",), "orchestrator"),
    Planned("basket", "Things and how many", ("stock",)),
    Planned("receipt", "What the customer gets", ("basket", "discount"), "orchestrator"),
    Planned("app", "python -m till", ("receipt",)),
    Planned("tests", "The whole till, tested", ("app", "exports")),
)


def main() -> int:
    options = _options()
    if shutil.which("git") is None:
        sys.exit("The demo needs git.")
    stage = Stage(options.speed)
    os.environ.clear()
    os.environ.update(stage.env)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))
    try:
        stage.build()
        with Workspace.init(stage.desk) as ws:
            pictures = not options.plain and _can_show_pictures()
            view = Screen(ws, [task.id for task in PLAN], {LEAD: "desk", DEVELOPER: "bench"}) if pictures else Plain()
            view.begin()
            try:
                Play(stage, ws, view).run()
            finally:
                view.end()
            return _report(stage, ws, view)
    except PlayStopped as stopped:
        print(f"\nThe demo failed. {stopped}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return NOBODY_READS
    finally:
        stage.clear(keep=options.keep)
        if options.keep:
            print(f"\nKept in {stage.root}. Look around:\n  cd {stage.desk}")
            print(f"  PATH={stage.root}/bin:$PATH\n  moot log; moot board --all; moot explain basket")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--plain", action="store_true", help="print plain lines, even on a terminal")
    parser.add_argument("--speed", type=float, default=1.0, help="how fast the agents work (default 1)")
    parser.add_argument("--keep", action="store_true", help="keep the repository, and print how to explore it")
    options = parser.parse_args()
    if options.speed <= 0:
        parser.error("--speed must be more than 0")
    return options


def _can_show_pictures() -> bool:
    if not sys.stdout.isatty() or os.environ.get("TERM", "dumb") == "dumb" or sys.stdout.encoding.lower() != "utf-8":
        return False
    size = os.get_terminal_size(sys.stdout.fileno())
    return size.columns >= SMALLEST.columns and size.lines >= SMALLEST.lines


class PlayStopped(Exception):
    """An agent failed, or the demo took too long."""


class Play:
    """Starts the agents, follows the log, kills the builder and replaces it."""

    def __init__(self, stage: Stage, ws: Workspace, view: Plain) -> None:
        self.stage, self.ws, self.view = stage, ws, view
        self.position = 0
        self.deadline = time.monotonic() + LONGEST

    def run(self) -> None:
        for sentence in INTRODUCTION:
            self.view.tell(Line(sentence))
        for task in PLAN:
            self.ws.task_add(task.title, id=task.id, needs=task.needs, lifecycle=task.lifecycle)
        stage = self.stage
        stage.start(MIRROR, stage.desk, "moot", "mirror", "--watch")
        stage.start_script(LEAD, stage.desk, "lead.py")
        stage.start_script(DEVELOPER, stage.bench, "developer.py")
        stage.start_agent(REVIEWER, stage.desk, "reviewer.py", "--role", "reviewer", "--role", "team-lead")
        stage.start_agent(BUILDER, stage.bench, "builder.py")
        # The person waits for all tasks. `moot wait` also ends the lease of a holder that fell silent.
        named = [word for task in PLAN for word in ("--task", task.id)]
        stage.start(WAITING, stage.desk, "moot", "wait", *named, "--timeout", f"{LONGEST:.0f}s")
        for name in (WAITING, BUILDER, REVIEWER, LEAD):
            self._follow_until_gone(name)
        for name in (DEVELOPER, MIRROR):
            stage.end(name)  # they watch files forever
        self._follow(0.0)

    def _follow_until_gone(self, name: str) -> None:
        while not self.stage.ended_well(name):
            self._follow(0.25)
            if time.monotonic() > self.deadline:
                raise PlayStopped(f"It took longer than {LONGEST:.0f} s.")
            if failed := self.stage.failed():
                said = self.stage.said(failed[0]).read_text(encoding="utf-8")
                raise PlayStopped(f"{failed[0]} failed:\n{said[-2000:]}")

    def _follow(self, timeout: float) -> None:
        for event in self.ws.follow(after=self.position, timeout=timeout):
            self.position = event.position
            self.view.happened(event)
            self._cue(event)
            self.view.tick()
        self.view.tick()

    def _cue(self, event: Event) -> None:
        asked = event.type == "message:sent" and event.data["kind"] == "request"
        if asked and event.data["to"] == [f"person:{self.stage.person}"]:
            self._kill_and_answer(event)
        elif event.type == "task:lapsed" and BUILDER not in self.stage.started:
            # The person knows that the old process is dead, and passes --take-over.
            self.stage.start_agent(BUILDER, self.stage.bench, "builder.py", "--take-over")

    def _kill_and_answer(self, question: Event) -> None:
        """Kill the builder while it waits for an answer. Its replacement finds the answer."""
        self.stage.kill(BUILDER)
        self.view.tell(Line(f"{BUILDER} is killed (SIGKILL), {question.data['task']} half written", "killed"))
        for letter in self.ws.inbox().new:
            self.ws.reply(letter.id, "Yes: one line for each thing, with a count.")


def _report(stage: Stage, ws: Workspace, view: Plain) -> int:
    numbers = counted(ws.log(after=0, limit=100_000))
    view.look_back()
    view.say(f"\n{_in_numbers(numbers)}\n")
    verified = stage.run("moot", "verify")
    tested = stage.run(sys.executable, "-m", "unittest", "till/test_till.py")
    bought = stage.run(sys.executable, "-m", "till", "tea", "tea", "bread", "cheese")
    view.say(f"$ moot verify\n{(verified.stdout + verified.stderr).strip()}\n")
    view.say(f"$ python -m till tea tea bread cheese\n{(bought.stdout + bought.stderr).rstrip()}\n")
    commits = stage.git("log", "--format=%s").splitlines()
    promised = {
        "all eight tasks are done": numbers.done == numbers.tasks == len(PLAN),
        "no task was approved by its author": numbers.own_approvals == 0,
        "a conflicting claim was refused, and resolved by a message": numbers.refusals == numbers.resolved > 0,
        "exactly one task lapsed, and its builder came back": numbers.lapses == numbers.replaced == 1,
        "every message arrived and is settled": numbers.settled == numbers.deliveries > 0 and not ws.held(),
        "the log is sound, and the views agree with it": verified.returncode == 0,
        "all work is on main, with one commit per task": _all_there(commits) and not stage.git("status", "--porcelain"),
        "the program passes its tests": tested.returncode == 0,
    }
    for sentence, kept in promised.items():
        view.say(f"{'ok  ' if kept else 'NOT '} {sentence}", "green" if kept else "bold red")
    return 0 if all(promised.values()) else 1


def _each(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.most_common())


def _all_there(commits: list[str]) -> bool:
    return sorted(subject.partition(":")[0] for subject in commits[:-1]) == sorted(task.id for task in PLAN)


def _in_numbers(n: Numbers) -> str:
    return "\n".join(
        (
            f"{n.events:4} events in {n.seconds:.0f} seconds",
            f"{n.done:4} of {n.tasks} tasks done: built by {_each(n.built)}; approved by {_each(n.approved)}",
            f"{n.messages:4} messages, {n.through_files} of them through files; {n.settled} of {n.deliveries} settled",
            f"{n.claims:4} claims on files granted, {n.refusals} refused",
            f"{n.lapses:4} task lapsed, {n.replaced} agent replaced",
        )
    )


if __name__ == "__main__":
    sys.exit(main())
