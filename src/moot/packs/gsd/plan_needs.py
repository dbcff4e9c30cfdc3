"""The needs that plan files declare, and plans that wait in vain.

A plan needs the artifacts that its file lists under `needs`, and what the plans of its `depends_on` make (their
`must_haves.artifacts`) until these are done. Needs are declared and dropped in the commit that takes in a changed file.
Those that somebody declared over a surface are left alone.

If a plan is done without having announced an artifact, the plans after it do not wait for it any longer. The list
`unannounced` of the feed remembers it: it is shown (`moot.packs.gsd.status`), and a late announcement still satisfies
the need.

Plans that wait in a circle are never refused, only reported.
"""

from __future__ import annotations

from moot.core.deciders.dependency import DeclareNeed, DependencyProvided, DropNeed
from moot.core.deciders.feed import Listed, ListRows
from moot.core.deciders.graph import find_path
from moot.packs.gsd.handlers import PACK
from moot.packs.gsd.rows import rows_of
from moot.packs.gsd.sources import PLANS, SUMMARIES, all_plans, plan_facts
from moot.packs.gsd.telling import FEED
from moot.views import queries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from moot.core.event import Draft
    from moot.engine.unit_of_work import Work
    from moot.packs.gsd.sources import PlanFacts
    from moot.views.store import Store

WHO = "moot"  # who declares the needs of files
UNANNOUNCED = "unannounced"  # by artifact: the plans that went on without it; since when, and who was to make it
_END = "\U0010ffff"
_PREFIXES = tuple(f"document/{PACK}.-.{mirror}." for mirror in (PLANS, SUMMARIES))
_ALL = 1 << 31


def needer(plan: str) -> str:
    """The principal of a plan that waits. `plan` is a `PlanId.name`."""
    return f"plan:{plan}"


def close(work: Work) -> None:
    """A closer: what follows from the plan files that this commit has taken in, and from plans that are done now."""
    changed = dict.fromkeys(plan for draft in work.drafts for plan in _concerned(draft))
    if changed:
        rows = rows_of(work, FEED)
        settle(work, changed, lambda plan: rows.get("completed_plans", plan) is not None)
    for name in [draft.stream.partition("/")[2] for draft in work.drafts if draft.type == DependencyProvided.type]:
        ask_again(work, name)


def ask_again(work: Work, artifact: str) -> None:
    """Declare the needs of the plans that went on without an artifact that is announced now."""
    row = rows_of(work, FEED).get(UNANNOUNCED, artifact)
    if row is not None:
        work.do("feed", FEED, ListRows(list=UNANNOUNCED, drops=(artifact,)))
        for plan in row:
            work.do("dependency", artifact, DeclareNeed(needer=needer(plan), who=WHO), pack=PACK)


def _concerned(draft: Draft) -> Iterable[str]:
    """The plan whose file a draft is about, or the plans that it lists as completed, or no longer."""
    if draft.stream.startswith(_PREFIXES):
        return (draft.stream.split(".", 3)[3],)
    if draft.type == Listed.type and draft.data["list"] == "completed_plans":
        return (*draft.data.get("puts", ()), *draft.data.get("drops", ()))
    return ()


def settle(work: Work, changed: Iterable[str], done: Callable[[str], bool] = lambda _plan: False) -> None:
    """Declare and drop needs, as the files say, after these plans have changed. `done`: plans that are done anyway."""
    news = set(changed)
    plans = {name: plan_facts(work, name) for name in (*all_plans(work.store), *sorted(news))}
    known = _declared(work.store)
    for name, facts in plans.items():
        if name not in news and news.isdisjoint(facts.depends_on):
            continue
        wanted, had = wants(facts, plans, done), known.get(name, set())
        promised = {} if facts.summary or done(name) else _promised(facts, plans)
        _forget(work, name, kept={*promised} - {*wanted})
        for artifact in wanted:
            work.do("dependency", artifact, DeclareNeed(needer=needer(name), who=WHO), pack=PACK)
        for artifact in sorted(had - {*wanted}):
            need = work.state("dependency", artifact)
            if need.waiting.get(needer(name)) == WHO:
                work.do("dependency", artifact, DropNeed(needer=needer(name)), pack=PACK)
                if artifact in promised:
                    row = {name: {"since": need.since[needer(name)], "from": promised[artifact]}}
                    work.do("feed", FEED, ListRows(list=UNANNOUNCED, puts={artifact: row}, merges=True))


def wants(facts: PlanFacts, plans: Mapping[str, PlanFacts], done: Callable[[str], bool]) -> tuple[str, ...]:
    """What a plan needs by its file, in order."""
    if facts.summary or done(facts.id):
        return ()
    before = [plans[name] for name in facts.depends_on if name in plans]
    made = [path for one in before if not (one.summary or done(one.id)) for path in one.makes]
    return tuple(dict.fromkeys(path for path in (*facts.needs, *made) if path not in facts.makes))


def _promised(facts: PlanFacts, plans: Mapping[str, PlanFacts]) -> dict[str, str]:
    """What the plans before a plan make, done or not: each path with its plan."""
    return {path: name for name in reversed(facts.depends_on) if name in plans for path in plans[name].makes}


def _forget(work: Work, plan: str, kept: Collection[str]) -> None:
    """Forget what the plan went on without, except for these artifacts."""
    for artifact, row in rows_of(work, FEED).between(UNANNOUNCED, "", _END).items():
        if plan in row and artifact not in kept:
            change = {"puts": {artifact: {plan: None}}, "merges": True} if len(row) > 1 else {"drops": (artifact,)}
            work.do("feed", FEED, ListRows(list=UNANNOUNCED, **change))


def _declared(store: Store) -> dict[str, set[str]]:
    """The artifacts that plans wait for because a file says so, by plan."""
    found: dict[str, set[str]] = {}
    for need in queries.things(store, "dependency", _ALL):
        for who, declared_by in need.waiting.items():
            if who.startswith("plan:") and declared_by == WHO:
                found.setdefault(who.removeprefix("plan:"), set()).add(need.id)
    return found


def circles(waits_for: Mapping[str, Collection[str]]) -> list[tuple[str, ...]]:
    """The circles among plans: each a plan, those it waits for, and the plan again. No plan is in two of them."""
    found: list[tuple[str, ...]] = []
    within: set[str] = set()
    for plan in waits_for:
        if plan in within:
            continue
        ways = (find_path(waits_for, before, plan) for before in waits_for[plan])
        way = min((one for one in ways if one is not None), key=len, default=None)
        if way is not None:
            found.append((plan, *way))
            within.update(way)
    return found
