"""Who calls: one table of what was said, what the environment says, and where the input comes from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from moot.core.errors import Refused, Usage
from moot.core.identity import AGENTS_SHELLS, Caller, decide, how_to_say, people_only, who_are_you

CLAUDE = {"CLAUDECODE": "1"}
ADA = {"MOOT_AGENT": "Ada"}
PERSON = {"MOOT_PERSON": "1"}


@pytest.mark.parametrize(
    ("said", "env", "kind", "why"),
    [
        # what was said comes first
        ({"agent": "Bob"}, {}, "agent", "--agent"),
        ({"agent": "Bob"}, {**ADA, **CLAUDE, **PERSON}, "agent", "--agent"),
        ({"agent": "Bob", "terminal": True}, {}, "agent", "--agent"),
        ({"person": True}, {}, "person", "--person"),
        ({"person": True}, {**ADA, **CLAUDE}, "person", "--person"),
        ({}, ADA, "agent", "MOOT_AGENT"),
        ({}, {**ADA, **CLAUDE, **PERSON}, "agent", "MOOT_AGENT"),
        ({"terminal": True}, ADA, "agent", "MOOT_AGENT"),
        # an agent's shell is nobody's
        ({}, CLAUDE, "nobody", "shell"),
        ({"terminal": True}, CLAUDE, "nobody", "shell"),
        ({}, {**CLAUDE, **PERSON}, "nobody", "shell"),
        ({"terminal": True}, {**CLAUDE, **PERSON, "MOOT_AGENT": ""}, "nobody", "shell"),
        # elsewhere a person may be meant
        ({}, PERSON, "person", "MOOT_PERSON"),
        ({}, {"MOOT_PERSON": "yes"}, "person", "MOOT_PERSON"),
        ({"terminal": True}, {}, "person", "terminal"),
        ({"terminal": True}, {"CLAUDECODE": ""}, "person", "terminal"),
        ({"terminal": True}, {"MOOT_PERSON": "0"}, "person", "terminal"),
        # and everything else is nobody
        ({}, {}, "nobody", "nothing"),
        ({}, {"MOOT_PERSON": ""}, "nobody", "nothing"),
        ({}, {"MOOT_PERSON": "0"}, "nobody", "nothing"),
        ({}, {"MOOT_PERSON": "False"}, "nobody", "nothing"),
        ({}, {"MOOT_AGENT": ""}, "nobody", "nothing"),
        ({}, {"USER": "anna", "LOGNAME": "anna", "SUDO_USER": "anna"}, "nobody", "nothing"),
        # what an editor sets in a person's terminal says nothing
        (
            {"terminal": True},
            {"TERM_PROGRAM": "vscode", "CLAUDE_CODE_SSE_PORT": "1", "CURSOR_TRACE_ID": "x"},
            "person",
            "terminal",
        ),
        ({"terminal": True}, {"GEMINI_CLI_IDE_SERVER_PORT": "1", "VSCODE_PID": "1"}, "person", "terminal"),
    ],
)
def test_who_calls_is_decided_by_this_order(said: dict[str, Any], env: dict[str, str], kind: str, why: str) -> None:
    caller = decide(env, **said)
    assert (caller.kind, caller.why) == (kind, why)
    assert caller.nobody == (kind == "nobody")


@pytest.mark.parametrize("variable", AGENTS_SHELLS)
def test_every_variable_of_an_agents_shell_means_nobody(variable: str) -> None:
    caller = decide({variable: "x", **PERSON}, terminal=True)
    assert (caller.kind, caller.mark) == ("nobody", variable)


def test_continuous_integration_clears_all_of_them() -> None:
    script = Path(__file__).parents[2].joinpath(".ci", "run").read_text(encoding="utf-8").replace("\\\n", " ")
    (cleared,) = [line.split()[1:] for line in script.splitlines() if line.startswith("unset ")]
    assert {*AGENTS_SHELLS, "MOOT_AGENT", "MOOT_INCARNATION"} == set(cleared)
    assert "export MOOT_PERSON=1" in script


@pytest.mark.parametrize(
    ("said", "env", "incarnation"),
    [
        ({}, {**ADA, "MOOT_INCARNATION": "3"}, 3),
        ({"agent": "Ada"}, {**ADA, "MOOT_INCARNATION": "3"}, 3),
        ({"agent": "Ada", "incarnation": 4}, {**ADA, "MOOT_INCARNATION": "3"}, 4),
        ({"incarnation": 4}, ADA, 4),
        ({"agent": "Bob"}, {**ADA, "MOOT_INCARNATION": "3"}, None),
        ({}, {**ADA, "MOOT_INCARNATION": ""}, None),
        ({"agent": "Bob"}, {**ADA, "MOOT_INCARNATION": "not a number"}, None),
    ],
)
def test_an_incarnation_is_that_of_the_name_it_stands_beside(
    said: dict[str, Any], env: dict[str, str], incarnation: int | None
) -> None:
    assert decide(env, **said).incarnation == incarnation


@pytest.mark.parametrize(
    ("said", "env", "code"),
    [
        ({"agent": "Ada", "person": True}, {}, "bad_arguments"),
        ({"incarnation": 2}, {}, "bad_arguments"),
        ({}, {**ADA, "MOOT_INCARNATION": "x"}, "bad_environment"),
        ({}, {**ADA, "MOOT_INCARNATION": "9" * 20}, "bad_environment"),
        ({"agent": ""}, {}, "bad_name"),
        ({"agent": "person:root"}, {}, "bad_name"),
        ({}, {"MOOT_AGENT": "process:root"}, "bad_name"),
    ],
)
def test_what_cannot_be_meant_is_refused(said: dict[str, Any], env: dict[str, str], code: str) -> None:
    with pytest.raises(Usage) as refused:
        decide(env, **said)
    assert refused.value.code == code


def test_the_remedy_never_teaches_a_way_around() -> None:
    for env in ({}, CLAUDE, {"CODEX_CI": "1"}):
        error = who_are_you(decide(env), "`moot send`")
        assert error.code == "who_are_you"
        assert "moot join NAME" in error.remedy
        assert "MOOT_PERSON" not in error.remedy
        assert ("--person" in error.remedy) == (not env), "a person in a pipe needs it; an agent's shell never names it"
    assert "terminal" in how_to_say(decide({}))
    assert "terminal" not in how_to_say(decide(CLAUDE))
    assert "CLAUDECODE" in how_to_say(decide(CLAUDE))


@pytest.mark.parametrize(
    ("caller", "code"),
    [
        (Caller(person=True, mark="CLAUDECODE"), "people_only"),
        (Caller(agent="Ada"), "people_only"),
        (Caller(agent="Ada", mark="CLAUDECODE"), "people_only"),
        (Caller(mark="CLAUDECODE"), "people_only"),
        (Caller(), "who_are_you"),
    ],
)
def test_what_is_for_people_is_for_them_alone(caller: Caller, code: str) -> None:
    people_only(Caller(person=True), "`moot redact`")
    with pytest.raises(Refused if code == "people_only" else Usage) as refused:
        people_only(caller, "`moot redact`")
    assert refused.value.code == code
    assert "MOOT_" not in refused.value.remedy.replace("MOOT_AGENT=NAME", "")
