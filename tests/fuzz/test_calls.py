"""Any call of any verb, any command line, any protocol message: an answer or a refusal in words, and nothing else.

Whatever is refused has written nothing.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moot.api import catalogue
from moot.core.errors import MootError
from moot.surfaces.cli.main import main
from tests.calls import open_call
from tests.fuzz.material import VALUES, WORDS, bounded
from tests.surfaces.command import RAW, Command, new_command
from tests.surfaces.worlds import ASSIGNMENT, conclude, orchestrate

pytestmark = pytest.mark.in_memory

# What does nothing outside of its workspace, and comes to an end. Others are added by hand, once somebody has looked.
MODULES = (
    *(
        "moot.api.verbs.start",
        "moot.api.verbs.agents",
        "moot.api.verbs.leaving",
        "moot.api.verbs.mail.send",
        "moot.api.verbs.answer",
        "moot.api.verbs.mail.inbox",
        "moot.api.verbs.mail.mailbox",
        "moot.api.verbs.tasks.tasks",
        "moot.api.verbs.tasks.changes",
        "moot.api.verbs.tasks.board",
        "moot.api.verbs.claims",
        "moot.api.verbs.artifacts",
        "moot.api.verbs.tasks.dependencies",
        "moot.api.verbs.decisions",
    ),
    *("moot.api.verbs.checkpoints", "moot.needs_me.verbs", "moot.api.verbs.mail.held", "moot.api.verbs.events"),
)
MORE = ("receipt show", "receipts", "emit", "effects", "effects retry", "effects drop", "search", "redact")
VERBS = [catalogue.find(name) for name in (*(name for module in MODULES for name in catalogue.MODULES[module]), *MORE)]
ENDLESS = {"follow", "timeout"}


@pytest.fixture(scope="module", params=["plain", "orchestrator"])
def town(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Command]:
    """A workspace that may become a mess, and this process in it."""
    command = new_command(tmp_path_factory.mktemp("town"))
    (orchestrate if request.param == "orchestrator" else conclude)(command)
    with pytest.MonkeyPatch.context() as patch, open(os.devnull, encoding="utf-8") as nothing:
        for name in [*os.environ]:
            if name.startswith("MOOT_") or name == "XDG_RUNTIME_DIR":
                patch.delenv(name)
        patch.chdir(command.repo)
        patch.setenv("MOOT_PERSON", "1")
        patch.setenv("HOME", command.environment["HOME"])
        patch.setattr("sys.stdin", nothing)
        yield command
        with contextlib.redirect_stdout(io.StringIO()):
            assert main(["verify"]) == 0, "after all this the log is not sound"


def value_of(param: catalogue.Param) -> st.SearchStrategy[Any]:
    plain = st.sampled_from(param.choices) if param.choices else WORDS
    return st.lists(plain | VALUES, max_size=3) | VALUES if param.many else st.one_of(plain, plain, VALUES)


@st.composite
def calls(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """A verb and arguments: mostly its own, of any kind."""
    verb = draw(st.sampled_from(VERBS))
    given_: dict[str, Any] = {}
    for param in verb.params:
        if param.name not in ENDLESS and draw(st.integers(0, 9)) < (9 if param.required else 4):
            given_[param.name] = draw(value_of(param))
    if draw(st.integers(0, 19)) == 0:
        given_[draw(WORDS)] = draw(VALUES)
    if verb.name == "wait":
        given_["timeout"] = 0
    return verb.name, given_


def answered(command: Command, who: str | None, call: tuple[str, dict[str, Any]]) -> None:
    session = open_call(str(command.repo), command.environment, agent=who)
    log = session.engine.log
    refusal: MootError | None = None
    try:
        session.sync()
        before = log.head()
        with bounded():
            try:
                answer = session.run(*call)
                answer.full()
                if answer.after is not None:
                    answer.after()
            except MootError as error:
                refusal = error
        if refusal is not None:
            assert refusal.message
            assert refusal.remedy
            assert log.head() == before
            json.dumps(refusal.plain()).encode()
    finally:
        log.close()
        session.engine.store.close()


CALLERS = st.sampled_from(["Ada", "Bob", "Zoe", None])


@pytest.mark.promise(15)
@settings(max_examples=250)
@given(CALLERS, calls())
def test_no_call_of_any_verb_breaks_it(town, who, call):
    answered(town, who, call)


@pytest.mark.soak
@pytest.mark.timeout(1800)
@given(CALLERS, calls())
def test_none_of_many_calls_of_any_verb_breaks_it(town, who, call):
    answered(town, who, call)


@st.composite
def command_lines(draw: st.DrawFn) -> list[str]:
    """Words that look like a call: a verb, its options and others', values, anything in between."""
    verb = draw(st.sampled_from(VERBS))
    options = [param.flag for param in verb.params if param.name not in ENDLESS]
    strange = st.sampled_from(["--", "--json", "--help", "-h", "-C", "--agent", "--version", "--no-such", "-x", "help"])
    words = draw(st.lists(st.one_of(WORDS, st.sampled_from(options or ["-"]), WORDS, strange), max_size=8))
    line = [*verb.name.split(), *words]
    if draw(st.integers(0, 9)) == 0:
        line = draw(st.permutations(line))
    return line + ["--timeout", "0"] * (verb.name == "wait")


def ran(command: Command, words: list[str]) -> None:
    """As the system would start it: without a zero byte, for which there is no room in a word."""
    words = [word.replace("\0", "") for word in words]
    if any(word in ("as", "init", "wait", "--follow") for word in words[1:]) or words[0] in ("as", "init", "mirror"):
        return  # they run other programs, write elsewhere, or wait for ever
    before, out, err = command.head(), io.StringIO(), io.StringIO()
    with bounded(), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(words)
    said = out.getvalue() + err.getvalue()
    assert code in range(7), (words, said)
    assert not RAW.search(said), (words, said)
    said.encode()
    if code:
        assert command.head() == before, (words, said)
    elif "--json" in words and "--help" not in words and out.getvalue()[:1] in "{[":
        json.loads(out.getvalue())


@pytest.mark.promise(15)
@settings(max_examples=250)
@given(command_lines())
def test_no_command_line_breaks_it(town, words):
    ran(town, words)


@pytest.mark.soak
@pytest.mark.timeout(1800)
@given(command_lines())
def test_none_of_many_command_lines_breaks_it(town, words):
    ran(town, words)


@st.composite
def messages(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """A message of the protocol, with fields left out, exchanged and added."""
    data: dict[str, Any] = {name: value for name, value in ASSIGNMENT.items() if draw(st.integers(0, 9))}
    for name in draw(st.lists(st.sampled_from([*ASSIGNMENT, "buildResult", "status"]) | WORDS, max_size=3)):
        data[name] = draw(VALUES)
    kind = draw(st.sampled_from(["task_assignment", "completion_report", "note"]) | WORDS)
    whole = draw(st.sampled_from([data, json.dumps(data), f"{json.dumps(data)}}}"]))
    return "send", {"type": kind, "data": whole}


@pytest.mark.promise(15)
@settings(max_examples=150)
@given(CALLERS, messages())
def test_no_message_of_a_protocol_breaks_it(town, who, call):
    answered(town, who, call)


@pytest.mark.soak
@pytest.mark.timeout(1800)
@given(CALLERS, messages())
def test_none_of_many_messages_of_a_protocol_breaks_it(town, who, call):
    answered(town, who, call)
