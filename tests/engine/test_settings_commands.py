"""The commands of agents in moot.toml: what may be written, and what is said about what may not."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot import place as location
from moot.core.errors import Usage
from moot.core.handler import Handler, commands_of
from moot.place import settings
from moot.place.settings.parse import parse

WHOLE = """\
packs = ["orchestrator"]

[run.orchestrator]
lead = ["claude", "-p"]
developer = { command = ["codex", "exec", "-"], timeout = "2h", attempts = 4, env = ["OPENAI_API_KEY"] }
"""


def problems(body: str, packs: str = '["a"]') -> list[tuple[int, str]]:
    with pytest.raises(Usage) as caught:
        parse("moot.toml", f"packs = {packs}\n{body}\n".encode())
    return [(problem["line"], problem["text"]) for problem in caught.value.details["problems"]]


def test_every_field_arrives_read_or_remembered(tmp_path: Path) -> None:
    here = location.create(str(tmp_path), {})
    (tmp_path / ".moot" / "log.db").touch()  # without a log nothing is remembered
    path = tmp_path / "moot.toml"
    path.write_text(WHOLE)
    os.utime(path, (1_000_000_000, 1_000_000_000))
    about = {"on": (), "pack": "orchestrator"}
    for _ in range(2):
        assert commands_of(settings.load(here).runs) == (
            Handler(name="orchestrator.lead", stage="lead", run=("claude", "-p"), timeout=3600.0, attempts=2, **about),
            Handler(
                name="orchestrator.developer",
                stage="developer",
                run=("codex", "exec", "-"),
                timeout=7200.0,
                attempts=4,
                env=("OPENAI_API_KEY",),
                **about,
            ),
        )
    assert os.path.exists(os.path.join(here.state, "cache", "settings.json"))


@pytest.mark.parametrize(
    ("body", "line", "said"),
    [
        ("run = 3", 2, "run: expected a table, written as [run], got 3"),
        ("[run]\na = 3", 3, "run.a: expected a table, written as [run.a], got 3"),
        ('[run.b]\nlead = ["x"]', 2, "run.b configures a pack that is not active; add it to packs"),
        ('[run.a]\nlead = "claude -p"', 3, "run.a.lead: expected a program and its arguments as a list"),
        ("[run.a]\nlead = []", 3, "run.a.lead: expected a program and its arguments as a list"),
        ('[run.a]\nlead = ["x", 3]', 3, "run.a.lead: expected a program and its arguments as a list"),
        ('[run.a]\n"Not A Stage" = ["x"]', 3, 'run.a."Not A Stage": a stage is a name of lowercase letters'),
        ('[run.a]\nlead = { timeout = "1m" }', 3, "run.a.lead has no command"),
        ('[run.a.lead]\ncommand = ["x"]\ntimeout = "0s"', 4, "run.a.lead.timeout: expected a duration"),
        ('[run.a.lead]\ncommand = ["x"]\nattempts = 0', 4, "run.a.lead.attempts: expected a whole number from 1 to 20"),
        ('[run.a.lead]\ncommand = ["x"]\ntimout = 3', 4, "unknown key run.a.lead.timout; did you mean timeout?"),
        ('[run.a.lead]\ncommand = ["x"]\nenv = ["MOOT_AGENT"]', 4, "run.a.lead.env: expected environment variables"),
    ],
)
def test_a_mistake_is_told_with_its_key_and_line(body: str, line: int, said: str) -> None:
    ((found, text),) = problems(body)
    assert (found, text[: len(said)]) == (line, said)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=20),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
        max_leaves=12,
    )
)
def test_whatever_stands_there_is_read_or_refused(value: object) -> None:
    text = f"packs = ['a']\nrun = {toml(value)}\n"
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    try:
        found = parse("moot.toml", text.encode())
    except Usage:  # the one error that it raises
        return
    assert all(command.run for command in commands_of(found.runs))


def toml(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {toml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return "''" if value is None else json.dumps(value)
