"""Handlers that a pack names in its own configuration are effects of moot like any other."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from moot import Workspace
from moot.core.errors import Refused, Usage
from tests.packs.conftest import repository, settings

Open = Callable[..., list[str]]


def run(*words: str) -> str:
    return f"run = {json.dumps(list(words))}\n"


def writing(name: str) -> str:
    return run("sh", "-c", f"cat >> {name}.txt; echo >> {name}.txt; echo {name} >> order.txt")


def register(root: Path, at_opening: list[str], **handlers: str) -> None:
    tables = "".join(f"\n[pack.desk.handlers.{name}]\n{body}\n" for name, body in handlers.items())
    settings(root, f'packs = ["desk"]\n\n[pack.desk]\nat_opening = {json.dumps(at_opening)}\n{tables}')


@pytest.fixture
def root(tmp_path: Path, site: Path) -> Path:
    root = repository(tmp_path / "repo")
    register(root, ["one", "two"], one=writing("one"), two=writing("two"))
    return root


@pytest.fixture
def person(root: Path) -> Iterator[Workspace]:
    with Workspace.init(root, person=True) as person:
        yield person


@pytest.fixture
def opening(person: Workspace, root: Path) -> Open:
    """Opens the desk as a clerk would, with the settings of this moment. Returns the codes of the warnings."""
    with Workspace(root) as joining:
        joining.join("Carla", role="clerk")

    def opened(hour: int = 9) -> list[str]:
        with Workspace(root, agent="Carla") as clerk:
            clerk.emit("desk:opened", data={"hour": hour})
            return [warning.code for warning in clerk.warnings]

    return opened


def handle(root: Path) -> list[tuple[str, str]]:
    with Workspace(root, person=True) as runner:
        return [(one.handler, one.outcome) for one in runner.handle(drain=True)]


def test_the_handlers_of_a_pack_get_its_events_once_each(root, person, opening):
    assert person.allow(all=True, yes=True)
    assert opening() == ["nobody_handles"]
    assert sorted((one.handler, one.state, one.on) for one in person.effects()) == [
        ("desk/one", "waiting", "opening"),
        ("desk/two", "waiting", "opening"),
    ]
    assert sorted(handle(root)) == [("desk/one", "done"), ("desk/two", "done")]
    assert handle(root) == []
    assert [json.loads((root / f"{name}.txt").read_text()) for name in ("one", "two")] == [
        {"type": "opening", "hour": 9},
        {"type": "opening", "hour": 9},
    ]


def test_a_handler_that_nobody_allowed_does_not_hold_up_the_others(root, person, opening):
    person.allow(["desk/two"], yes=True)
    opening()
    assert handle(root) == [("desk/two", "done")]
    assert [(one.handler, one.state) for one in person.effects()] == [("desk/one", "not-allowed")]
    person.allow(["desk/one"], yes=True)
    assert handle(root) == [("desk/one", "done")]


def test_a_changed_registration_has_to_be_allowed_again(root, person, opening):
    person.allow(all=True, yes=True)
    register(root, ["one"], one=writing("other"))
    opening()
    assert handle(root) == []
    with Workspace(root, person=True) as again:
        asked = {getattr(one, "handler", "settings"): one.allowed for one in again.allow()}
        assert asked["desk/one"] is False


def test_a_message_can_name_the_fields_of_the_event(root, person, opening):
    register(root, ["tell"], tell='message = { to = "Carla", text = "{type} at {data.hour}" }\n')
    opening(7)
    with Workspace(root, person=True) as again:
        again.allow(all=True, yes=True)
    assert handle(root) == [("desk/tell", "done")]
    with Workspace(root, agent="Carla") as clerk:
        assert [(mail.sender, mail.text) for mail in clerk.inbox().new] == [("handler desk/tell", "opening at 7")]


def test_a_pack_may_warn_of_a_handler_that_is_missing_and_the_effect_waits_for_it(root, person, opening):
    register(root, ["later"])
    assert sorted(opening()) == ["desk_handler_missing", "nobody_handles"]
    assert [(one.handler, one.state) for one in person.effects()] == [("desk/later", "no-handler")]
    register(root, [], later=writing("later"))
    with Workspace(root, person=True) as again:
        again.allow(all=True, yes=True)
    assert handle(root) == [("desk/later", "done")]


def test_a_person_is_asked_for_permission(root, person, opening):
    opening()
    asked = [item.id for item in person.needs_me() if item.kind == "handler"]
    assert sorted(asked) == ["desk/one", "desk/two"]
    with pytest.raises(Refused, match="would be allowed"):
        person.allow(["desk/one"])


WRONG = [
    ("[pack.desk.handlers]\none = 1", 4, "pack.desk.handlers"),
    ("[pack.desk.handlers.One]\nrun = ['x']", 4, "a name of lowercase letters"),
    ("[pack.desk.handlers.one]\nruns = ['x']", 5, "pack.desk.handlers.one.runs"),
    ("[pack.desk.handlers.one]\nrun = 'x'", 5, "a program and its arguments as a list"),
    ("[pack.desk.handlers.one]\non = ['a:b']\nrun = ['x']", 5, "pack.desk.handlers.one.on"),
    ("[pack.desk.handlers.one]\nattempts = 2", 4, "exactly one of run, message"),
]


def test_a_wrong_registration_stops_what_runs_handlers_and_is_named_with_its_line(root, person):
    missed = []
    for table, line, problem in WRONG:
        settings(root, f'packs = ["desk"]\n\n# none\n{table}\n')
        with Workspace(root, person=True) as runner, pytest.raises(Usage) as caught:
            list(runner.handle(drain=True))
        found = [one["line"] for one in caught.value.details["problems"] if problem in one["text"]]
        missed += [(table, caught.value.details["problems"])] if found != [line] else []
    assert missed == []


def test_a_pack_without_handlers_says_so(root, person):
    settings(root, 'packs = ["orchestrator"]\n[pack.orchestrator.handlers.one]\nrun = ["true"]\n')
    with Workspace(root, person=True) as runner, pytest.raises(Usage, match="the pack orchestrator has no handlers"):
        list(runner.handle(drain=True))
