"""Events for what moot itself has decided, so that its verbs and lines in a file share one order.

`moot claim`, `moot artifact add`, `moot decide`, `moot task complete`, `moot checkpoint resolve` and the like put their
event on the blackboard in the same commit; so do a claim that ended because its holder fell silent, and an artifact
that plans waited for. What was decided for an event of the pack carries the pack's name, so nothing is posted twice.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

from moot.core.principal import label
from moot.core.text import age
from moot.packs.gsd import claims, tasks
from moot.packs.gsd.ids import decision_of, task_of
from moot.packs.gsd.taking import finish
from moot.packs.gsd.telling import FEED, Telling

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from moot.core.event import Draft
    from moot.engine.unit_of_work import Work

    Event = dict[str, Any]

_done: WeakKeyDictionary[Work, int] = WeakKeyDictionary()  # how many drafts of a commit were echoed


def close(work: Work) -> None:
    """The closer of the pack: echo what no event of the pack has decided."""
    echo(work, min(_done.get(work, 0), len(work.drafts)))


def echo(work: Work, start: int, cause: Telling | None = None) -> None:
    """Post an event for each decision since the draft `start`. `cause`: the event that they follow from."""
    drafts = work.drafts[start:]
    satisfied: dict[str, list[str]] = {}
    for draft in drafts:
        if draft.type == "dependency:satisfied":
            plans = [one.removeprefix("plan:") for one in draft.data["required_by"] if one.startswith("plan:")]
            known = satisfied.setdefault(draft.data["artifact"], [])
            known += [plan for plan in plans if plan not in known]
            continue
        for event in _events(work, draft):
            _post(work, event, cause)
    for artifact, plans in satisfied.items():  # `dependency-resolver`
        if plans:
            said = {"type": "dependency:satisfied", "artifact": _path(work, artifact), "requiredBy": plans}
            _post(work, (said, (), {}), cause)
    _done[work] = len(work.drafts)


def _path(work: Work, artifact: str) -> str:
    paths: tuple[str, ...] = work.state("artifact", artifact).paths
    return artifact if artifact in paths or not paths else paths[0]


Posting = tuple[dict[str, "Any"], tuple[str, ...], dict[str, list[str]]]  # an event, its flags and its keys


def _post(work: Work, posting: Posting, cause: Telling | None) -> None:
    event, flags, keys = posting
    stamped = {**event, "timestamp": cause.at if cause is not None else work.at}
    telling = Telling(work, stamped, by=work.by, flags=flags)
    telling.keys |= keys
    telling.group_plan = keys.get("of", [None])[0]
    telling.keys.pop("of", None)
    if cause is not None:
        telling.cause = cause.number
    if event["type"] == "decision:made":
        from moot.packs.gsd import decisions

        decisions.allot(telling)
    finish(telling)
    if event["type"] == "checkpoint:resolved":
        from moot.packs.gsd import checkpoints

        checkpoints.tell_waiting(telling, work.state("checkpoint", keys["checkpoint"][0]))


def _events(work: Work, draft: Draft) -> Iterable[Posting]:
    """The events of one decision."""
    own = draft.pack == FEED
    key = draft.stream.partition("/")[2]
    match draft.type:
        case "file:lapsed":
            return _released(work, draft, _why_lapsed(draft), taken_away=True)
        case "file:released" if not own:
            reason = draft.data.get("reason") or ("released by force" if draft.data.get("forced") else "")
            return _released(work, draft, reason, taken_away=bool(draft.data.get("forced")))
        case "file:claimed" if not own:
            return _claimed(work, draft)
        case "task:started" | "task:completed" | "task:failed" if not own:
            return _moved(work, draft, key)
        case "artifact:created" | "artifact:modified" if not own:
            return _artifact(work, draft, key)
        case "decision:made" if not own:
            return _decided(work, draft, key)
        case "checkpoint:reached" if not own:
            return _reached(work, draft, key)
        case "checkpoint:resolved" | "checkpoint:withdrawn" if not own:
            return _resolved(work, draft, key)
        case _:
            return ()


# --- claims ----------------------------------------------------------------------------------------------------------


def _why_lapsed(draft: Draft) -> str:
    if draft.data["reason"] == "replaced":
        return "its holder was replaced"
    return f"no event from its holder for {age(draft.data.get('silent_for') or 0.0)}"


def _released(work: Work, draft: Draft, cause: str, *, taken_away: bool) -> Iterator[Posting]:
    flags = (f"{claims.TAKEN_AWAY}: its holder did not release it",) if taken_away else ()
    for path in claims.paths_of(tuple(draft.data["paths"])):
        telling = Telling(work, {"type": "file:released", "timestamp": work.at}, by=work.by)
        row = telling.rows.get(claims.LIST, path) or {}
        holder = claims.holder_of(draft.data["holder"])
        agent, plan = row.get("agent", holder.agent), row.get("plan", holder.plan)
        event = {"type": "file:released", "path": path, "agent": agent, **({"plan": plan} if plan else {})}
        yield {**event, **({"cause": cause} if cause else {})}, flags, {}


def _claimed(work: Work, draft: Draft) -> Iterator[Posting]:
    task = task_of(draft.data.get("task"))
    own = tasks.running(work, draft.data["holder"])
    agent = own[1] if own else label(draft.data["holder"])
    plan = task[0].name if task else own[0] if own else None
    flags = () if plan else ("no_plan: moot does not know which plan it belongs to",)
    for path in claims.paths_of(tuple(draft.data["paths"])):
        event: Event = {"type": "file:claimed", "path": path, "agent": agent}
        event |= {"plan": plan} if plan else {}
        event |= {"task": task[1]} if task else {}
        yield event, flags, {"claim": [draft.data["id"]]}


# --- tasks -----------------------------------------------------------------------------------------------------------


def _moved(work: Work, draft: Draft, key: str) -> Iterator[Posting]:
    """A move of one of the pack's tasks by a verb of moot."""
    named, task = task_of(key), work.task(key)
    if named is None or task.lifecycle != tasks.LIFECYCLE:
        return
    plan, number = named
    row = Telling(work, {}, by=work.by).rows.get(tasks.LIST, key) or {}
    agent = (
        label(draft.data.get("holder") or work.by)
        if draft.type == "task:started"
        else row.get("agent") or label(work.by)
    )
    event: Event = {"type": draft.type, "agent": agent, "plan": row.get("plan", plan.name), "task": number}
    flags: tuple[str, ...] = ()
    if draft.type == "task:failed":
        event["error"] = draft.data.get("reason") or "failed"
    else:
        event["taskName"] = row.get("name") or task.title
    if draft.type == "task:completed":
        flags = ("no_commit: the completion names no commit",)
    yield event, flags, {}


# --- artifacts, decisions, checkpoints -------------------------------------------------------------------------------


def _artifact(work: Work, draft: Draft, key: str) -> Iterator[Posting]:
    data, own = draft.data, tasks.running(work, work.by)
    task = task_of(data.get("task"))
    plan = task[0].name if task else own[0] if own else None
    created = draft.type == "artifact:created"
    flags = () if plan else ("no_plan: moot does not know which plan it belongs to",)
    paths = tuple(data.get("paths", ())) if created else work.state("artifact", key).paths
    for path in paths or (key,):
        event: Event = {"type": draft.type, "path": path}
        event |= {"provides": list(data.get("provides", ()))} if created else {}
        event |= {("createdBy" if created else "modifiedBy"): plan} if plan else {}
        event |= {} if created else {"changes": list(data.get("changes", ()))}
        yield event, flags, {}


def _decided(work: Work, draft: Draft, key: str) -> Iterator[Posting]:
    data, own = draft.data, tasks.running(work, work.by)
    task = task_of(data.get("task"))
    plan = task[0].name if task else own[0] if own else None
    event: Event = {"type": "decision:made", **({"id": key} if decision_of(key) is not None else {})}
    event |= {"decision": data["title"], "rationale": data.get("rationale", "")}
    event |= {"madeBy": plan} if plan else {}
    event |= {"affects": [*data.get("affects", ()), *data.get("paths", ())]}
    flags = () if plan else ("no_plan: moot does not know which plan made it",)
    yield {**event, **({"decisionId": key} if "id" not in event else {})}, flags, {}


def _reached(work: Work, draft: Draft, key: str) -> Iterator[Posting]:
    data, about = draft.data, _about(work, draft.data.get("task"))
    awaiting = data.get("awaiting") or data["question"]
    event = {"type": "checkpoint:reached", **about, "checkpointType": data["kind"], "awaiting": awaiting}
    flags = () if about else ("no_plan: moot does not know which task it belongs to",)
    yield {**event, "checkpoint": key}, flags, {"checkpoint": [key]}


def _resolved(work: Work, draft: Draft, key: str) -> Iterator[Posting]:
    from moot.packs.gsd import checkpoints

    state = work.state("checkpoint", key)
    event = {"type": "checkpoint:resolved", **_about(work, state.task), "timestamp": ""}
    if draft.type == "checkpoint:withdrawn":
        state = state.replace(answer="withdrawn")
    found = checkpoints.answered(state, event)
    del found["timestamp"]
    yield found, (), {"checkpoint": [key]}


def _about(work: Work, task: Any) -> Event:
    """The plan and the number of a task of the pack."""
    named = task_of(task)
    if named is None or work.task(task).lifecycle != tasks.LIFECYCLE:
        return {}
    row = Telling(work, {}, by=work.by).rows.get(tasks.LIST, task) or {}
    return {"plan": row.get("plan", named[0].name), "task": named[1]}
