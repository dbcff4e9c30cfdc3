"""Prepares the pipeline for one request: settings, consent, the document, and an earlier analysis."""

from __future__ import annotations

import os

from moot.core import flat_json
from moot.core.json_codec import loads
from moot.core.record import Record
from moot.core.run import BEHIND
from moot.packs.rspec_v1 import analysis, caching
from moot.packs.rspec_v1.analyzing import Cached, options_of, source_state
from moot.packs.rspec_v1.caching import AnalysisTarget, CacheVerdict, Recorded
from moot.packs.rspec_v1.locating import PACK
from moot.packs.rspec_v1.method_block import NoBlock, find_block
from moot.packs.rspec_v1.pipeline import RspecV1Pipeline
from moot.packs.rspec_v1.validation import is_built_in
from moot.packs.ruby.own_blocks import written
from moot.packs.ruby.regular_files import read_regular
from moot.runs.history import runs_of
from moot.views import states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from moot.api.call import Call
    from moot.api.protocol import Pack
    from moot.core.handler import Handler
    from moot.packs.rspec_v1.locating import Location
    from moot.packs.rspec_v1.requests import Request

_LARGEST = 64 << 20
_ANALYSIS = ("analyzer", "validation")


class Remembered(Record):
    """What the log has about a target: its document, and what its newest analysis has recorded besides that."""

    document: dict[str, Any] | None
    kept: dict[str, Any] | None


def remembered(call: Call, request: Request) -> Remembered:
    return Remembered(document_of(call, request.key), recorded_with(call, request.target.id))


def pipeline_for(call: Call, request: Request, known: Remembered, fault: str, *, overwrite: bool) -> RspecV1Pipeline:
    """The pipeline, ready for this request. `fault`: why the cached document cannot be used."""
    pack = pack_of(call)
    if fault:  # the analysis is made in full, and checked again
        fresh = [one.replace(cache="never") if one.name in _ANALYSIS else one for one in pack.stages]
        pack = pack.replace(stages=tuple(fresh))
    pipeline = RspecV1Pipeline(pack)
    pipeline.own = None if overwrite else _own(call, request)
    pipeline.document = lambda: document_of(call, request.key)
    pipeline.allows = lambda program: _allows(call, program)
    pipeline.cached = None if fault else _cached(request, known)
    return pipeline


def _own(call: Call, request: Request) -> frozenset[bytes] | None:
    """The blocks of the method that stages have left in the spec file."""

    def blocks(data: bytes) -> set[bytes]:
        try:
            return {find_block(data, request.target.parameters).data}
        except NoBlock:
            return set()

    runs = runs_of(call.engine.read(), request.target.id)
    return written(runs, request.location.spec, "skeleton", call.blob, blocks)


def _allows(call: Call, program: Handler) -> bool:
    from moot.api.verbs.effects.allow import consent_of

    return consent_of(call).allows(program)


def pack_of(call: Call) -> Pack:
    return next(one for one in call.packs.packs if one.name == PACK)


def document_of(call: Call, key: str) -> dict[str, Any] | None:
    """The document, as the log has it; None if there is none."""
    state, _ = states.state(call.engine.read(), "document", key)
    return flat_json.unflatten(state.leaves, {}) if state.status else None


def recorded_with(call: Call, target: str) -> dict[str, Any] | None:
    """What the newest analysis of a target has recorded besides the document; None if there was none."""
    for run in runs_of(call.engine.read(), target):
        for attempt in reversed(run.tries_of("analyzer")):
            if attempt.status in BEHIND and attempt.answer is not None:
                found = loads(call.blob(attempt.answer).decode("utf-8"))
                return found if isinstance(found, dict) and "nanoseconds" in found else None
    return None


def _cached(request: Request, known: Remembered) -> Cached | None:
    """The analysis that a new one may start from: moot's own, or a valid document of another program in the file."""
    kept, document = known.kept, known.document
    if kept is not None and document is not None and all(name in document for name in ("analyzer", "target")):
        lines, warnings = kept.get("lines") or {}, tuple(kept.get("warnings") or ())
        return Cached(document=document, recorded=Recorded.of(kept), lines=lines, warnings=warnings)
    foreign = foreign_document(request.location)
    if foreign is None or document is not None:
        return None
    verdict = verdict_on(request.location, wanted_of(request), foreign, None)
    return Cached(document=foreign, recorded=None) if verdict.valid else None


def foreign_document(location: Location) -> dict[str, Any] | None:
    from moot.packs.rspec_v1.locating import read_document

    return read_document(location.document_file)


def wanted_of(request: Request) -> AnalysisTarget:
    asked = request.target.parameters
    return AnalysisTarget(
        file=request.location.project.source,
        class_name=asked.get("class"),
        method=asked.get("method"),
        method_type=asked.get("method_type"),
    )


def verdict_on(
    location: Location,
    wanted: AnalysisTarget,
    document: dict[str, Any] | None,
    recorded: Recorded | None,
    options: str = "",
) -> CacheVerdict:
    """Go through the steps of the cache check for the source as it is now."""
    state = source_state(*read_regular(location.project.absolute, _LARGEST))
    torn = document is None and os.path.exists(location.document_file)
    return caching.judge(document, state, wanted, recorded, version=analysis.VERSION, options=options, corrupted=torn)


def cache_verdict(request: Request, known: Remembered) -> CacheVerdict:
    """The verdict for a request: on the file; if that shows another target, on the document in the log."""
    shown, kept = foreign_document(request.location), known.kept
    other = shown is not None and known.document is not None and not _is_same_target(shown, known.document)
    document = known.document if other else shown
    recorded = Recorded.of(kept) if kept is not None and document is not None and is_built_in(document) else None
    options = options_of(request.target.parameters)
    return verdict_on(request.location, wanted_of(request), document, recorded, options)


def _is_same_target(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return one.get("target") == other.get("target")
