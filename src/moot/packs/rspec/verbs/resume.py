"""rspec resume: go on with a run. rspec stage: run one stage of one document."""

from __future__ import annotations

from moot.api.catalogue import Param, Verb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from moot.api.answer import Answer
    from moot.api.call import Call

OVERWRITE = Param(
    "overwrite", "Replace blocks that moot did not write, or that somebody edited since.", type="flag", person=True
)
OUTPUT = Param("output", "Show the output of the agents' commands.", type="flag")
RUNNING = (
    Param("limit", "How many documents of a wave may run at once. Default: the setting `parallel`.", type="int"),
    Param("again", "Use no earlier result.", type="flag"),
    OVERWRITE,
    Param("continue_", "Go on without the methods whose tests failed.", type="flag", person=True),
    OUTPUT,
)


def resume(
    call: Call, run: str | None, limit: int | None, again: bool, overwrite: bool, continue_: bool, output: bool
) -> Answer:
    from moot.packs.rspec import cover, cover_run

    call.lasting = True
    options = options_of(limit, again, overwrite, continue_, output)
    last = None if run else next((one for one in cover_run.runs(call) if one.parent is None), None)
    if last is not None and last.open and cover.SELECTION in last.stages:  # it waits for the selection
        return cover.proceed(call, last, options)
    return cover_run.resume(call, run or "", options)


def options_of(limit: int | None, again: bool, overwrite: bool, go_on: bool, output: bool) -> Any:
    from moot.core.errors import Usage
    from moot.packs.rspec.cover_run import CoverOptions

    if limit is not None and limit < 1:
        raise Usage("bad_limit", "--limit must be at least 1.", "For example: --limit 4")
    return CoverOptions(limit or 0, again, overwrite, go_on, output)


def stage(call: Call, slug: str, name: str, overwrite: bool, output: bool) -> Answer:
    from moot.packs.rspec import cover_run

    return cover_run.stage(call, slug, name, cover_run.CoverOptions(overwrite=overwrite, output=output))


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
    examples=("moot rspec resume", "moot rspec resume --continue"),
    detail=(
        "Stages that have passed are used again while nothing that they read has changed. The run starts at the first "
        "other one, and says why."
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
        OVERWRITE,
        OUTPUT,
    ),
    examples=("moot rspec stage app_models_payment test-implementer",),
    detail="The stages before it must have passed, and what they read must be the same. Only the slug is needed.",
)
