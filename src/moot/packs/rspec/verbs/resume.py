"""rspec resume: go on with a run. rspec stage: run one stage of one document."""

from __future__ import annotations

from moot.api.catalogue import Param, Verb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.api.answer import Answer
    from moot.api.call import Call

LIMIT = Param("limit", "How many documents of a wave may run at once.", type="int")
LEVEL = Param("level", "The level of methods that are unclear: unit, integration or request.")
EXISTING = Param("existing", "What happens to blocks that you changed: overwrite, keep or append.")
GATE_CHOICE = Param("gate", "What happens after failed tests of a wave: skip or abort.", person=True)
KEEP = Param(
    "keep",
    "Keep what you wrote into a spec file, outside the blocks of its methods, while a stage ran that failed.",
    type="flag",
    person=True,
)
OUTPUT = Param("output", "Show the output of the agents' commands.", type="flag")
RUNNING = (LIMIT, LEVEL, EXISTING, GATE_CHOICE, KEEP, OUTPUT)


def resume(
    call: Call,
    run: str | None,
    limit: int | None,
    level: str | None,
    existing: str | None,
    gate: str | None,
    keep: bool,
    output: bool,
) -> Answer:
    from moot.packs.rspec import cover, cover_history, cover_run
    from moot.packs.rspec.cover_options import options_of

    call.lasting = True
    options = options_of(limit, level, existing, gate, keep=keep, output=output)
    last = None if run else cover_history.last_run(call)
    if last is not None and last.open and cover.SELECTION in last.stages:  # it waits for the selection
        return cover.proceed(call, last, options)
    return cover_run.resume(call, run or "", options)


def stage(call: Call, slug: str, name: str, keep: bool, output: bool) -> Answer:
    from moot.packs.rspec import single_stage

    return single_stage.run(call, slug, name, keep=keep, output=output)


RESUME = Verb(
    "rspec resume",
    "Go on with the last run, or with the one named.",
    resume,
    kind="local-exec",
    protocol=True,
    params=(
        Param("run", "The run over waves. Default: the last one.", positional=True),
        *RUNNING,
    ),
    examples=("moot rspec resume", "moot rspec resume --gate skip"),
    detail=(
        "Stages that have passed are used again while nothing that they read has changed. The run starts at the first "
        "other one, and says why. An answer that you gave to a question of the run is used."
    ),
)
STAGE = Verb(
    "rspec stage",
    "Run one stage of one document.",
    stage,
    kind="local-exec",
    protocol=True,
    params=(
        Param("slug", "The document, such as app_models_payment.", positional=True, required=True),
        Param("name", "The stage, such as test-implementer.", positional=True, required=True),
        KEEP,
        OUTPUT,
    ),
    examples=("moot rspec stage app_models_payment test-implementer",),
    detail="The stages before it must have passed, and what they read must be the same. Only the slug is needed.",
)
