"""The shared forms of mirrors, by name. A pack can define others (`Protocol.forms`)."""

from __future__ import annotations

from moot.api.protocol.pack_code import PackCode
from moot.core.errors import Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.api.protocol import MirrorSpec, Packs, Protocol
    from moot.api.protocol.form import Form

SHARED = {
    "document": "moot.mirrors.forms.document:DocumentForm",
    "entries": "moot.mirrors.forms.entries:EntriesForm",
}


def forms(code: type[Protocol] | None = None) -> dict[str, type[Form]]:
    """The shared forms, and those that the code of a pack defines."""
    from moot.core.kind import load

    return {**{name: load(at) for name, at in SHARED.items()}, **(code.forms if code is not None else {})}


def form_of(spec: MirrorSpec, packs: Packs) -> Form:
    """The form of a mirror. A form of the pack takes precedence over a shared one."""
    own = packs.forms(spec.pack)
    if spec.form in own:
        code = PackCode(spec.pack, "forms")
        with code:
            made: Form = own[spec.form](spec, packs)
        made.code = code
        return made
    if spec.form not in SHARED:
        raise Usage(
            "unknown_form",
            f"The mirror {spec.name} of the pack {spec.pack} has the form {spec.form!r}.",
            f"Choose one of {', '.join(sorted({*SHARED, *own}))}.",
            form=spec.form,
        )
    from moot.core.kind import load

    shared: Form = load(SHARED[spec.form])(spec, packs)
    return shared
