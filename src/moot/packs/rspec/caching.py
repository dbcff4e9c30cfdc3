"""Whether the results for a source file are valid: the conditions of the protocol, and those that times cannot show."""

from __future__ import annotations

import os

from moot.core.errors import Unknown
from moot.core.flat_json import difference, unflatten
from moot.core.record import Record
from moot.packs.rspec.agents import AGENTS, REVIEWER, is_completed, snake
from moot.packs.rspec.cover_targets import project_of
from moot.packs.rspec.slugs import slug_of
from moot.views import states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from moot.api.call import Call
    from moot.core.run import Run

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
    key = project.document(slug).key
    state, _ = states.state(call.engine.read(), "document", key)
    if not state.status:
        if source.endswith(".rb") and not os.path.isfile(os.path.join(project.root, source)):
            raise Unknown("no_such_file", f"There is no file {source[:200]}.", "Check the path.", path=source[:200])
        return RspecCache(slug, valid=False, reasons=("there is no document",))
    document = unflatten(state.leaves, _KEYS)
    path = os.path.join(project.root, str(document.get("source_file", "")))
    mtime = os.stat(path).st_mtime_ns if os.path.isfile(path) else None
    more = (*_edited(call, key, state.leaves), *_changed(call, slug, mtime))
    return judged(slug, document, None if mtime is None else mtime // 1_000_000_000, more)


def _edited(call: Call, key: str, leaves: Mapping[str, Any]) -> Iterator[str]:
    """What a person changed in the file of the document. It is taken over when the next run begins."""
    for file in call.mirrors.document_files(call, key) if call.mirrors is not None else ():
        if file.fault:
            yield f"{file.path} cannot be parsed: {file.fault}"
        elif not file.exists:
            yield f"{file.path} was deleted: the next run starts the document over"
        elif file.leaves is not None and (news := difference(leaves, file.leaves).pointers):
            more = f" and {len(news) - 3} more" if len(news) > 3 else ""
            yield f"{file.path} was edited: {', '.join(news[:3])}{more}"


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
    from moot.packs.rspec.cover_run import CoverOptions, newest_of, run_named

    try:
        cover, target = newest_of(call, slug, CoverOptions())
    except Unknown:
        return ("no run has worked on it",)
    if mtime is None:
        return ()
    reasons = _moved(call, run_named(call, cover.id))
    first = next((one for one in cover.planned(target) if not one.reused), None)
    if first is None or first.stage == REVIEWER:  # a review is run each time
        return reasons
    return (*reasons, f"{first.stage} would run: {first.reason}")


def _moved(call: Call, parent: Run) -> tuple[str, ...]:
    """Whether the base is another commit now than in the run."""
    from moot.packs.rspec.changes import base_now

    discovery = states.state(call.engine.read(), "run", str(parent.parameters.get("discovery") or ""))[0]
    asked = discovery.parameters.get("asked") or (call.packs.protocol("rspec").settings or {}).get("base") or None
    then = str(parent.parameters["base"])
    now = base_now(call.place, str(parent.parameters["mode"]), asked)
    return (f"the base was {then[:12]}, and is {now[:12]}",) if now and then and now != then else ()
