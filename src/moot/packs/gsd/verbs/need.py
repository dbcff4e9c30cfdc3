"""gsd need: declare the artifacts that a plan needs."""

from __future__ import annotations

from moot.api.answer import Answer
from moot.api.catalogue import KEY, Param, Verb
from moot.core.deciders.dependency import DropNeed
from moot.core.errors import Usage
from moot.core.record import Record
from moot.packs.gsd import needs, status, status_lines
from moot.packs.gsd.ids import plan_of
from moot.packs.gsd.telling import FEED, plan_principal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.api.call import Call
    from moot.engine.unit_of_work import Work
    from moot.packs.gsd.status_records import MissingArtifact


class PlanNeeds(Record):
    """The artifacts that a plan waits for after the call. `ready`: it waits for nothing."""

    plan: str
    missing: tuple[MissingArtifact, ...]
    ready: bool


def need(call: Call, plan: str, artifacts: tuple[str, ...], drop: bool) -> Answer:
    found = plan_of(plan)
    if found is None:
        raise Usage(
            "bad_arguments", f"{plan!r} is not a plan such as 01-02.", "For example: moot gsd need 01-02 src/a.ts"
        )
    wanted = tuple(dict.fromkeys(artifacts))

    def act(work: Work) -> None:
        actor = call.actor(work)
        if not drop:
            needs.declare(work, found.name, wanted, actor.name)
            return
        for artifact in wanted:
            work.do("dependency", artifact, DropNeed(needer=plan_principal(found.name)), pack=FEED)

    call.commit(act)
    one = status.plan_status(call, found.name)
    result = PlanNeeds(plan=found.name, missing=one.missing, ready=one.may_go_on)
    return Answer(result=result, say=(status_lines.waits_for(one),))


NEED = Verb(
    "gsd need",
    "Declare the artifacts that a plan needs before it can go on.",
    need,
    kind="own",
    params=(
        Param("plan", "Such as 01-02.", positional=True, required=True),
        Param(
            "artifacts",
            "Paths from the root of the project, or names.",
            positional=True,
            many=True,
            required=True,
            limit=4096,
        ),
        Param("drop", "The plan no longer needs them.", type="flag"),
        KEY,
    ),
    examples=("moot gsd need 01-02 src/models/user.ts",),
    detail=(
        "The plan is listed as waiting (`moot gsd waiting`) until all of them are on the blackboard: then "
        "dependency:satisfied names it, and `moot gsd wait --plan` ends. The order does not matter: what exists "
        "already is satisfied at once. Needs that a plan file lists are declared without this command."
    ),
)
