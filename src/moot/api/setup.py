"""The settings and packs in force, as one value that is replaced as a whole, and the value that a call uses."""

from __future__ import annotations

from moot.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from moot.api.protocol import Packs
    from moot.api.protocol.mirrors import Mirrors
    from moot.api.workspace import Workspace
    from moot.core.lifecycle import Lifecycle
    from moot.core.reactions import Reaction
    from moot.engine.engine import Engine
    from moot.engine.unit_of_work import Work
    from moot.settings import Settings
    from moot.settings.rules import Rules, Weak


class Setup(Record):
    """The settings and packs in force. Replaced as a whole: an open call keeps the setup that it started with."""

    written: Settings  # as in moot.toml
    settings: Settings  # the same with the rules in force
    packs: Packs
    declared: Mapping[str, Lifecycle]  # as declared by packs and settings
    lifecycles: Mapping[str, Lifecycle]  # with the rules in force
    reactions: Sequence[Reaction]
    in_force: str = ""  # the rules that settings can weaken, in the form of `moot.core.deciders.settings`
    withheld: tuple[Weak, ...] = ()  # settings that weaken a rule and are not in force
    closers: Sequence[Callable[[Work], None]] = ()  # of the packs, run after everything else is decided
    requests: Callable[[Work, str], None] | None = None  # requests effects, if there are handlers
    mirrors: Mirrors | None = None

    def under(self, rules: Rules) -> Setup:
        """The same with these rules in force."""
        settings = self.settings.replace(
            task_review=rules.settings.task_review,
            task_receipt=rules.settings.task_receipt,
            task_lifecycle=rules.settings.task_lifecycle,
        )
        return self.replace(
            settings=settings, lifecycles=rules.lifecycles, in_force=rules.text, withheld=rules.withheld
        )


class CallSetup:
    """The setup that one call uses. Evaluated again when the log has recorded other rules than those in force."""

    def __init__(self, workspace: Workspace, engine: Engine) -> None:
        """Let a borrowed engine decide by the setup of this moment, whatever it was used for before."""
        self._workspace = workspace
        self._base, setup = workspace.current()
        self.setup = setup
        engine.lifecycles, engine.in_force, engine.reactions = setup.lifecycles, setup.in_force, setup.reactions
        engine.closers, engine.requests, engine.via = setup.closers, setup.requests, workspace.via
        engine.progress = workspace.progress
        engine.judge = lambda recorded: self._judged(engine, recorded)

    def _judged(self, engine: Engine, recorded: str) -> Rules:
        rules = self._workspace.judge(self._base, engine.whole.archive.identity, recorded)
        self.setup = self._workspace.judged(self._base, rules)
        return rules
