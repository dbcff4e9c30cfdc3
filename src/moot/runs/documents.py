"""The document of a target: what a stage sees of it, who owns which part, and the changes that a stage's end makes.

Pure, except that it reads the views. The commands are decided by `moot.core.deciders.document`, in the commit that also
starts or ends the stage: so a marker is never true without the record that the stage has passed.
"""

from __future__ import annotations

from moot.core import flat_json
from moot.core.deciders.document import MOOT, ChangeDocument, OpenDocument
from moot.core.record import Record
from moot.views import queries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from moot.core.deciders.document import Document
    from moot.runs.contract import DocumentRef
    from moot.runs.stage import PipelinePack, Stage
    from moot.views.store import Store

FILE = "file"  # the author of what is absorbed while no stage runs


def open_keys(store: Store) -> set[str]:
    """The documents that have an open run."""
    return {run.document for run in queries.things(store, "run") if run.document}


def owners_of(pack: PipelinePack, author: str) -> dict[str, str]:
    """Patterns of pointers, each with its owner.

    A stage leaves the parts of the other stages alone. A person may change everything except what says how the run
    went: markers, values that are set with them, and the lists of errors and warnings.
    """
    found = dict.fromkeys(pack.pipeline.shared if pack.pipeline is not None else (), MOOT)
    for stage in pack.stages:
        own = dict.fromkeys(marks(stage), MOOT) if author == FILE else dict.fromkeys(owned(stage), stage.name)
        found |= {pointer: owner for pointer, owner in own.items() if pointer not in found}
    return found


def owned(stage: Stage) -> tuple[str, ...]:
    """The pointers of a stage: those that it changes, and those that the engine sets for it."""
    return tuple(dict.fromkeys((*stage.owns, *marks(stage))))


def marks(stage: Stage) -> tuple[str, ...]:
    """The pointers that the engine sets for a stage."""
    return (*([stage.marker] if stage.marker else ()), *stage.sets, *stage.claims, *stage.skips)


def author_of(store: Store, document: str) -> str:
    """The stage that works on a document now; `file` if there is none."""
    for run in queries.things(store, "run"):
        if run.document == document and run.running is not None:
            return str(run.running.stage)
    return FILE


def keys_of(pack: PipelinePack) -> Mapping[str, str]:
    """The patterns of the lists in a document whose items have a key."""
    name = pack.pipeline.document if pack.pipeline is not None else ""
    spec = next((mirror for mirror in pack.mirrors if mirror.name == name), None)
    found: Mapping[str, str] = spec.fields.get("keys", {}) if spec is not None else {}
    return found


def changed(
    keys: Mapping[str, str], leaves: Mapping[str, Any], values: Mapping[str, Any], removed: Iterable[str] = ()
) -> dict[str, Any]:
    """The leaves after values were set at their pointers, and others were removed."""
    found = dict(leaves)
    for pointer in removed:
        found = _without(found, pointer)
    for pointer, value in values.items():
        found = _without(found, pointer, above=True) | flat_json.flatten(_nested(pointer, value), keys)
    return found


def _without(leaves: Mapping[str, Any], pointer: str, *, above: bool = False) -> dict[str, Any]:
    """The leaves outside a pointer. `above`: also without a leaf that would contain it."""
    start = f"{pointer}/"
    return {
        at: value
        for at, value in leaves.items()
        if at != pointer and not at.startswith(start) and not (above and pointer.startswith(f"{at}/"))
    }


def _nested(pointer: str, value: Any) -> dict[str, Any]:
    for name in reversed(pointer.split("/")[1:]):
        value = {name.replace("~1", "/").replace("~0", "~"): value}
    found: dict[str, Any] = value
    return found


# --- what a stage sees ------------------------------------------------------------------------------------------------


def seen(stage: Stage, leaves: Mapping[str, Any]) -> dict[str, Any]:
    """The leaves that a stage gets: the parts that it sees, or everything."""
    if not stage.sees:
        return dict(leaves)
    sees = flat_json.covering(stage.sees)
    return {at: value for at, value in leaves.items() if sees(at)}


def inputs(pack: PipelinePack, stage: Stage, leaves: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """What a stage's result depends on, by pointer: what it sees, without what it, later stages or moot write.

    What the pipeline calls incidental is left out, too.
    """
    names = [one.name for one in pack.stages]
    later = pack.stages[names.index(stage.name) :]
    foreign = [pointer for one in later for pointer in one.owns]
    foreign += [pointer for one in pack.stages for pointer in marks(one)]
    foreign += (*pack.pipeline.shared, *pack.pipeline.incidental) if pack.pipeline is not None else ()
    is_foreign = flat_json.covering(foreign)
    found: dict[str, dict[str, Any]] = {pointer: {} for pointer in stage.sees}
    for at, value in seen(stage, leaves).items():
        if not is_foreign(at):
            group = next((one for one in stage.sees if flat_json.covers(one, at)), "/" + at.split("/")[1])
            found.setdefault(group, {})[at] = value
    return found


def below(leaves: Mapping[str, Any], pointer: str) -> dict[str, Any]:
    """The leaves at and below a pointer."""
    inside = flat_json.covering((pointer,))
    return {at: value for at, value in leaves.items() if inside(at)}


def is_below(at: str, pointers: Sequence[str]) -> bool:
    """Whether a pointer is one of these, or below one."""
    return any(flat_json.covers(pointer, at) for pointer in pointers)


# --- what the end of a stage changes ----------------------------------------------------------------------------------


def marked(stage: Stage, reason: str = "") -> dict[str, Any]:
    """The values that show that a stage has passed; with a reason, that it was skipped."""
    found = {stage.marker: True, **stage.sets} if stage.marker else dict(stage.sets)
    skips = {at: reason if value == "{reason}" else value for at, value in stage.skips.items()}
    return {**found, **skips} if reason else found


def unmarked(stages: Iterable[Stage]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The values that show that stages have not passed, and the pointers to remove."""
    found: dict[str, Any] = {}
    removed: list[str] = []
    for stage in stages:
        found |= {stage.marker: False} if stage.marker else {}
        found |= {at: False for at, value in stage.sets.items() if value is True}
        removed += (*stage.claims, *stage.skips)
    return found, tuple(removed)


def unearned(pack: PipelinePack, leaves: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, str]:
    """Why markers among these values are not accepted, by pointer.

    It is the first stage before it that has not completed, if there is one.
    """
    found: dict[str, str] = {}
    for number, stage in enumerate(pack.stages):
        before = [one for one in pack.stages[:number] if one.marker and leaves.get(one.marker) is not True]
        why = f"{before[0].said} has not completed" if before else f"only a run that has checked {stage.said} sets it"
        found |= {
            pointer: why
            for pointer in (stage.marker, *stage.sets, *stage.claims)
            if pointer and values.get(pointer) is True
        }
    return found


def noted(leaves: Mapping[str, Any], pointer: str, label: str, texts: Sequence[str] | None) -> dict[str, Any]:
    """The list at a pointer without the old entries of a stage, and with its new ones. None: only the old ones go."""
    before = leaves.get(pointer)
    entries = [str(one) for one in before] if isinstance(before, (list, tuple)) else []
    kept = [one for one in entries if not one.startswith(f"{label}: ")]
    after = [*kept, *(f"{label}: {text}" for text in texts or ())]
    return {pointer: after} if pointer and (after != entries or (texts and before is None)) else {}


def ref_of(state: Document) -> DocumentRef:
    """Where an open document is."""
    from moot.runs.contract import DocumentRef as Ref

    return Ref(state.id, mirror=state.mirror, worktree=state.worktree, subject=state.subject, path=state.path)


class DocumentChange(Record):
    """A change of a document by one author."""

    author: str
    values: Mapping[str, Any] = {}
    removed: tuple[str, ...] = ()


def commands(
    pack: PipelinePack, ref: DocumentRef, state: Document, changes: Sequence[DocumentChange]
) -> list[OpenDocument | ChangeDocument]:
    """The commands that carry out changes. The first one opens the document if there is none."""
    keys, leaves = keys_of(pack), dict(state.leaves)
    found: list[OpenDocument | ChangeDocument] = []
    for change in changes:
        values = change.values.items()
        kept = not change.removed or not any(map(flat_json.covering(change.removed), leaves))
        if kept and all(at in leaves and flat_json.same(leaves[at], value) for at, value in values):
            continue
        after = changed(keys, leaves, change.values, change.removed)
        difference = flat_json.difference(leaves, after)
        if not difference.pointers:
            continue
        if not state.status and not found:
            place = {"worktree": ref.worktree, "subject": ref.subject, "path": ref.path}
            found.append(OpenDocument(mirror=ref.mirror, leaves=after, **place))
        else:
            items = [at for at in difference.gone if any(at.startswith(f"{item}/") for item in change.removed)]
            owners = {**dict.fromkeys(items, change.author), **owners_of(pack, change.author)}
            news = difference
            found.append(ChangeDocument(author=change.author, set=news.set, gone=news.gone, owners=owners))
        leaves = after
    return found


def by_author(
    pack: PipelinePack, stage: Stage, values: Mapping[str, Any], removed: tuple[str, ...]
) -> list[DocumentChange]:
    """What a stage changes, with moot as the author of the lists that all stages share."""
    shared = pack.pipeline.shared if pack.pipeline is not None else ()
    lists = {pointer: value for pointer, value in values.items() if pointer in shared}
    own = {pointer: value for pointer, value in values.items() if pointer not in shared}
    return [DocumentChange(stage.name, own, removed), *([DocumentChange(MOOT, lists)] if lists else [])]


def foreign(pack: PipelinePack, stage: Stage, pointers: Iterable[str], removed: Iterable[str] = ()) -> dict[str, str]:
    """The pointers that a stage must not change, each with its owner."""
    asked = [*pointers, *(pointer for pointer in removed if not _names(pack, stage, pointer))]
    if not asked:
        return {}
    owners, own = owners_of(pack, stage.name), owned(stage)
    return {pointer: flat_json.owner_of(pointer, owners) or "nobody" for pointer in asked if not is_below(pointer, own)}


def _names(pack: PipelinePack, stage: Stage, pointer: str) -> bool:
    """Whether a pointer is an item of a list whose items this stage names. It may remove an item, with all in it."""
    key = keys_of(pack).get(pointer.rpartition("/")[0])
    return key is not None and is_below(f"{pointer}/{key}", stage.owns)
