"""The settings that can weaken a rule, as `moot.core.deciders.settings` records them: values other than the defaults.

    tasks.review = false            tasks are done without review
    tasks.receipt = true            submitted and finished tasks need a receipt
    tasks.lifecycle = "quick"       a lifecycle without review
    packs = ["quick"]               packs that have a lifecycle without review

They apply as written. A change of them is recorded in the next commit, and `moot needs-me` shows what is done without
review.
"""

from __future__ import annotations

from moot.core.lifecycle import reviewed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from moot.core.lifecycle import Lifecycle
    from moot.place.settings import Settings


def rules(settings: Settings, lifecycles: Mapping[str, Lifecycle]) -> dict[str, Any]:
    """The values that differ from the defaults."""
    found: dict[str, Any] = {}
    bare = {name: life for name, life in lifecycles.items() if name != "core" and not reviewed(life)}
    if not settings.task_review:
        found["tasks.review"] = False
    if settings.task_receipt:
        found["tasks.receipt"] = True
    if settings.task_lifecycle in bare:
        found["tasks.lifecycle"] = settings.task_lifecycle
    if bare:
        found["packs"] = list(dict.fromkeys(life.pack for life in bare.values()))
    return found
