"""Runs of a task: what each event does in each state."""

from __future__ import annotations

import pytest

from moot.packs.gsd.runs import COMPLETED, FAILED, STARTED, step

# (state, event, from the agent that runs it): the verb of the move, the flags, whether it is only a repeat
TABLE = {
    ("", STARTED, False): ("claim", [], False),
    ("", COMPLETED, False): ("complete", ["no_start"], False),
    ("", FAILED, False): ("fail", ["no_start"], False),
    ("pending", STARTED, False): ("claim", [], False),
    ("pending", COMPLETED, False): ("complete", ["no_start"], False),
    ("pending", FAILED, False): ("fail", ["no_start"], False),
    ("running", STARTED, True): ("", ["started_again"], True),
    ("running", STARTED, False): ("", [], True),  # flagged or refused by the rules of tasks
    ("running", COMPLETED, True): ("complete", [], False),
    ("running", COMPLETED, False): ("complete", [], False),
    ("running", FAILED, True): ("fail", [], False),
    ("running", FAILED, False): ("fail", [], False),
    ("completed", STARTED, False): ("claim", ["rerun"], False),
    ("completed", COMPLETED, False): ("", ["repeat"], True),
    ("completed", FAILED, False): ("fail", ["no_start"], False),
    ("failed", STARTED, False): ("claim", [], False),
    ("failed", COMPLETED, False): ("complete", ["no_start"], False),
    ("failed", FAILED, False): ("", ["repeat"], True),
}


@pytest.mark.parametrize(("case", "found"), TABLE.items(), ids=lambda case: "-".join(map(str, case)))
def test_every_event_has_a_meaning_in_every_state(
    case: tuple[str, str, bool], found: tuple[str, list[str], bool]
) -> None:
    state, event, same = case
    got = step(state, event, same_agent=same)
    assert (got.verb, [flag.partition(":")[0] for flag in got.flags], got.repeat) == found
    assert got.clash == (case == ("running", STARTED, False))
