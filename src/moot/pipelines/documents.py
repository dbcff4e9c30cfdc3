"""The documents of targets: which are in work, who changes one now, and which parts that writer must leave alone."""

from __future__ import annotations

from moot.core.deciders.document import MOOT
from moot.views import queries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moot.api.protocol import Pack
    from moot.views.store import Store

FILE = "file"  # the author of a change while no stage runs: a person, or an agent outside a run


def open_keys(store: Store) -> set[str]:
    """The documents that have an open run."""
    return {run.document for run in queries.things(store, "run") if run.document}


def author_of(store: Store, key: str) -> str:
    """The stage that runs on this document, or `file`."""
    for run in queries.things(store, "run"):
        if run.document == key and run.running is not None:
            return str(run.running.stage)
    return FILE


def owners_of(pack: Pack, author: str) -> dict[str, str]:
    """Patterns of pointers, each with its owner.

    A stage leaves the parts of the other stages alone. A person may change everything except what says how the run
    went: markers, values that are set with them, and the lists of errors and warnings.
    """
    kept = dict.fromkeys(pack.pipeline.shared if pack.pipeline else (), MOOT)
    for stage in pack.stages:
        results = (stage.marker, *stage.sets, *stage.skips) if stage.marker else (*stage.sets, *stage.skips)
        if author == FILE:
            kept |= dict.fromkeys(results, MOOT)
        else:
            kept |= dict.fromkeys((*stage.owns, *results), stage.name)
    return kept
