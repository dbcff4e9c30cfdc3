"""Checks the references of a pack's mirrors to its other parts, and the `fields` of their forms.

Pure. Every function yields problems: the place of a key, and a sentence.
"""

from __future__ import annotations

from moot.api.protocol.references import inside, overlap, tables, unknown, words
from moot.core.deciders.custom_event import is_word
from moot.core.schema import placed
from moot.core.schema.phrases import NOTHING, pointed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from moot.api.protocol.form import Form
    from moot.api.protocol.references import Found
    from moot.core.schema.phrases import Place


def problems(data: Mapping[str, Any], raw: Mapping[str, Any], forms: Mapping[str, Any], below: str) -> Found:
    """`forms`: the known forms, by name. `below`: the directory that the files must be in."""
    roles, messages = dict(tables(raw, "roles")), dict(tables(raw, "messages"))
    taken: dict[str, str] = {}
    for name, mirror in tables(data, "mirrors"):
        place, path = ("mirrors", name), str(mirror.get("path", ""))
        if not is_word(name):
            yield place, f"{name!r}: expected a name of lower-case letters, digits and `-`"
        if outside := inside(path):
            yield (*place, "path"), outside
        if not path.startswith(below):  # files of others are not its to write
            yield (*place, "path"), f"a pack that a repository brings has its files below {below}"
        for other, theirs in taken.items():
            if overlap(path, theirs):
                yield (
                    (*place, "path"),
                    f"{path!r} and the path of {other} are the same file, or one is inside the other",
                )
        taken[name] = path
        for index, other in enumerate(mirror.get("misplaced", ())):
            if outside := inside(str(other)):
                yield (*place, "misplaced", index), outside
        yield from _mailbox(place, mirror, roles, messages)
        form = forms.get(mirror.get("form", ""))
        if form is None:
            yield (*place, "form"), unknown("form", mirror.get("form"), forms)
        else:
            yield from _fields((*place, "fields"), mirror.get("fields", {}), form, [*roles])


def _mailbox(place: Place, mirror: Mapping[str, Any], roles: Mapping[str, Any], messages: Mapping[str, Any]) -> Found:
    box = mirror.get("mailbox")
    known = (*roles, "@all")  # another word in `to` is a problem of its own
    role = "" if box is None else box.removeprefix("@")
    if box is not None and (role not in roles or role == box):
        yield (*place, "mailbox"), unknown("mailbox", box, (f"@{one}" for one in roles))
    elif box is not None and roles[role].get("delivery") != "one":
        yield (*place, "mailbox"), f'{box} has no mailbox of its own: set delivery = "one" in [roles.{role}]'
    for index, type_ in enumerate(mirror.get("types", ())):
        if type_ not in messages:
            yield (*place, "types", index), unknown("message", type_, messages)
        elif role in roles and not any(
            to in (role, "@requester") or to not in known for to in words(messages[type_].get("to"))
        ):
            yield (*place, "types", index), f"a {type_} never goes to {box}: see `to` in [messages.{type_}]"


def _fields(place: Place, fields: Any, form: type[Form], roles: list[str]) -> Found:
    schema: Mapping[str, Any] = getattr(form, "fields", {})
    wrong = dict(placed(dict(schema), fields))
    for at, defect in wrong.items():
        where = pointed((*place, *at))
        if defect.expected == NOTHING:
            yield (*place, *at), unknown("field", str(at[-1]), schema.get("properties", ()))
        else:
            yield (*place, *at), f"{where}: expected {defect.expected}, got {defect.found}"
    if not wrong and hasattr(form, "misfits"):
        for at, text in form.misfits(fields, roles):
            yield (*place, *at), text
