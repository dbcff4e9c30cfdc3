"""Four agents build one small program together, in half a minute.

Two agents use moot (`agents/builder.py`, `agents/reviewer.py`). Two know nothing about it, and only read and write the
JSON files of their own protocol (`agents/lead.py`, `agents/developer.py`). They work in two worktrees of a temporary
repository, on eight tasks that depend on each other. Two agents want the same file. One is killed while it works, and
replaced. At the end the demo checks the result, and counts every number from the log.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

from play import LONGEST, Play
from story import Line, Numbers, counted
from view import Screen

if TYPE_CHECKING:
    from collections import Counter

    from stage import Stage
    from view import Plain

    from moot import Workspace
    from moot.core.event import Event

SETTINGS = """\
packs = ["orchestrator"]     # the protocol of the two file-only agents

[tasks]
ttl = "4s"                   # a holder that is silent for longer loses its task (default: 30m)

[claims]
ttl = "4s"                   # the same for files
"""
NEEDS = ()
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


def screen(ws: Workspace) -> Screen:
    return Screen(ws, [task.id for task in PLAN], {LEAD: "desk", DEVELOPER: "bench"})


def play(stage: Stage, ws: Workspace, view: Plain) -> None:
    Team(stage, ws, view).run()


class Team(Play):
    """Starts the agents, follows the log, kills the builder and replaces it."""

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
            self.follow_until(lambda name=name: stage.ended_well(name))  # type: ignore[misc]
        for name in (DEVELOPER, MIRROR):
            stage.end(name)  # they watch files forever
        self.follow(0.0)

    def cue(self, event: Event) -> None:
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


def promised(stage: Stage, ws: Workspace, view: Plain) -> dict[str, bool]:
    numbers = counted(ws.log(after=0, limit=100_000))
    view.look_back()
    view.say(f"\n{_in_numbers(numbers)}\n")
    verified = stage.run("moot", "verify")
    tested = stage.run(sys.executable, "-m", "unittest", "till/test_till.py")
    bought = stage.run(sys.executable, "-m", "till", "tea", "tea", "bread", "cheese")
    view.say(f"$ moot verify\n{(verified.stdout + verified.stderr).strip()}\n")
    view.say(f"$ python -m till tea tea bread cheese\n{(bought.stdout + bought.stderr).rstrip()}\n")
    commits = stage.git("log", "--format=%s").splitlines()
    return {
        "all eight tasks are done": numbers.done == numbers.tasks == len(PLAN),
        "no task was approved by its author": numbers.own_approvals == 0,
        "a conflicting claim was refused, and resolved by a message": numbers.refusals == numbers.resolved > 0,
        "exactly one task lapsed, and its builder came back": numbers.lapses == numbers.replaced == 1,
        "every message arrived and is settled": numbers.settled == numbers.deliveries > 0 and not ws.held(),
        "the log is sound, and the views agree with it": verified.returncode == 0,
        "all work is on main, with one commit per task": _all_there(commits) and not stage.git("status", "--porcelain"),
        "the program passes its tests": tested.returncode == 0,
    }


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
