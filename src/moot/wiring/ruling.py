"""Determines the rules in force from settings and consent. Loaded only if a setting weakens a rule."""

from __future__ import annotations

from moot import settings as setting
from moot.core.errors import MootError, Unavailable
from moot.effects.consent import Consent
from moot.settings.rules import judged, weakened

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from moot.core.lifecycle import Lifecycle
    from moot.location import Place
    from moot.settings import Settings
    from moot.settings.rules import Rules


def rules_of(
    place: Place,
    settings: Settings,
    lifecycles: tuple[Lifecycle, Mapping[str, Lifecycle]],
    known: Callable[[], Mapping[str, str]],
    recorded: str = "",
) -> Rules:
    """`lifecycles`: the core's, without receipts, and those of the packs. `settings`: the previous ones, if any."""
    try:
        settings = setting.load(place, keep=False)
    except MootError:
        pass  # the next command reports their defects
    allowed: Mapping[str, str] = {}
    if weakened(settings, lifecycles[1], recorded):
        try:
            allowed = known()
        except Unavailable:
            pass  # unreadable consent allows nothing; `moot allow` reports why
    return judged(settings, *lifecycles, allowed, recorded)


def consent(place: Place, env: Mapping[str, str], workspace: str) -> Consent:
    return Consent(env, workspace, place.state, place.main_root or place.root, place.root)
