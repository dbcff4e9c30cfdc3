"""Decisions: their ids, the plans that they affect, and `decisions.json`.

A decision is a decision of moot with the id `dec-001`, so `moot decisions` shows it, and moot tells the agents that run
an affected task. Agents that only use files are told through the mailbox of their role.
"""

from __future__ import annotations

from moot.core.deciders.decision import AFFECTS_LIMIT, MakeDecision
from moot.core.errors import Held
from moot.packs.gsd import tasks
from moot.packs.gsd.ids import covers, decision_id, decision_of, is_pattern, plan_of
from moot.packs.gsd.telling import FEED, plan_principal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from moot.packs.gsd.telling import Telling

LIST, SERIES = "decisions", "decision"
_TOLD = "told"  # a list: which plan was told of which decision


def decide(telling: Telling) -> None:
    """Make the decision, under its id or the next free one."""
    event = telling.event
    if "affects" not in event:
        telling.fill("affects", [], after="madeBy")
    number = allot(telling)
    patterns = [one for entry in event["affects"] for one in _names(entry)]
    if len(patterns) > AFFECTS_LIMIT:
        telling.flag(f"affects_cut: only the first {AFFECTS_LIMIT} entries of affects notify agents")
    command = MakeDecision(
        maker=plan_principal(event["madeBy"]) if telling.nameless else telling.by,
        title=event["decision"],
        rationale=event["rationale"],
        affects=tuple(dict.fromkeys(patterns))[:AFFECTS_LIMIT],
    )
    telling.work.do("decision", decision_id(number), command, pack=FEED)


def allot(telling: Telling) -> int:
    """Choose the decision's number. On a surface, an id that is taken is refused."""
    event, feed = telling.event, telling.work.state("feed", FEED)
    free = int(feed.series.get(SERIES, 0)) + 1
    while telling.work.state("decision", decision_id(free)).exists:
        free += 1
    wanted = decision_of(event.get("id"))
    if wanted is None:
        telling.event = {"type": event["type"], "id": decision_id(free), **event, "id": decision_id(free)}  # noqa: F601
    elif telling.rows.get(LIST, decision_id(wanted)) or telling.work.state("decision", decision_id(wanted)).exists:
        if not telling.from_file:
            raise Held(
                "decision_exists",
                f"The id {event['id']} is already used.",
                f"Leave the id out, or use {decision_id(free)}.",
                decision=event["id"],
                free=decision_id(free),
            )
        telling.flag(f"id_taken: {event['id']} is another decision, so this one is {decision_id(free)}")
        telling.event = {**event, "id": decision_id(free)}
    else:
        free = wanted
    telling.series[SERIES] = free
    telling.keys["decision"] = [decision_id(free)]
    return free


def _names(entry: Any) -> list[str]:
    """An entry of `affects` as patterns of task ids; none if it is free text."""
    if not is_pattern(entry):
        return []
    plan = plan_of(entry)
    if plan is not None:
        return [f"{plan.name}.*"]
    phase, hyphen, number = str(entry).partition("-")
    if not hyphen:
        return ["*"]
    parts = [
        "*" if part == "*" else f"{int(part):02d}" if n == 0 else str(int(part))
        for n, part in enumerate(phase.split("."))
    ]
    return [f"{'.'.join(parts)}-{'*' if number == '*' else f'{int(number):02d}.*'}"]


def row_of(event: dict[str, Any]) -> dict[str, Any]:
    """A decision as `decisions.json` shows it."""
    made = event.get("madeBy")
    plan = plan_of(made)
    found = {
        "id": event["id"],
        "phase": _phase(made) if plan else None,
        "plan": made,
        "madeBy": made,
        "decision": event["decision"],
        "rationale": event.get("rationale", ""),
        "affects": event["affects"],
        "timestamp": event["timestamp"],
    }
    return {key: value for key, value in found.items() if value is not None}


def _phase(plan: Any) -> str:
    """The phase as the plan id spells it."""
    return str(plan).partition("-")[0]


def track(telling: Telling) -> None:
    """`decision-tracker`: add the decision to `decisions.json`, and tell the affected plans that are running now.

    Agents of moot are told by moot itself.
    """
    telling.put(LIST, telling.event["id"], row_of(telling.event))
    running = telling.rows.between("active_agents", "", "\uffff").values()
    for plan in dict.fromkeys(row["plan"] for row in running):
        if any(covers(entry, plan) for entry in telling.event["affects"]):
            _tell(telling, telling.event["id"], telling.event["decision"], plan)


def tell_starting(telling: Telling) -> None:
    """Tell a plan that starts a task of the decisions that affect it."""
    plan = telling.event["plan"]
    for identity, row in telling.rows.between(LIST, "dec-", "dec.").items():
        if any(covers(entry, plan) for entry in row["affects"]):
            _tell(telling, identity, row["decision"], plan)


def _tell(telling: Telling, identity: str, decision: str, plan: str) -> None:
    """Tell a plan of a decision, once. Agents of moot get moot's own notice instead."""
    found = plan_of(plan)
    assert found is not None, "the plan was checked"
    key = f"{found.name}/{identity}"
    held = [row["instance"] for row in tasks.of_plan(telling.rows, found.name).values() if row["state"] == "running"]
    if telling.rows.get(_TOLD, key) is not None or not any(one.startswith("plan:") for one in held):
        return
    telling.tell((f"plan:{found.name}",), f"{identity} affects plan {plan}: {decision}", thread=identity)
    telling.put(_TOLD, key, telling.work.at)
