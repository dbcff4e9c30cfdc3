"""What a pack shows in `moot watch`, and what it reports to people in `needs-me`, `watch` and `doctor`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from moot.core.errors import Refused
from tests.packs.test_desk import Crew, ask, command

if TYPE_CHECKING:
    from moot import Workspace


def escalated(crew: Crew) -> None:
    ask(crew)
    crew["clerk"].task_claim("case-1")
    crew["clerk"].send(type="escalation", data={"case": "case-1", "why": "I do not know."})


def test_a_section_of_the_pack_is_in_the_overview_for_people_and_programs(desk: Workspace, crew: Crew) -> None:
    ask(crew)
    (view,) = desk.watch().packs
    assert (view.pack, view.title, view.state) == ("desk", "Desk: 1 cases", {"asked": 1})
    shown = command(Path(desk.root), "watch", "--once").stdout
    assert "\nDesk: 1 cases\n  1 asked\n" in shown
    assert shown.index("Problems") < shown.index("Desk: 1 cases") < shown.index("Agents: ")
    told = json.loads(command(Path(desk.root), "watch", "--json").stdout)["result"]["packs"]
    assert told == [{"pack": "desk", "title": "Desk: 1 cases", "state": {"asked": 1}}]


def test_a_concern_of_the_pack_is_where_people_look(desk: Workspace, crew: Crew) -> None:
    escalated(crew)
    (item,) = [item for item in desk.needs_me() if item.kind == "concern"]
    assert (item.id, item.who, item.command) == ("case-1", "desk", "moot task show case-1")
    problem = next(problem for problem in desk.watch().problems if problem.code == "pack_concern")
    assert (problem.message, problem.remedy) == ("No expert has answered case-1.", "moot task show case-1")
    said = command(Path(desk.root), "doctor").stderr
    assert "concerns of packs: No expert has answered case-1" in said
    with pytest.raises(Refused) as caught:
        desk.needs_me("Well.", answer="case-1")
    assert (caught.value.code, caught.value.remedy) == (
        "not_answered_here",
        "Do what it suggests: moot task show case-1",
    )


@pytest.mark.parametrize("part", ["watch", "concerns"])
def test_code_that_fails_is_reported_and_hides_nothing(
    desk: Workspace, crew: Crew, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    def broken(*_: object) -> None:
        raise KeyError("counter")

    desk.log()  # the code is loaded
    monkeypatch.setattr(sys.modules["helpdesk.protocol"].Desk, part, broken)
    found = desk.watch()
    assert len(found.agents) == 3
    lines = [text for view in found.packs for line in view.lines for text, _ in line]
    said = lines if part == "watch" else [problem.message for problem in found.problems]
    assert any(f"The code of the pack desk failed in `{part}`" in text for text in said)
