"""The rules in force: `moot.toml`, without the settings that weaken a rule and that no person has allowed here.

A repository, and so its `moot.toml`, may come from anybody. Only these settings weaken a rule:

    tasks.review = false            tasks are done without review; stricter: true
    tasks.receipt = false           if the log recorded that receipts were required; stricter: true
    tasks.lifecycle = "quick"       a lifecycle without review; stricter: "core"
    packs = ["quick"]               a pack with a lifecycle without review; stricter: no such task is added or moved

The stricter value is in force until a person allows the weaker one (`moot allow settings`, or `moot init`). Consent is
for this workspace, this key and this value. For a pack that is part of the repository, it also covers the content of
its lifecycles. Loaded only if one of these is set or was recorded.
"""

from __future__ import annotations

from moot.core.deciders.settings import DEFAULTS, text
from moot.core.json_codec import dumps
from moot.core.lifecycle import reviewed, with_receipts
from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from moot.core.lifecycle import Lifecycle
    from moot.settings import Settings

COMMAND = "moot allow settings"


class Weak(Record):
    """A setting in moot.toml that weakens a rule, and whether a person allowed it here."""

    key: str
    value: Any
    instead: str  # the rule in force until it is allowed
    content: str = ""  # of a lifecycle that is part of the repository
    allowed: bool = False

    @property
    def said(self) -> str:
        """The setting as written in moot.toml."""
        return f"{self.key} = {dumps([self.value] if self.key == 'packs' else self.value)}"

    @property
    def name(self) -> str:
        """The name under which the consent is stored."""
        return f"setting:{self.key}"

    @property
    def digest(self) -> str:
        from moot.location.digests import sha256

        return sha256(f"setting {self.key}={dumps(self.value)}{self.content}".encode())


class Rules(Record):
    """The settings, the lifecycles and the recorded values that are in force."""

    settings: Settings
    lifecycles: Mapping[str, Lifecycle]
    values: Mapping[str, Any]
    weak: tuple[Weak, ...] = ()

    @property
    def text(self) -> str:
        return text(self.values)

    @property
    def withheld(self) -> tuple[Weak, ...]:
        return tuple(one for one in self.weak if not one.allowed)


def weakened(settings: Settings, packs: Mapping[str, Lifecycle], recorded: str) -> list[Weak]:
    """The settings that weaken a rule. `packs`: the lifecycles of the active packs; `recorded`: see `Rules.text`."""
    found = []
    if not settings.task_review:
        found.append(Weak("tasks.review", value=False, instead="tasks are reviewed"))
    if not settings.task_receipt and '"tasks.receipt":true' in recorded:
        found.append(Weak("tasks.receipt", value=False, instead="submitted and finished tasks need a receipt"))
    named = packs.get(settings.task_lifecycle)
    if named is not None and not reviewed(named):
        instead = 'the lifecycle "core"'
        found.append(Weak("tasks.lifecycle", value=named.name, instead=instead, content=named.content))
    bare = {life.pack: life.content for life in packs.values() if not reviewed(life)}
    instead = "its tasks cannot be added or moved"
    return [*found, *(Weak("packs", value=name, instead=instead, content=bare[name]) for name in bare)]


def judged(
    settings: Settings, core: Lifecycle, packs: Mapping[str, Lifecycle], known: Iterable[str], recorded: str = ""
) -> Rules:
    """The rules in force. `known`: the digests of the settings that were allowed."""
    allowed = set(known)
    weak = tuple(one.replace(allowed=one.digest in allowed) for one in weakened(settings, packs, recorded))
    withheld = {(one.key, one.value): one.said for one in weak if not one.allowed}
    review = settings.task_review or ("tasks.review", False) in withheld
    receipt = settings.task_receipt or ("tasks.receipt", False) in withheld
    named = settings.task_lifecycle
    lifecycle = "core" if ("tasks.lifecycle", named) in withheld else named
    asks = ", ".join(said for (key, _), said in withheld.items() if key in ("tasks.review", "tasks.receipt"))
    lifecycles = {"core": (with_receipts(core) if receipt else core).replace(asks=asks)}
    for name, life in packs.items():
        said = None if reviewed(life) else withheld.get(("packs", life.pack))
        lifecycles[name] = life if said is None else life.replace(asks=said, withheld=True)
    values: dict[str, Any] = {
        "tasks.review": review,
        "tasks.receipt": receipt,
        "tasks.lifecycle": lifecycle if lifecycle in packs and not reviewed(packs[lifecycle]) else None,
        "packs": [one.value for one in weak if one.key == "packs" and one.allowed],
    }
    return Rules(
        settings=settings.replace(task_review=review, task_receipt=receipt, task_lifecycle=lifecycle),
        lifecycles=lifecycles,
        values={key: value for key, value in values.items() if value != DEFAULTS[key]},
        weak=weak,
    )
