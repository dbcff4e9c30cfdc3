"""Handlers in moot.toml: what may be written, and what is said about what may not."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot import place as location
from moot.core.errors import Usage
from moot.core.handler import KINDS, Handler, handlers_of
from moot.core.record import shape_of
from moot.place import settings
from moot.place.settings.handlers import FIELDS
from moot.place.settings.parse import parse

WHOLE = """\
[[handlers]]
name = "deploy"
on = ["build:finished", "task:*"]
streams = ["topic/nightly"]
by = ["Yeats", "person:*"]
data = { "result.ok" = true }
run = ["./deploy", "--now"]
env = ["DEPLOY_TOKEN"]
attempts = 3
timeout = "30s"
backoff = "1s"
at_once = 2

[[handlers]]
name = "tell"
on = ["*"]
message = { to = "@ops", text = "{type}" }
"""


def problems(body: str) -> list[tuple[int, str]]:
    with pytest.raises(Usage) as caught:
        parse("moot.toml", f"[[handlers]]\n{body}\n".encode())
    return [(problem["line"], problem["text"]) for problem in caught.value.details["problems"]]


def test_every_field_arrives_read_or_remembered(tmp_path: Path) -> None:
    import os

    here = location.create(str(tmp_path), {})
    (tmp_path / ".moot" / "log.db").touch()  # without a log nothing is remembered
    path = tmp_path / "moot.toml"
    path.write_text(WHOLE)
    os.utime(path, (1_000_000_000, 1_000_000_000))
    for _ in range(2):
        deploy, tell = handlers_of(settings.load(here).handlers)
        assert deploy == Handler(
            name="deploy",
            on=("build:finished", "task:*"),
            streams=("topic/nightly",),
            by=("Yeats", "person:*"),
            data={"result.ok": True},
            run=("./deploy", "--now"),
            env=("DEPLOY_TOKEN",),
            attempts=3,
            timeout=30.0,
            backoff=1.0,
            at_once=2,
        )
        assert tell.message == {"to": "@ops", "text": "{type}"}
    assert os.path.exists(os.path.join(here.state, "cache", "settings.json"))


def test_what_can_be_written_is_what_a_handler_has() -> None:
    assert FIELDS.keys() == shape_of(Handler)[1] - {"pack", "stage"}  # of a pack, and of `moot run`
    assert set(KINDS) <= FIELDS.keys()


NAMED = 'name = "a"\non = ["b:c"]\n'


@pytest.mark.parametrize(
    ("body", "line", "said"),
    [
        ('on = ["b:c"]\nrun = ["x"]', 1, "handlers[0] has no name"),
        (NAMED, 1, "handlers[a] has no action; it needs exactly one of run, message"),
        (NAMED + 'run = ["x"]\nmessage = { to = "A", text = "b" }', 1, "has run and message; it needs exactly one"),
        (NAMED + 'run = "rm -rf /"', 4, "a program and its arguments as a list"),
        (NAMED + "run = []", 4, "a program and its arguments as a list"),
        (NAMED + 'run = ["x"]\natempts = 3', 5, "unknown key handlers[a].atempts; did you mean attempts?"),
        (NAMED + 'run = ["x"]\nattempts = 0', 5, "a whole number from 1 to 100"),
        (NAMED + 'run = ["x"]\ntimeout = "2h"', 5, "from 0.1s to 3600s"),
        (NAMED + 'message = { to = "A", text = "b" }\nenv = ["S"]', 5, "is only valid together with run"),
        (NAMED + 'run = ["x"]\ndata = { a = [1] }', 5, "paths with a string, a number or a boolean"),
        (NAMED + 'run = ["x"]\ndata = { a = nan }', 5, "paths with a string, a number or a boolean"),
        ('name = "a"\non = ["task:complted"]\nrun = ["x"]', 3, "did you mean task:completed?"),
        ('name = "a"\non = ["effect:*"]\nrun = ["x"]', 3, "events about effects do not trigger handlers"),
        ('name = "a"\non = ["Build"]\nrun = ["x"]', 3, "a list of event types such as"),
        ('name = "A b"\non = ["a:b"]\nrun = ["x"]', 2, "a name of lowercase letters"),
        (NAMED + 'message = { to = "Yeats" }', 4, 'a "to" and a "text"'),
        (NAMED + 'run = ["x"]\n[[handlers]]\n' + NAMED + 'run = ["x"]', 6, "two handlers are called a"),
    ],
)
def test_a_mistake_is_told_with_its_key_and_line(body: str, line: int, said: str) -> None:
    assert any(at == line and said in text for at, text in problems(body)), problems(body)


@pytest.mark.parametrize("text", ["handlers = 3", "[handlers]\nname = 'x'", "handlers = [1]"])
def test_handlers_are_tables(text: str) -> None:
    with pytest.raises(Usage, match="each written as"):
        parse("moot.toml", text.encode())


@given(st.recursive(
    st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from([*FIELDS, "x", ""]), inner, max_size=4),
))  # fmt: skip
def test_whatever_stands_there_is_read_or_refused(value: object) -> None:
    try:
        raw = f"handlers = {_toml(value)}"
        tomllib.loads(raw)
        raw.encode()
    except (tomllib.TOMLDecodeError, UnicodeEncodeError):
        return
    try:
        read = parse("moot.toml", raw.encode())
    except Usage:
        return
    assert all(handler.content for handler in handlers_of(read.handlers))


def _toml(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {_toml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return str(value).lower() if isinstance(value, (bool, float)) else json.dumps(value)
