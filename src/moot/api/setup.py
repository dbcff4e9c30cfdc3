"""The settings and packs in force, as one value that is replaced as a whole."""

from __future__ import annotations

from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from moot.api.protocol import Packs
    from moot.api.protocol.mirrors import Mirrors
    from moot.core.errors import MootError
    from moot.core.lifecycle import Lifecycle
    from moot.core.reactions import Reaction
    from moot.engine.unit_of_work import Work
    from moot.settings import Settings


class Setup(Record):
    """The settings and packs in force. Replaced as a whole: an open call keeps the setup that it started with."""

    settings: Settings
    packs: Packs
    lifecycles: Mapping[str, Lifecycle]
    reactions: Sequence[Reaction]
    rules: Mapping[str, Any] = {}  # the settings that can weaken a rule: see `moot.settings.rules`
    in_force: str | None = ""  # the same in the form in which the log has them; None: unknown
    closers: Sequence[Callable[[Work], None]] = ()  # of the packs, run after everything else is decided
    requests: Callable[[Work, str], None] | None = None  # requests effects, if there are handlers
    mirrors: Mirrors | None = None
    signature: Any = None  # of moot.toml
    problem: MootError | None = None  # why moot.toml cannot be used: then these are the defaults
