"""Whether the results for a source file are valid: the conditions of the protocol, and those that times cannot show."""

from __future__ import annotations

import os

from moot.core.errors import Unknown
from moot.core.flat_json import unflatten
from moot.core.record import Record
from moot.packs.rspec.agents import AGENTS, REVIEWER, is_completed, snake
from moot.packs.rspec.cover_targets import project_of
from moot.packs.rspec.slugs import slug_of
from moot.views import states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from moot.api.call import Call

_KEYS = {"/methods": "name", "/behaviors": "id", "/methods_to_analyze": "name"}


class RspecCache(Record):
    """`reasons`: the conditions that do not hold. `missing`: markers that are not true. The times are in seconds."""

    slug: str
    valid: bool
    reasons: tuple[str, ...] = ()
    source_mtime: int | None = None
    file_mtime: int | None = None
    missing: tuple[str, ...] = ()


def cache_state(call: Call, source: str) -> RspecCache:
    """The state for a source file or a slug."""
    project = project_of(call, call.packs.protocol("rspec").settings or {})
    slug = slug_of(source) if source.endswith(".rb") else source
    state, _ = states.state(call.engine.read(), "document", project.document(slug).key)
    if not state.status:
        if source.endswith(".rb") and not os.path.isfile(os.path.join(project.root, source)):
            raise Unknown("no_such_file", f"There is no file {source[:200]}.", "Check the path.", path=source[:200])
        return RspecCache(slug, valid=False, reasons=("there is no document",))
    document = unflatten(state.leaves, _KEYS)
    path = os.path.join(project.root, str(document.get("source_file", "")))
    mtime = os.stat(path).st_mtime_ns if os.path.isfile(path) else None
    return judged(slug, document, None if mtime is None else mtime // 1_000_000_000, _changed(call, slug, mtime))


def judged(slug: str, document: Mapping[str, Any], mtime: int | None, more: tuple[str, ...] = ()) -> RspecCache:
    """The conditions, in the order of the protocol. `mtime`: of the source now; None if it is gone."""
    reasons = []
    known = document.get("source_mtime")
    if mtime is None:
        reasons.append(f"the source {document.get('source_file')} does not exist")
    elif known != mtime:
        reasons.append(f"source_mtime is {known}, and the file's is {mtime}")
    missing = tuple(f"{snake(agent)}_completed" for agent in AGENTS if not is_completed(document, agent))
    if missing:
        reasons.append(f"not completed: {', '.join(missing)}")
    errors = (document.get("automation") or {}).get("errors") or ()
    if errors:
        reasons.append(f"the last review or a stage had errors: {errors[0]}")
    reasons += more
    return RspecCache(slug, not reasons, tuple(reasons), known, mtime, missing)


def _changed(call: Call, slug: str, mtime: int | None) -> tuple[str, ...]:
    """What the step keys of the last run say: contents, the selection, versions and the base commit."""
    from moot.packs.rspec.cover_options import CoverOptions
    from moot.packs.rspec.cover_run import Cover, newest_of
    from moot.packs.rspec.pipeline import RspecPipeline
    from moot.pipelines.planning import planned
    from moot.pipelines.steps import RunOptions

    parent = newest_of(call, slug)
    if parent is None or mtime is None:
        return () if parent is not None else ("no run has worked on it",)
    cover = Cover(call, parent.parameters, CoverOptions(), parent.id)
    target = cover.reached(slug)
    pipeline = RspecPipeline(cover.protocol.pack, {target.id: cover.surroundings(target)})
    stages = planned(call, pipeline, target, RunOptions()).stages
    first = next((one for one in stages if not one.reused and one.stage != REVIEWER), None)  # a review is run each time
    return () if first is None else (f"{first.stage} would run: {first.reason}",)
