"""rspec-v1 run, and one verb for each stage."""

from __future__ import annotations

from moot.api.catalogue import Param, Verb
from moot.core.errors import MootError
from moot.packs.rspec_v1.locating import PACK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from moot.api.answer import Answer
    from moot.api.call import Call
    from moot.packs.rspec_v1.requests import Request
    from moot.runs.steps import RunOptions

_AGAIN = "no earlier result is used"
_DETERMINISTIC = ("validation", "skeleton")  # run by themselves when a later stage is asked for


def run(
    call: Call,
    path: str,
    method: str,
    class_: str | None,
    level: str | None,
    overwrite: bool,
    resume: bool,
    again: bool,
    wait: bool,
) -> Answer:
    from moot.packs.rspec_v1.document_faults import check_method
    from moot.packs.rspec_v1.requests import request_for
    from moot.runs.steps import RunOptions

    request = _absorbed(call, request_for(call, path, method, class_, level))
    check_method(call, request)
    options = RunOptions(resume=resume, again=again, wait=wait, limit=_limit(call))
    return _performed(call, request, [options], "report", overwrite=overwrite)


def _absorbed(call: Call, request: Request) -> Request:
    """The request, after what was written into its file was absorbed, whichever document that shows."""
    from moot.packs.rspec_v1.locating import documents_at

    call.sync(also=[one.id for one in documents_at(call, request.location.document)])
    return request


def analyzer(call: Call, path: str, method: str, class_: str | None, level: str | None, wait: bool) -> Answer:
    from moot.packs.rspec_v1.document_faults import check_method
    from moot.packs.rspec_v1.requests import request_for
    from moot.runs.steps import RunOptions

    request = _absorbed(call, request_for(call, path, method, class_, level))
    check_method(call, request)
    options = RunOptions(until="validation", wait=wait, limit=_limit(call))
    return _performed(call, request, [options], "document")


def _later(stage: str, wanted: str) -> Callable[..., Answer]:
    """The function of the verb of a later stage. Its target is named by one of its files."""

    def does(call: Call, path: str, wait: bool, overwrite: bool = False) -> Answer:
        from moot.packs.rspec_v1.requests import request_at
        from moot.runs.steps import RunOptions

        if stage == "reviewer" and _has_no_document(call, path):
            from moot.packs.rspec_v1.verbs.reviewing import review_alone

            return review_alone(call, path)
        limit = _limit(call)
        first = tuple(name for name in _DETERMINISTIC if name != stage)
        options = [RunOptions(only=stage, first=first, wait=wait, limit=limit)]
        if stage == "polisher":
            options.append(RunOptions(only="reviewer", wait=wait, limit=limit))
        return _performed(call, request_at(call, path), options, wanted, overwrite=overwrite)

    return does


def _has_no_document(call: Call, path: str) -> bool:
    from moot.packs.rspec_v1.requests import has_document

    return path.endswith("_spec.rb") and not has_document(call, path)


def _limit(call: Call) -> int:
    pack = next(one for one in call.packs.packs if one.name == PACK)
    return int(pack.values["parallel"])


def _performed(
    call: Call, request: Request, options: Sequence[RunOptions], wanted: str, *, overwrite: bool = False
) -> Answer:
    """Run the stages, with a line for each step on standard error, and the path of the result on standard output."""
    from moot.api.verbs.runs.site import site_of
    from moot.packs.rspec_v1.caching import CORRUPTED
    from moot.packs.rspec_v1.document_faults import put_aside
    from moot.packs.rspec_v1.sessions import cache_verdict, pipeline_for, remembered
    from moot.packs.rspec_v1.verbs.progress import Progress
    from moot.place.processes import interruptible
    from moot.runs.waves import run_targets

    call.lasting = True  # what it stores first is only the beginning
    for warning in request.location.warnings:
        call.warn("rspec_folder", warning)
    known = remembered(call, request)
    try:
        reason = cache_verdict(request, known).reason
    except OSError:  # the analyzer says that there is no source
        reason = "metadata not found"
    whole = not any(one.only or one.resume for one in options)
    again, torn = any(one.again for one in options), whole and reason == CORRUPTED
    if torn:
        put_aside(call, request)
    if again:
        reason = reason or _AGAIN
    pipeline = pipeline_for(call, request, known, (reason or "") if whole else "", overwrite=overwrite)
    if reason:
        pipeline.cached = None  # the analysis is made in full
    progress = Progress(call, request, reason)
    try:
        with interruptible():
            for one in options:
                for step in run_targets(site_of(call), pipeline, [request.target], one):
                    progress.take(step)
                    if torn and (step.stage, step.what) == ("analyzer", "passed"):
                        put_aside(call, request)  # if the log had no document before
                if progress.failed:
                    break
    except KeyboardInterrupt:
        progress.interrupted()
        raise
    review = _told(call, request, news=progress.ran("reviewer")) if progress.reached("reviewer") else ""
    return progress.answer(wanted, review)


def _told(call: Call, request: Request, *, news: bool) -> str:
    """Tell the user the verdict of the review; if it is news, also as a message in the workspace."""
    from moot.packs.rspec_v1.verbs.reviewing import tell_result

    try:
        return tell_result(call, request, news=news)
    except MootError as error:
        call.warn(error.code, error.message)
        return ""


_CLASS = Param("class_", "The class, if the source has several with such a method.")
_LEVEL = Param(
    "level", "The test level, instead of the one that is found.", choices=("unit", "integration", "request", "e2e")
)
_OVERWRITE = Param(
    "overwrite", "Replace the block of the method, which moot did not write, or somebody edited since.", type="flag"
)
_WAIT = Param("wait", "Wait while another process works on the target, instead of refusing.", type="flag")
_SOURCE = Param("path", "The source file.", positional=True, required=True)
_METHOD = Param("method", "The method: `name`, `#name` (instance) or `.name` (class).", positional=True, required=True)
_FILE = Param("path", "The spec file, the source file, or the metadata file.", positional=True, required=True)


def _stage_verb(word: str, stage: str, summary: str, wanted: str, *more: Param) -> Verb:
    return Verb(
        f"{PACK} {word}",
        summary,
        _later(stage, wanted),
        kind="local-exec",
        anybody=True,
        protocol=True,
        founds=True,
        everything=True,
        params=(_FILE, _WAIT, *more),
        examples=(f"moot rspec-v1 {word} spec/services/payment_service_spec.rb",),
    )


RUN = Verb(
    f"{PACK} run",
    "Run the whole pipeline for one method.",
    run,
    kind="local-exec",
    anybody=True,
    protocol=True,
    founds=True,
    params=(
        _SOURCE,
        _METHOD,
        _CLASS,
        _LEVEL,
        _OVERWRITE,
        Param("resume", "Go on with the last run at the stage that failed.", type="flag"),
        Param("again", "Use no earlier result.", type="flag"),
        _WAIT,
    ),
    examples=("moot rspec-v1 run app/services/payment_service.rb process_payment",),
    detail=(
        "Stages whose inputs are unchanged are not run again. Progress is on standard error; standard output has the "
        "path of the review report. Exit codes: 0 success, 1 error, 2 success with warnings."
    ),
)
ANALYZER = Verb(
    f"{PACK} analyzer",
    "Run the stages analyzer and validation for one method.",
    analyzer,
    kind="local-exec",
    anybody=True,
    protocol=True,
    founds=True,
    params=(_SOURCE, _METHOD, _CLASS, _LEVEL, _WAIT),
    examples=("moot rspec-v1 analyzer app/services/payment_service.rb process_payment",),
)
VALIDATION = _stage_verb("validation", "validation", "Run the stage validation.", "document")
SKELETON = _stage_verb("skeleton", "skeleton", "Run the stage skeleton.", "spec", _OVERWRITE)
ARCHITECT = _stage_verb("architect", "architect", "Run the stage architect.", "spec", _OVERWRITE)
IMPLEMENTER = _stage_verb("implementer", "implementer", "Run the stage implementer.", "spec")
FACTORY_OPTIMIZER = _stage_verb("factory-optimizer", "factory_optimizer", "Run the stage factory_optimizer.", "spec")
POLISHER = _stage_verb("polisher", "polisher", "Run the stage polisher, and then reviewer.", "report")
REVIEWER = _stage_verb("reviewer", "reviewer", "Review a spec file, also one without a document.", "report")
