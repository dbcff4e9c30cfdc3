"""What holds for each kind."""

from __future__ import annotations

from moot.core.kind import NOWHERE, kinds
from moot.core.payload import Payload


def test_an_event_of_another_kind_is_refused_wherever_events_are_folded():
    taken = []
    for kind in kinds():
        try:
            kind.evolve(kind.new("x"), Payload(), NOWHERE)
        except (TypeError, AssertionError):
            continue
        taken.append(kind.name)
    assert taken == ["topic", "redactions"], "only these keep nothing of their events"
