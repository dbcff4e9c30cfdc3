"""rspec stages: what each agent reads, writes and must fulfil, as declared."""

from __future__ import annotations

from moot.api.answer import Answer
from moot.api.catalogue import Verb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.api.call import Call


def stages(call: Call) -> Answer:
    found = call.packs.protocol("rspec").pack.stages
    lines = [f"{one.name} (agent: {one.agent}): reads {_listed(one.reads)}; owns {_listed(one.owns)}" for one in found]
    return Answer(result=[one.full() for one in found], say=tuple(lines))


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names) or "nothing"


STAGES = Verb(
    "rspec stages",
    "Show the declarations of the seven stages.",
    stages,
    kind="look",
    protocol=True,
    examples=("moot rspec stages --json",),
    detail="Inputs, outputs, owned keys of the document, prerequisites, completion criteria, marker and cache rule.",
)
