"""What the two messages do: an assignment starts its task, a report puts it into review, an approval clears both.

Decides through `Work` only. Formats are in `messages/`, the lifecycle in `pack.toml`, pure checks in `rules.py`.
"""

from __future__ import annotations

from moot.api.pack import Protocol
from moot.core.deciders.mailbox import Clear
from moot.core.deciders.message import SendMessage
from moot.core.errors import Held, Refused, Unknown
from moot.core.principal import name_of, same_agent
from moot.core.schema import defects
from moot.core.task import AddTask, AmendTask, DescribeTask, Moved, MoveTask
from moot.core.text import REASON, command_line, counted, option
from moot.packs.orchestrator import rules
from moot.views import look

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from moot.api.pack import MessageType, Submission
    from moot.core.deciders.message import Message
    from moot.core.payload import Payload
    from moot.core.reactions import Reaction, Step, World
    from moot.core.schema import Defect
    from moot.core.task import Task
    from moot.engine.work import Work

PACK = "orchestrator"
_FILES = (("@developer", ("task_assignment",)), ("@team-lead", ("completion_report",)))
_UNPROVEN = ("failed", "not_verified")


class Orchestrator(Protocol):
    """See the module."""

    def accept(self, work: Work, submission: Submission) -> None:
        spec, data = submission.spec, dict(submission.data)
        if submission.source is None:
            _check_sender(submission)
            if spec.stamp and spec.stamp not in data:
                data[spec.stamp] = work.at
        data, flags = _checked(submission, data)
        task = work.task(data["taskId"])
        flags += _said_before(work, submission, task, data)
        if spec.name == "task_assignment":
            _assign(work, submission, task, data, flags)
        else:
            _report(work, submission, task, data, flags)

    def same(self, spec: MessageType, data: Mapping[str, Any], roots: Sequence[str]) -> str:
        return rules.fingerprint(rules.normalise_paths({**data, "type": spec.name}, spec.paths, roots)[0])

    def render(self, spec: MessageType, data: Mapping[str, Any]) -> dict[str, Any]:
        return rules.render(spec.name, dict(data), spec.order)

    def check_move(self, work: Work, task: Task, verb: str, reason: str | None) -> tuple[str, ...]:
        """To approve what is doubtful is a decision of its own: it takes a reason, and says so."""
        if verb != "approve" or task.report is None:
            return ()
        doubts = _doubts(work.message(task.report))
        if doubts and not (reason or "").strip():
            raise Refused(
                "build_unproven" if doubts[0].startswith("build") else "report_doubtful",
                f"The report {task.report} of {task.id} is doubtful: {'; '.join(doubts)}.",
                f"Reject it, or accept it knowingly: `{command_line('task approve', task.id, options=REASON)}`.",
                task=task.id,
                doubts=list(doubts),
            )
        return tuple(f"approved_although: {doubt}" for doubt in doubts)

    @property
    def reactions(self) -> tuple[Reaction, ...]:
        return (_clear,)


def _doubts(report: Message) -> tuple[str, ...]:
    """Why a report should not pass without a thought: its build is not proven, or it was said in an earlier attempt."""
    status = ((report.data or {}).get("buildResult") or {}).get("status")
    build = (f"build {status}",) if status in _UNPROVEN else ()
    return (*build, *(flag for flag in report.flags if flag.startswith("said_before")))


def _check_sender(submission: Submission) -> None:
    spec, sender = submission.spec, submission.sender
    if spec.sender in sender.roles or (sender.person and "person" in spec.also):
        return
    raise Refused(
        "wrong_role",
        f"A {spec.name} is sent by the {spec.sender}; {sender.name} is {', '.join(sender.roles) or 'without a role'}.",
        f"Leave it to the {spec.sender}, or join with `{option('--role', spec.sender)}`.",
        role=spec.sender,
        roles=list(sender.roles),
    )


def _checked(submission: Submission, data: dict[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    spec = submission.spec
    data, outside = rules.normalise_paths(data, spec.paths, submission.roots)
    wrong = [*defects(spec.schema, data), *outside]
    beyond, flags = rules.review(spec.name, data, from_file=submission.source is not None, at=submission.now)
    wrong += [d for d in beyond if all(d.path != w.path for w in wrong)]
    if wrong:
        listed = "; ".join(d.sentence for d in wrong)
        raise Refused(
            "bad_message",
            f"The {spec.name} has {counted(len(wrong), 'defect')}: {listed}.",
            f"{_types(wrong)}Correct all of them and send it again; `--dry-run` checks without sending.",
            type=spec.name,
            defects=[d.full() for d in wrong],
        )
    return data, tuple(flags)


def _types(wrong: list[Defect]) -> str:
    """The types that there are, for a message that has none of them."""
    if all(defect.path != "type" for defect in wrong):
        return ""
    return f"The types are {' and '.join(kind for _, kinds in _FILES for kind in kinds)}. "


def _said_before(work: Work, sub: Submission, task: Task, data: dict[str, Any]) -> tuple[str, ...]:
    """A flag for what was said word for word in an earlier attempt: it may come out of an old copy of a file."""
    earlier = work.messages_of_task(task.id, None, sub.spec.name) if task.exists else []
    again = [m.attempt for m in earlier if m.attempt != task.attempt and rules.same(data, m.data or {})]
    return (f"said_before: word for word a message of attempt {again[-1]}",) if again else ()


def _assign(work: Work, sub: Submission, task: Task, data: dict[str, Any], flags: tuple[str, ...]) -> None:
    lead = sub.sender.replace(roles=(*sub.sender.roles, "team-lead"))
    if not task.exists:
        extra = {"platform": data["platform"]}
        command = AddTask(title=data["title"], creator=lead.principal, ttl=sub.ttl, extra=extra)
        work.do_task(task.id, command, lifecycle=PACK)
    else:
        _check_lifecycle(task)
        _check_platform(task, data)
        if task.phase not in ("open", "working"):
            ended = task.phase != "review"
            raise Refused(
                "wrong_state",
                f"{task.id} is {task.state}: an assignment would change what is past. "
                "A rejected or completed task must first go back to pending.",
                f"`{command_line('task reopen', task.id)}` starts a new attempt."
                if ended
                else "Wait for the verdict, or give it.",
                task=task.id,
                state=task.state,
            )
        if "platform" not in task.extra:
            work.do_task(task.id, DescribeTask(extra={"platform": data["platform"]}))
    task = work.task(task.id)
    if task.phase == "open":
        work.do_task(task.id, MoveTask(verb="claim", actor=lead))
    _store(work, sub, task, data, flags)


def _report(work: Work, sub: Submission, task: Task, data: dict[str, Any], flags: tuple[str, ...]) -> None:
    if not task.exists:
        going = look.task_ids(work.store, "in_progress")
        raise Unknown(
            "unknown_task",
            f"No task is called {task.id!r}; a report makes none.",
            f"In progress now: {', '.join(going) or 'nothing'}.",
            task=task.id,
            in_progress=going,
        )
    _check_lifecycle(task)
    _check_platform(task, data)
    _check_taker(work, sub, task)
    developer = sub.sender.replace(roles=(*sub.sender.roles, "developer"))
    if task.state == "in_progress":
        _store(work, sub, task, data, flags)
        work.do_task(task.id, MoveTask(verb="submit", actor=developer, report=sub.id))
    elif task.state == "awaiting_review":
        earlier = work.messages_of_task(task.id, task.attempt, sub.spec.name)
        if any(_is_repeat(sub, data, message.data or {}) for message in earlier):
            return  # an identical repeat has no effect
        _store(work, sub, task, data, (*flags, "amendment: a later report for an attempt that is in review"))
        work.do_task(task.id, AmendTask(report=sub.id))
    else:
        raise Refused(
            "wrong_state",
            f"{task.id} is {task.state}: a report is for a task in progress.",
            "`moot task show` tells what can happen next." if task.state == "pending" else "Reopen it first.",
            task=task.id,
            state=task.state,
        )


def _is_repeat(sub: Submission, data: dict[str, Any], earlier: dict[str, Any]) -> bool:
    """Whether a report says what an earlier one said. A time that moot would have to set says nothing."""
    stamp = sub.spec.stamp
    if stamp is None or stamp in sub.data:
        return rules.same(data, earlier)
    return rules.same({**data, stamp: None}, {**earlier, stamp: None})


def _store(work: Work, sub: Submission, task: Task, data: dict[str, Any], flags: tuple[str, ...]) -> None:
    import json

    command = SendMessage(
        kind=sub.spec.name,
        sender=sub.sender.principal,
        to=(sub.spec.mailbox,),
        wants=sub.spec.wants,
        size=len(json.dumps(data, ensure_ascii=False).encode()),
        limit=sub.limit,
        data=data,
        task=task.id,
        attempt=task.attempt,
        role=sub.spec.sender,
        source=sub.source,
        flags=flags,
    )
    work.do_message(sub.id, command, None, pack=PACK)


def _check_lifecycle(task: Task) -> None:
    if task.lifecycle != PACK:
        raise Refused(
            "other_lifecycle",
            f"{task.id} follows the lifecycle {task.lifecycle!r}, not this protocol's.",
            "Use another id, or the verbs of `moot task`.",
            task=task.id,
        )


def _check_platform(task: Task, data: dict[str, Any]) -> None:
    own = task.extra.get("platform")
    if own is not None and own != data["platform"]:
        raise Refused(
            "platform_differs",
            f"{task.id} is for the platform {own}; the message says {data['platform']}.",
            f"Say {own}, or make a task of its own for {data['platform']}.",
            task=task.id,
            expected=own,
            found=data["platform"],
        )


def _check_taker(work: Work, sub: Submission, task: Task) -> None:
    """Whoever took an assignment of this attempt reports on it.

    A file names nobody: neither its report nor its reader can be told from another.
    """
    if sub.source is not None:
        return
    given = [m.id for m in work.messages_of_task(task.id, task.attempt, "task_assignment")]
    entries = work.mailbox("@developer", given).entries
    taker = next((entries[name].taker for name in reversed(given) if name in entries and entries[name].taker), None)
    if taker is None or taker.startswith("role:") or same_agent(taker, sub.sender.principal):
        return
    raise Held(
        "assignment_taken",
        f"{task.id} was taken by {name_of(taker)}; the report is theirs to make.",
        f"Leave it to {name_of(taker)}, or ask: `{command_line('send', name_of(taker))} …`.",
        task=task.id,
        taker=taker,
    )


def _clear(key: str, happened: Payload, world: World) -> Iterator[Step]:
    """A completed task leaves both files; a task that starts over leaves its finished attempt behind."""
    over = isinstance(happened, Moved) and (happened.phase == "done" or happened.verb == "reopen")
    if not over or world.task(key).lifecycle != PACK:
        return
    done = isinstance(happened, Moved) and happened.phase == "done"
    for mailbox, kinds in _FILES:
        shown = world.shown(mailbox, kinds)
        ids = tuple(message for message, task in shown if task == key)
        last = done and len(ids) == len(shown)  # then the file is empty, and says since when
        if ids or last:
            reason = "completed" if done else "reset"
            yield "mailbox", mailbox, Clear(ids=ids, reason=reason, at=world.at if last else None)
