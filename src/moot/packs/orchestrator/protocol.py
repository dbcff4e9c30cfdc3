"""Rules that need code: doubtful builds, one platform per task, who may report on an assignment, time limits."""

from __future__ import annotations

import os

from moot.api.protocol import Protocol
from moot.api.protocol.content import normalise_paths
from moot.api.protocol.hearing import accepted, deliver, prepared
from moot.core.errors import Held, Refused
from moot.core.principal import Actor, name_of, same_agent
from moot.core.task import DescribeTask, MoveTask
from moot.core.text import REASON, command_line
from moot.packs.orchestrator import limits, rules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from moot.api.call import Call
    from moot.api.protocol import Saying
    from moot.api.protocol.pack_views import Concern
    from moot.core.deciders.message import Message
    from moot.core.task import Task
    from moot.engine.unit_of_work import Work
    from moot.views.journal import Happening
    from moot.views.store import Store

_UNPROVEN = ("failed", "not_verified")
_NO_INSTRUCTIONS = "missing_instructions: its sender found no instructions for this attempt"
_DOUBTFUL = ("said_before", "missing_instructions")  # flags: an old copy, work without instructions


class Orchestrator(Protocol):
    """See the module."""

    forms = {  # noqa: RUF012
        "queue": "moot.packs.orchestrator.queue_file:QueueForm",
        "status": "moot.packs.orchestrator.status_file:StatusForm",
    }
    driver = "moot.packs.orchestrator.driver:OrchestratorDriver"

    def observe(self, call: Call, saying: Saying) -> Mapping[str, Any]:  # noqa: ARG002
        """Which reported files are in no worktree."""
        if saying.spec.name != "completion_report":
            return {}
        data, _ = normalise_paths(saying.data, saying.spec.paths, saying.roots)
        missing = [path for path in rules.reported(data) if not any(_exists(root, path) for root in saying.roots)]
        return {"absent": missing}

    def hear(self, work: Work, saying: Saying) -> None:
        saying = prepared(work, saying)
        from_file = saying.source is not None
        beyond, flags = rules.review(saying.spec.name, saying.data, from_file=from_file)
        saying = accepted(self.pack, saying, beyond, flags)
        task = work.task(saying.data["taskId"])
        if task.exists and task.lifecycle == self.pack.name:
            _check_platform(task, saying.data["platform"])
            if saying.spec.name == "completion_report":
                _check_taker(work, saying, task)
                saying = saying.replace(flags=(*saying.flags, *_differences(work, saying, task)))
                saying = _without_instructions(work, saying, task)
            elif "platform" not in task.extra and task.phase in ("open", "working"):
                work.do("task", task.id, DescribeTask(extra={"platform": saying.data["platform"]}))
        deliver(work, self, saying)

    def lines(self, store: Store, happened: Happening) -> Sequence[str]:
        from moot.packs.orchestrator import review_section

        return review_section.lines(store, happened)

    def due(self, call: Call) -> Callable[[Work], None] | None:
        return limits.due(call)

    def concerns(self, call: Call) -> Iterator[Concern]:
        from moot.runs.concerns import concerns

        yield from limits.concerns(call)
        yield from concerns(call, self.pack.name)

    def move(self, work: Work, task: Task, verb: str, reason: str | None) -> tuple[str, ...]:
        """Approving a doubtful report requires a reason, and the move records the doubts."""
        if verb != "approve" or task.report is None:
            return ()
        doubts = _doubts(work.message(task.report))
        if doubts and not (reason or "").strip():
            raise Refused(
                "build_unproven" if doubts[0].startswith("build") else "report_doubtful",
                f"The report {task.report} of {task.id} is doubtful: {'; '.join(doubts)}.",
                f"Reject it, or approve it with a reason: `{command_line('task approve', task.id, options=REASON)}`.",
                task=task.id,
                doubts=list(doubts),
            )
        return tuple(f"approved_although: {doubt}" for doubt in doubts)


def _doubts(report: Message) -> tuple[str, ...]:
    """Why a report is doubtful: its build is not proven, or it has a flag that says so."""
    status = ((report.data or {}).get("buildResult") or {}).get("status")
    build = (f"build {status}",) if status in _UNPROVEN else ()
    return (*build, *(flag for flag in report.flags if flag.startswith(_DOUBTFUL)))


def _exists(root: str, path: str) -> bool:
    return os.path.lexists(os.path.join(root, path))


def _differences(work: Work, saying: Saying, task: Task) -> list[str]:
    given = work.messages_of_task(task.id, task.attempt, "task_assignment")
    return rules.differences((given[-1].data if given else None) or {}, saying.data, saying.facts.get("absent", ()))


def _without_instructions(work: Work, saying: Saying, task: Task) -> Saying:
    """A report that says that its task has no instructions is flagged, and starts the task if nobody did."""
    explained = saying.data["buildResult"]["status"] == "not_verified" and saying.data["summary"].strip()
    if not explained or task.phase not in ("open", "working"):
        return saying
    if work.messages_of_task(task.id, task.attempt, "task_assignment"):
        return saying
    if task.phase == "open":
        work.do("task", task.id, MoveTask(verb="claim", actor=Actor(principal="moot"), flags=(_NO_INSTRUCTIONS,)))
    return saying.replace(flags=(*saying.flags, _NO_INSTRUCTIONS))


def _check_platform(task: Task, found: str) -> None:
    own = task.extra.get("platform")
    if own is not None and own != found:
        raise Refused(
            "platform_differs",
            f"{task.id} is for the platform {own}; the message says {found}.",
            f"Use {own}, or add another task for {found}.",
            task=task.id,
            expected=own,
            found=found,
        )


def _check_taker(work: Work, saying: Saying, task: Task) -> None:
    """Only the agent that took the assignment of this attempt may report on it.

    Files are exempt: moot cannot know who wrote a report into a file, or who read an assignment from it.
    """
    if saying.source is not None:
        return
    given = [message.id for message in work.messages_of_task(task.id, task.attempt, "task_assignment")]
    entries = work.mailbox("@developer", given).entries
    taker = next((entries[name].taker for name in reversed(given) if name in entries and entries[name].taker), None)
    if taker is None or taker.startswith("role:") or same_agent(taker, saying.sender.principal):
        return
    raise Held(
        "assignment_taken",
        f"{task.id} was taken by {name_of(taker)}; only {name_of(taker)} can report on it.",
        f"Leave it to {name_of(taker)}, or ask: `{command_line('send', name_of(taker))} …`.",
        task=task.id,
        taker=taker,
    )
