"""Rules that need code: doubtful builds, one platform per task, and who may report on an assignment."""

from __future__ import annotations

from moot.api.protocol import Protocol
from moot.api.protocol.hearing import accepted, deliver, prepared
from moot.core.errors import Held, Refused
from moot.core.principal import name_of, same_agent
from moot.core.task import DescribeTask
from moot.core.text import REASON, command_line
from moot.packs.orchestrator import rules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.api.protocol import Saying
    from moot.core.deciders.message import Message
    from moot.core.task import Task
    from moot.engine.unit_of_work import Work

_UNPROVEN = ("failed", "not_verified")


class Orchestrator(Protocol):
    """See the module."""

    def hear(self, work: Work, saying: Saying) -> None:
        saying = prepared(work, saying)
        from_file = saying.source is not None
        beyond, flags = rules.review(saying.spec.name, saying.data, from_file=from_file, at=saying.now)
        saying = accepted(self.pack, saying, beyond, flags)
        task = work.task(saying.data["taskId"])
        if task.exists and task.lifecycle == self.pack.name:
            _check_platform(task, saying.data["platform"])
            if saying.spec.name == "completion_report":
                _check_taker(work, saying, task)
            elif "platform" not in task.extra and task.phase in ("open", "working"):
                work.do("task", task.id, DescribeTask(extra={"platform": saying.data["platform"]}))
        deliver(work, self, saying)

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
    """Why a report is doubtful: its build is not proven, or it belongs to an earlier attempt."""
    status = ((report.data or {}).get("buildResult") or {}).get("status")
    build = (f"build {status}",) if status in _UNPROVEN else ()
    return (*build, *(flag for flag in report.flags if flag.startswith("said_before")))


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
