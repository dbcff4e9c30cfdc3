"""Rules that need code: doubtful builds, one platform per task, who may report on an assignment, time limits."""

from __future__ import annotations

import os

from moot.api.protocol import LAST, Protocol
from moot.api.protocol.content import normalise_paths
from moot.api.protocol.hearing import accepted, deliver, prepared, said_before, store
from moot.core import timestamps
from moot.core.deciders.mailbox import Clear
from moot.core.errors import Held, Refused
from moot.core.principal import Actor, name_of, same_agent
from moot.core.task import DescribeTask, MoveTask
from moot.core.text import REASON, command_line
from moot.core.typed_messages import wrong_state
from moot.packs.orchestrator import limits, rules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from moot.api.call import Call
    from moot.api.protocol import Pack, Saying
    from moot.api.protocol.pack_views import Concern
    from moot.core.deciders.message import Message
    from moot.core.lifecycle import Edge, Lifecycle
    from moot.core.task import Task
    from moot.engine.unit_of_work import Work
    from moot.packs.orchestrator.queue_edits import QueueChange
    from moot.views.journal import Happening
    from moot.views.store import Store

INFERRED = "inferred: nobody reported this move; the files show that it happened"
_UNPROVEN = ("failed", "not_verified")
_NO_INSTRUCTIONS = "missing_instructions: its sender found no instructions for this attempt"
_DOUBTFUL = ("said_before", "missing_instructions")  # flags: an old copy, work without instructions


class Orchestrator(Protocol):
    """See the module. `wanted`: what `queue.json` asks for, as long as its files are taken."""

    def __init__(self, pack: Pack, settings: Mapping[str, Any] | None = None) -> None:
        super().__init__(pack, settings)
        self.wanted: Mapping[str, QueueChange] = {}
        self._waiting: dict[str, set[float]] = {}  # by task: the times of its messages that were put off

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
        is_past = from_file and self._is_past(work, saying, task)
        if task.exists and task.lifecycle == self.pack.name:
            _check_platform(task, saying.data["platform"])
            if saying.spec.name == "completion_report":
                _check_taker(work, saying, task)
                saying = saying.replace(flags=(*saying.flags, *_differences(work, saying, task)))
                if not is_past:
                    saying = _without_instructions(work, saying, task)
            elif task.extra.get("platform") is None and task.phase in ("open", "working"):
                work.do("task", task.id, DescribeTask(extra={"platform": saying.data["platform"]}))
        if is_past:
            _keep(work, self.pack, saying, task)
        else:
            deliver(work, self, saying)

    def _is_past(self, work: Work, saying: Saying, task: Task) -> bool:
        """Whether a message from a file moves its task no more, because the file of the queue was ahead of it.

        It is delivered in the attempt and state for which it was written, on the path to the state that the queue
        shows. Until its task is there, it is put off: each later start or report on that path takes one of the entries
        behind it, and waits for messages that were written before it. An assignment for a rejected task starts the next
        attempt, and so does a report on an assignment of the next attempt: nobody saw the lead set the state.
        """
        life, verb = work.lifecycle(self.pack.name), saying.spec.moves or ""
        if (task.exists and task.lifecycle != life.name) or said_before(work, saying, task):
            return False
        change = self.wanted.get(saying.data["taskId"])
        way = (path(life, task, change) if change is not None else None) or ()
        waiting = self._waiting.setdefault(task.id, set())
        at = timestamps.parse(saying.data["timestamp"]) or 0.0
        sent = work.messages_of_task(task.id, task.attempt, saying.spec.name)
        retried = verb == "claim" and any(edge.attempt for edge in way)
        is_reported = not sent and any(other > at for other in waiting)  # then it is not for the attempt after the path
        slots = sum(edge.verb == verb for edge in way) or int(retried and not is_reported)
        if any(edge.verb == verb for edge in way[:1]) or (verb == "claim" and task.phase == "stopped"):
            slots = max(0, slots - 1)  # the next one is for this message
        early = slots > saying.behind or (verb == "submit" and task.phase == "open")
        late = task.phase == "review" and not sent  # the queue said first that the task is in review
        # Whether a report was written before it, or after it, is known once all files were read.
        may_be_past = (task.phase == "working" and bool(sent)) or any(edge.verb == "reject" for edge in way)
        unknown = verb == "claim" and may_be_past and not (saying.behind and not sent)
        later = any(other < at for other in waiting) or (unknown and saying.idle < 0)
        if saying.idle < LAST and (early or (task.phase == "review" and not late) or later):
            waiting.add(at)
            raise wrong_state(saying.spec.name, task, life, verb)
        waiting.discard(at)
        if verb == "claim" and task.phase == "stopped":
            lead = Actor(principal=saying.sender.principal, roles=saying.sender.roles)
            work.do("task", task.id, MoveTask(verb="reopen", actor=lead, recorded=True, flags=(INFERRED,)))
            return False
        if verb == "submit" and self._is_next(work, task):
            return False
        if task.phase == "review":
            return late or verb == "claim" or task.state != saying.was
        before = task.state != saying.was or task.since == task.added_at  # the task was added in this state
        return task.phase in ("done", "stopped") and saying.idle >= LAST and before

    def _is_next(self, work: Work, task: Task) -> bool:
        """Start the next attempt if it has its assignment: the lead rejected the task before it wrote that.

        The reason was removed again before anybody looked, or is the same as before.
        """
        given = work.messages_of_task(task.id, task.attempt + 1, "task_assignment")
        if not given or task.phase not in ("review", "stopped"):
            return False
        lead = Actor(principal=given[-1].sender, roles=("team-lead",))
        for verb in ("reject", "reopen") if task.phase == "review" else ("reopen",):
            said = (rejection(task) or "assigned again") if verb == "reject" else None
            work.do("task", task.id, MoveTask(verb=verb, actor=lead, reason=said, recorded=True, flags=(INFERRED,)))
        return True

    def lines(self, store: Store, happened: Happening) -> Sequence[str]:
        from moot.packs.orchestrator import review_section

        return review_section.lines(store, happened)

    def due(self, call: Call) -> Callable[[Work], None] | None:
        return limits.due(call)

    def concerns(self, call: Call) -> Iterator[Concern]:
        from moot.api.verbs.runs.status import concerns

        yield from limits.concerns(call)
        yield from concerns(call, self.pack.name)

    def move(self, work: Work, task: Task, verb: str, reason: str | None) -> tuple[str, ...]:
        """Approving a doubtful report requires a reason, and the move records the doubts."""
        reports = work.messages_of_task(task.id, task.attempt, "completion_report")
        if verb != "approve" or not reports:
            return ()
        doubts = _doubts(reports[-1])
        if doubts and not (reason or "").strip():
            raise Refused(
                "build_unproven" if doubts[0].startswith("build") else "report_doubtful",
                f"The report {reports[-1].id} of {task.id} is doubtful: {'; '.join(doubts)}.",
                f"Reject it, or approve it with a reason: `{command_line('task approve', task.id, options=REASON)}`.",
                task=task.id,
                doubts=list(doubts),
            )
        return tuple(f"approved_although: {doubt}" for doubt in doubts)


def path(life: Lifecycle, task: Task, change: QueueChange) -> tuple[Edge, ...] | None:
    """The moves that lead a task from its state to the one that the queue shows; None if no path reaches it."""
    wanted, state, end = change.wanted, task.state or life.initial, "rejected"
    if wanted not in life.names:
        return None
    there = life.path(state, end)
    through = None if there is None else (*there, *(life.path(end, wanted) or ()))
    if change.reason and change.reason != rejection(task) and task.phase != "done" and state != end:
        return through
    found = () if wanted == state else life.path(state, wanted)
    if found is None and change.reason and not change.older and state == change.was:
        return through  # rejected for the same reason as before
    return found


def rejection(task: Task) -> str | None:
    """The reason of the last rejection."""
    return next((step.reason for step in reversed(task.setbacks) if step.verb == "reject"), None)


def _keep(work: Work, pack: Pack, saying: Saying, task: Task) -> None:
    """Store a message that moves its task no more. An assignment for a task in review is for the next attempt."""
    is_report = saying.spec.moves == "submit"
    ahead = (
        task.phase == "review"
        and not is_report
        and bool(work.messages_of_task(task.id, task.attempt, saying.spec.name))
    )
    store(work, pack, saying, task, ahead=int(ahead))
    if task.phase == "done":
        for to in saying.spec.addresses:
            work.do("mailbox", to, Clear(ids=(saying.id,), reason="completed"), pack=pack.name)


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
    if own in rules.PLATFORMS and own != found:
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
        f"Leave it to {name_of(taker)}, or ask: `{command_line('send', name_of(taker))} '…'`.",
        task=task.id,
        taker=taker,
    )
