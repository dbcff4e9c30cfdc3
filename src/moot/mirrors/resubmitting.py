"""Takes the corrected content of a held entry or a quarantined file, as if it were in the file.

Unlike the content of a file, it is refused as a whole if any part of it is refused: its author is there to correct it.
"""

from __future__ import annotations

from moot.api.protocol.form import Malformed, Torn
from moot.core.errors import Refused
from moot.core.text import counted
from moot.core.typed_messages import check_corrector
from moot.location import worktrees

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from moot.api.call import Call
    from moot.api.protocol.form import Form, Instance
    from moot.core.deciders.held_entry import HeldEntry
    from moot.core.errors import MootError
    from moot.engine.unit_of_work import Work


def resubmission(call: Call, forms: list[Form], entry: HeldEntry, data: Any) -> Callable[[Work], None]:
    """See `Mirrors.corrected`. Looks up now what must not be looked up inside the commit."""
    form, one = _mirror_of(call, forms, entry)
    try:
        with form.code:
            content = form.corrected(data, whole=entry.kind == "file")
    except (Torn, Malformed) as error:
        raise Refused(
            "bad_content",
            f"This is not valid content for {entry.path}: {error}.",
            "Give the whole corrected content of the file, or one corrected entry.",
            entry=entry.id,
        ) from None
    with form.code:
        authors = form.authors(content)
        found = [form.observe(call, one, content, None, author) for author in authors]

    def act(work: Work) -> None:
        roles = [author.removeprefix("role:") for author in authors if author.startswith("role:")]
        check_corrector("content", roles[:1], call.actor(work))
        for facts in found:
            _take(work, form, one, content, facts)

    return act


def _mirror_of(call: Call, forms: list[Form], entry: HeldEntry) -> tuple[Form, Instance]:
    """The form and the file in which it was found, preferably in the worktree of the caller."""
    store, trees = call.engine.read(), worktrees(call.place)
    trees.sort(key=lambda tree: tree.name != call.place.worktree)
    for form in forms:
        for one in form.instances(store, trees) if form.spec.name == entry.mirror else ():
            if one.path == entry.path:
                return form, one
    raise Refused(
        "unknown_mirror",
        f"No active pack has the file {entry.path}, in which {entry.id} was found.",
        "Activate the pack again (`packs` in moot.toml), or drop the entry.",
        entry=entry.id,
    )


def _take(work: Work, form: Form, one: Instance, content: Any, facts: Any) -> None:
    while facts is not None:
        before = len(work.drafts)
        with form.code:
            taken = form.take(work, one, content, None, facts)
        if taken.refused:
            raise _refusal(taken.refused)
        facts = taken.rest if taken.rest is not None else taken.later
        if facts is not None and len(work.drafts) == before:
            raise Refused("too_many_events", "This is too much for one commit.", "Write it into the file instead.")


def _refusal(errors: tuple[MootError, ...]) -> MootError:
    if len(errors) == 1:
        return errors[0]
    listed = " ".join(error.message for error in errors)
    return Refused(
        "bad_content",
        f"{counted(len(errors), 'entry')} are refused: {listed}",
        "Correct all of them, or leave them out.",
        defects=[defect for error in errors for defect in error.details.get("defects", ())],
    )
