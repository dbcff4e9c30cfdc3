"""specflow gate: ask for a gate of the wave, and perform what is queued here."""

from __future__ import annotations

from moot.api.answer import Answer
from moot.api.catalogue import Param, Verb
from moot.core.deciders.run import PASSED
from moot.core.errors import AwaitedFailed, Usage
from moot.core.run import RunOpened
from moot.core.text import command_line
from moot.packs.specflow import team
from moot.packs.specflow.gates import CONTRACTS, JOURNEYS, REGRESSION, TIER2, TIER3, queue, work_off
from moot.packs.specflow.protocol import TIERS
from moot.packs.specflow.team import PACK
from moot.views import states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from moot.api.call import Call
    from moot.core.run import Run
    from moot.engine.unit_of_work import Work
    from moot.runs.site import Site

_COMMANDS = {None: (CONTRACTS, JOURNEYS, REGRESSION), TIER2: (CONTRACTS, JOURNEYS), TIER3: (REGRESSION,)}


def gate(call: Call, tier: str | None, accept: bool) -> Answer:
    from moot.api.verbs.runs.site import site_of
    from moot.runs.commands import granted

    if accept and tier is None:
        raise Usage("bad_arguments", "--accept is for one gate.", "Name it: tier2 or tier3.")
    site = site_of(call)
    for command in site.commands:
        if command.pack == PACK and command.stage in _COMMANDS[tier]:
            granted(site.consent, command)
    return Answer(result=[], more=_performed(call, site, _asked(call, tier, accept) if tier else ""))


def _asked(call: Call, tier: str, accept: bool) -> str:
    """Ask for a gate, as its message does. Returns the id of its run."""
    spec = call.packs.find(next(kind for kind, of in TIERS.items() if of == tier), PACK)
    wave = team.live(call.engine.read())
    assert spec is not None
    about: dict[str, Any] = {"wave": wave.number if wave is not None else 0}
    if tier == TIER2:
        due = team.issues_of(call.engine.read(), wave.issues if wave is not None else ())
        about = {"issues": [one.number for one in due if one.status != team.DEFERRED]}
    saying = call.packs.saying(call, spec, {"type": spec.word, **about, **({"accept": True} if accept else {})})

    def act(work: Work) -> None:
        call.packs.hear(work, saying.replace(sender=call.actor(work)))

    outcome = call.commit(act)
    for one in saying.facts.get("findings", ()) if accept else ():
        call.report(f"accepted: {one}")
    return next(event.stream.partition("/")[2] for event in outcome.events if event.type == RunOpened.type)


def _performed(call: Call, site: Site, asked: str) -> Iterator[Answer]:
    """Work the queue off until it is empty. Another process may perform the gate that was asked for."""
    from moot.place.processes import interruptible
    from moot.runs.seats import listen

    protocol: Any = call.packs.protocol(PACK)

    def result() -> Run:
        run: Run = states.state(call.engine.read(), "run", asked)[0]
        return run

    with interruptible():
        while queue(call.engine.read()):
            for run in work_off(site, protocol, show=call.output):
                if run.id != asked:
                    yield Answer(result=run, say=(_line(run),))
            if asked and not result().open:
                break
            listen(site)
    if not asked:
        return
    if (run := result()).outcome != PASSED:
        log = command_line("run log", asked)
        raise AwaitedFailed(
            "gate_failed", f"The gate {asked} {run.outcome}: {run.reason}", f"`{log}` shows what it wrote.", run=asked
        )
    yield Answer(result=run, say=(_line(run),))


def _line(run: Run) -> str:
    counts = ", ".join(f"{number} {name}" for name, number in run.counts.items())
    return f"{run.id}: {run.parameters['tier']} of {run.task} {run.outcome}{f' ({counts})' if counts else ''}" + (
        f": {run.reason}" if run.reason else ""
    )


GATE = Verb(
    "specflow gate",
    "Ask for a gate of the wave, and run the gates that are queued.",
    gate,
    kind="local-exec",
    params=(
        Param("tier", "tier2 (the wave) or tier3 (the whole suite).", positional=True, choices=(TIER2, TIER3)),
        Param(
            "accept",
            "tier2: accept the findings that are listed. tier3: take the results as the new baseline.",
            type="flag",
        ),
    ),
    examples=("moot specflow gate", "moot specflow gate tier2", "moot specflow gate tier3 --accept"),
    detail=(
        "One gate runs at a time, in the order in which they were asked for. While a driver runs, it performs them, "
        "and this command waits for its own. Exit codes: 0 passed, 1 refused, 6 failed."
    ),
)
