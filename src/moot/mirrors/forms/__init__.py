"""The shared forms of mirrors, by name. A pack can define others (`Protocol.forms`)."""

from __future__ import annotations

from moot.core.errors import Usage
from moot.core.pack_code import PackCode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from moot.api.protocol import MirrorSpec, Packs, Protocol
    from moot.api.protocol.form import Form

SHARED = {
    "board": "moot.mirrors.forms.board:BoardForm",
    "document": "moot.mirrors.forms.document:DocumentForm",
    "entries": "moot.mirrors.forms.entries:EntriesForm",
    "lines": "moot.mirrors.forms.lines:LinesForm",
    "line-parts": "moot.mirrors.forms.lines:LinePartsForm",
    "feed": "moot.mirrors.forms.feed:FeedForm",
    "feed-list": "moot.mirrors.forms.feed:FeedListForm",
    "source": "moot.mirrors.forms.source:JsonSourceForm",
}


def forms(code: type[Protocol] | None = None) -> dict[str, type[Form]]:
    """The shared forms, and those that the code of a pack defines."""
    return {name: _loaded(at) for name, at in {**SHARED, **(code.forms if code is not None else {})}.items()}


def _loaded(form: Any) -> type[Form]:
    """The class of a form that is given as it is, or as "module:attribute"."""
    from moot.core.kind import load

    found: type[Form] = load(form) if isinstance(form, str) else form
    return found


def form_of(spec: MirrorSpec, packs: Packs) -> Form:
    """The form of a mirror. A form of the pack takes precedence over a shared one."""
    own = packs.forms(spec.pack)
    if spec.form in own:
        code = PackCode(spec.pack, "forms")
        with code:
            made = _loaded(own[spec.form])(spec, packs)
        made.code = code
        return made
    if spec.form not in SHARED:
        raise Usage(
            "unknown_form",
            f"The mirror {spec.name} of the pack {spec.pack} has the form {spec.form!r}.",
            f"Choose one of {', '.join(sorted({*SHARED, *own}))}.",
            form=spec.form,
        )
    return _loaded(SHARED[spec.form])(spec, packs)
